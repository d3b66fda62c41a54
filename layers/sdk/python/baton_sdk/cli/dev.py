"""``baton dev``: the whole service on this machine, out of this repository's checkout."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from baton_sdk.checkout import checkout, places
from baton_sdk.cli.session import Session

MODULE = "infra.local"
DEFAULT_PORT = 4437


def dev(
    session: Session,
    port: Annotated[
        int,
        typer.Option("--port", "-p", metavar="PORT", min=0, max=65535, help="Where to listen, on loopback."),
    ] = DEFAULT_PORT,
    auth: Annotated[
        bool,
        typer.Option("--auth", help="Let in only who shows a token; the first is told on this terminal."),
    ] = False,
    token_file: Annotated[
        str | None,
        typer.Option("--token-file", metavar="FILE", help="With --auth: keep the first token there instead."),
    ] = None,
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[-- OPTIONS]", help="For the stack itself.")
    ] = None,
) -> None:
    """Start the local stack: every function behind a real HTTP server, on an in-process DynamoDB.

    Ctrl-C drains it. What it keeps is gone when it ends. Everyone on this machine may do everything, unless
    you say --auth.

    \b
    Examples:
      baton dev
      baton dev --auth --token-file admin.token
      baton dev --port 8080 -- --setting authorizer_seconds=0 --quiet
    """
    root = checkout()
    sys.stdout.flush()
    # In our place, not under us: Ctrl-C, a supervisor's signals and the exit code are the stack's own.
    given = [*(["--auth"] if auth else []), *([] if token_file is None else ["--token-file", token_file])]
    os.execve(sys.executable, stack_command(port, [*given, *(more or ())]), stack_environment(root))  # noqa: S606


def stack_command(port: int, more: Sequence[str] = (), *, module: str = MODULE) -> list[str]:
    """The command that runs the local stack."""
    return [sys.executable, "-m", module, "--port", str(port), *more]


def stack_environment(root: Path) -> dict[str, str]:
    """The environment in which the checkout's packages are found from anywhere."""
    given = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*places(root), *([given] if given else [])])}
