"""``baton doctor --aws``: a deployed stack is examined by the repository's checkout, which knows what it is
made of."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NamedTuple, NoReturn

import typer

from baton_sdk.checkout import checkout
from baton_sdk.cli.dev import stack_environment
from baton_sdk.cli.session import Session

MODULE = "infra.aws.doctor"
_NEEDS = ("boto3",)

Stack = Annotated[
    str | None,
    typer.Option("--stack", metavar="NAME", help="With --aws: which (else baton-dev-service)."),
]
Region = Annotated[
    str | None, typer.Option("--region", metavar="REGION", help="With --aws: where it is deployed.")
]
Profile = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="With --aws: whose credentials to use.")
]


class Deployment(NamedTuple):
    """A stack in somebody's account; what is left open is as AWS's own configuration says."""

    stack: str | None = None
    region: str | None = None
    profile: str | None = None


def examine_deployed(session: Session, deployment: Deployment) -> NoReturn:
    """Have the checkout examine a stack, in this process's place. Raises InvalidRequest without one."""
    root = checkout("baton doctor --aws", _NEEDS)
    sys.stdout.flush()
    os.execve(sys.executable, doctor_command(session, deployment), stack_environment(root))  # noqa: S606


def doctor_command(session: Session, deployment: Deployment) -> list[str]:
    """The command that examines a stack."""
    given = {**deployment._asdict(), "namespace": session.options.namespace}
    options = [f"--{name}={value}" for name, value in given.items() if value is not None]
    return [sys.executable, "-m", MODULE, *options, *(["--json"] if session.out.as_json else [])]
