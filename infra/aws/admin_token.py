"""The first token of a deployment, by who may write its tables: ``make admin-token``.

Tokens are made with tokens. The first one comes from here, and so does one when all are lost.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO

import boto3
import typer
from botocore.exceptions import BotoCoreError, ClientError
from msgspec.structs import replace

from baton import bootstrap
from baton.api.token_models import RoleName
from baton.domain import names
from baton.domain.tokens import EVERY_NAMESPACE, Minted, Wish
from baton.errors import Unavailable
from infra.aws.doctor.deployed import deployed, settings_of
from infra.outputs import DEFAULT_STACK

DESCRIPTION = "made by who deploys"
TO_A_LOG = (
    "standard output is no terminal, and what is printed there ends up in a log: --to FILE writes the token "
    "where you alone can read it"
)
RIGHTS = "the rights that it takes stand in infra/README.md, under tokens"

# Locals of a traceback would hold the token.
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_show_locals=False)


@app.command()
def admin_token(
    stack: Annotated[str, typer.Option(help="The stack's name.")] = DEFAULT_STACK,
    region: Annotated[str | None, typer.Option(help="Where it is deployed.")] = None,
    to: Annotated[
        Path | None, typer.Option(help="A file to write it to, which must not be there yet.")
    ] = None,
    role: Annotated[RoleName, typer.Option(help="What it may do.")] = RoleName.ADMIN,
    namespace: Annotated[str, typer.Option(help="Whose it is: * of every namespace.")] = EVERY_NAMESPACE,
) -> None:
    """Make a token of a deployed stack with your own AWS credentials, and print it, this once."""
    if namespace != EVERY_NAMESPACE and not names.matches(names.NAMESPACE, namespace):
        raise typer.BadParameter(f"* or what matches {names.NAMESPACE}", param_hint="--namespace")
    with _place(to) as place:
        # Its type has an overload for each service there is.
        session: Any = boto3.Session(region_name=region)
        if session.region_name is None:
            _give_up("no region: --region or AWS_REGION names it")
        if session.get_credentials() is None:
            _give_up("no credentials: AWS_PROFILE, or another of AWS's usual places, brings them")
        try:
            made = _make(session, stack, Wish(namespace=namespace, role=role.role, description=DESCRIPTION))
        except (BotoCoreError, ClientError, LookupError, Unavailable) as trouble:
            _give_up(f"{stack} in {session.region_name}: {trouble}; {RIGHTS}")
        place.write(f"{made.text}\n")
    where = "shown this once" if to is None else f"written to {to}"
    typer.echo(f"{made.token.id}: {role} of {namespace}, {where}", err=True)


@contextmanager
def _place(to: Path | None) -> Iterator[TextIO]:
    """Where the token goes, there before the token is: a file of our own that nobody else may read, and that
    is gone again when nothing came of it; or a terminal. Raises BadParameter."""
    if to is None:
        if not sys.stdout.isatty():
            raise typer.BadParameter(TO_A_LOG, param_hint="--to")
        yield sys.stdout
        return
    try:
        descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as trouble:
        taken = "is there already, and may be somebody's token: name a new file"
        why = taken if isinstance(trouble, FileExistsError) else trouble.strerror
        raise typer.BadParameter(f"{to}: {why}", param_hint="--to") from None
    try:
        with os.fdopen(descriptor, "w") as file:
            yield file
    except BaseException:
        to.unlink()
        raise


def _make(session: Any, stack: str, wish: Wish) -> Minted:
    """The token, in the tables that the stack's own functions are told of; the audit says of whom it is by
    what IAM calls them. Raises BotoCoreError, ClientError, LookupError, Unavailable."""
    found = deployed(session.client("cloudformation"), stack)
    settings = replace(settings_of(session.client("lambda"), found), region=session.region_name)
    identity = session.client("sts").get_caller_identity()["UserId"]
    return bootstrap.build(settings).tokens.create(wish, by=identity)


def _give_up(why: str) -> NoReturn:
    typer.echo(f"error: {why}", err=True)
    raise typer.Exit(1)


if __name__ == "__main__":
    app(prog_name="python -m infra.aws.admin_token")
