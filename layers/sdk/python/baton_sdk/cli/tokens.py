"""``baton token …``: who may, and what: tokens made, listed and revoked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any, Literal

import typer

from baton_sdk.cli.output import Output
from baton_sdk.cli.session import Session, command, take_globals
from baton_sdk.cli.values import until
from baton_sdk.cli.views import present, when
from baton_sdk.errors import BatonError, NotFound
from baton_sdk.tokens import EVERY_NAMESPACE, NewToken, Token, id_of, is_id, namespace_of

COLUMNS = ("TOKEN", "ROLE", "NAMESPACE", "WORKFLOWS", "EXPIRES", "USED", "DESCRIPTION")

tokens = typer.Typer(
    name="token",
    help="Make, list and revoke tokens. It takes an admin's.\n\n"
    "Each role may do all that the ones before it may: viewer (read), driver (start, write, settle, claim), "
    "operator (workflows, republish, events, force, delete), admin (tokens, audit).",
    no_args_is_help=True,
    callback=take_globals,
)

Everywhere = Annotated[
    bool,
    typer.Option(
        "--everywhere",
        help="About tokens that are good in every namespace, not one namespace's; takes an admin of all.",
    ),
]


def create(
    session: Session,
    role: Annotated[
        Literal["viewer", "driver", "operator", "admin"],
        typer.Option("--role", "-r", help="What it may do; each role may do what the ones before it may."),
    ],
    workflow: Annotated[
        list[str] | None,
        typer.Option(
            "--workflow", "-w", metavar="NAME", help="A driver's: drive its runs alone; may repeat."
        ),
    ] = None,
    description: Annotated[
        str | None, typer.Option("--description", "-d", metavar="TEXT", help="Whose it is, or what for.")
    ] = None,
    expires_in: Annotated[
        str | None, typer.Option("--expires-in", metavar="WHILE", help="Good for so long: 12h, 30d.")
    ] = None,
    expires_at: Annotated[
        str | None, typer.Option("--expires-at", metavar="TIME", help="Good until then; else for good.")
    ] = None,
    everywhere: Everywhere = False,
) -> None:
    """Make a token. What is to be sent, its secret, is told this once: nobody can be asked for it again.

    Not on a terminal, stdout has the secret and nothing else. What may do something without a person looking
    on should have the least role that does, end some day, and be a driver of its own workflows alone.

    \b
    Examples:
      baton token create --role viewer --description "the dashboard on the wall" --expires-in 90d
      TOKEN=$(baton token create --role driver --workflow nightly --workflow weekly)
      BATON_TOKEN=$TOKEN baton exec --workflow nightly -- ./nightly.sh
      (umask 077; baton token create --role admin --everywhere > admin.token)
    """
    if workflow and role != "driver":
        raise typer.BadParameter("it narrows a driver: --role driver", param_hint="--workflow")
    with session.client() as client, _unknown_outcome(session.out):
        made = client.tokens.create(
            role,
            namespace=EVERY_NAMESPACE if everywhere else None,
            workflows=workflow or None,
            description=description,
            expires_at=until(expires_in, expires_at, ("--expires-in", "--expires-at")),
        )
    _hand_over(session.out, made)


@contextmanager
def _unknown_outcome(out: Output) -> Iterator[None]:
    """A creation is not repeated: whoever asked is told what may have become of it."""
    try:
        yield
    except BatonError as error:
        if error.maybe_done and not out.as_json:
            out.note("it may have been made all the same: `baton token list` shows it, to be revoked")
        raise


def _hand_over(out: Output, made: NewToken) -> None:
    if out.as_json:
        out.document({"token": made.token.raw, "secret": made.secret})
        return
    if out.for_person:
        _show(out, made.token)
    out.write(made.secret)
    if out.for_person:
        out.note("this is shown once, and never again: send it as BATON_TOKEN, or --token")
    else:
        token = made.token
        alone = f", for {', '.join(token.workflows)} alone" if token.workflows else ""
        end = f", until {when(token.expires_at)}" if token.expires_at else ""
        out.note(f"made {token.id}, {token.role} of {_named(token.namespace)}{alone}{end}; not shown again")


def _show(out: Output, token: Token) -> None:
    out.facts(
        (
            ("token", token.id),
            ("role", token.role),
            ("namespace", _named(token.namespace)),
            ("workflows", ", ".join(token.workflows or ())),
            ("description", token.description),
            ("expires", when(token.expires_at) or "never"),
        )
    )


def _named(namespace: str) -> str:
    return "every namespace" if namespace == EVERY_NAMESPACE else namespace


def list_tokens(session: Session, everywhere: Everywhere = False) -> None:
    """List the tokens of the namespace, or with --everywhere those that are of no single one.

    USED is known to the hour. One that has expired is listed for some days.

    \b
    Examples:
      baton token list
      baton token list --json | jq -r '.tokens[] | select(.used_at == null) | .id'
    """
    with session.client() as client:
        namespace = EVERY_NAMESPACE if everywhere else None
        found = list(client.tokens.list(namespace=namespace, page_size=100))
    if session.out.as_json:
        session.out.document({"tokens": [token.raw for token in found]})
    elif found or not session.out.for_person:
        session.out.table(COLUMNS, (_row(token, for_person=session.out.for_person) for token in found))
    else:
        session.out.note("no tokens: `baton token create --role driver` makes one")


def _row(token: Token, *, for_person: bool) -> tuple[Any, ...]:
    now = present() if for_person else None
    return (
        token.id,
        token.role,
        token.namespace,
        ", ".join(token.workflows or ()),
        _end(token, now),
        when(token.used_at, now),
        token.description,
    )


def _end(token: Token, now: datetime | None) -> str | None:
    over = now is not None and token.expires_at is not None and token.expires_at <= now
    return f"{when(token.expires_at)}, over" if over else when(token.expires_at, now)


@contextmanager
def _found_where_it_is(out: Output, token_id: str) -> Iterator[None]:
    """Whoever acts in another namespace than the token's is told of its own, which its id begins with."""
    try:
        yield
    except NotFound:
        whose = namespace_of(token_id)
        of_all = whose == EVERY_NAMESPACE
        listed = "baton token list --everywhere" if of_all else f"baton --namespace {whose} token list"
        if not out.as_json:
            said = "an id without a namespace is" if of_all else "by its id it is"
            out.note(f"{said} of {_named(whose)}: `{listed}` has those that there are")
        raise


def revoke(
    session: Session, token_id: Annotated[str, typer.Argument(metavar="ID", help="Which; see the list.")]
) -> None:
    """Have a token count no more. That takes effect within a minute, and live streams end within theirs.

    \b
    Example:
      baton token revoke default_k7q2m4xz
    """
    if not is_id(token_id):  # a secret would go into a URL, and from there into logs
        whole = id_of(token_id)
        right = "`baton token list` has them" if whole is None else f"that of the token given is {whole}"
        raise typer.BadParameter(
            f"an id reads NAMESPACE_k7q2m4xz, of every namespace k7q2m4xz: {right}", param_hint="ID"
        )
    with session.client() as client, _found_where_it_is(session.out, token_id):
        client.tokens.revoke(token_id)
    if session.out.as_json:
        session.out.document({"revoked": token_id})
    else:
        session.out.note(f"revoked {token_id}")


for name, function, in_short in (
    ("create", create, "Make a token; its secret is shown once."),
    ("list", list_tokens, "List tokens, without their secrets."),
    ("revoke", revoke, "Have a token count no more."),
):
    tokens.command(name, short_help=in_short)(command(function))
