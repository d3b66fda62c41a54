"""The command that starts the local stack, tells where it is, and stops it at Ctrl-C."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from infra.local.door import is_loopback
from infra.local.first_token import NotOurs, keep, look

if TYPE_CHECKING:
    from infra.local.stack import Stack

PORT = 4437

_STOPPING = frozenset({signal.SIGINT, signal.SIGTERM})

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0: any free port.")] = PORT,
    host: Annotated[str, typer.Option(help="The loopback address to listen on.")] = "127.0.0.1",
    endpoint_url: Annotated[
        str | None,
        typer.Option(
            envvar=["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"],
            help="The DynamoDB to keep runs in, instead of this process's memory.",
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="One of baton.config.Settings, also by environment: BATON_NAME."
        ),
    ] = None,
    auth: Annotated[
        bool, typer.Option("--auth", help="Let in only who shows a token. Without it: everyone, as admin.")
    ] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --auth: where the first admin token is kept, for its owner alone. Without it, it is "
            "told once, on a terminal.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No line for each request.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Also what the functions log.")] = False,
) -> None:
    """Run Baton on this machine: every function behind a real HTTP server. Ctrl-C stops it."""
    if not is_loopback(host):
        raise typer.BadParameter("the local stack binds loopback only", param_hint="--host")
    _check_handing_over(auth, token_file)
    speak(quiet=quiet, verbose=verbose)
    host_until_stopped(
        given=pairs(setting or []),
        endpoint_url=endpoint_url,
        token_file=token_file,
        host=host,
        port=port,
        auth=auth,
    )


def _check_handing_over(auth: bool, token_file: Path | None) -> None:
    """A usage error where nobody could be handed the first token."""
    if token_file is not None:
        if not auth:
            raise typer.BadParameter("without --auth there is no token", param_hint="--token-file")
        try:
            look(token_file)
        except NotOurs as exc:
            raise typer.BadParameter(str(exc), param_hint="--token-file") from exc
    elif auth and not sys.stdout.isatty():
        raise typer.BadParameter(
            "the first admin token is told on a terminal alone, and this is none: say --token-file FILE",
            param_hint="--auth",
        )


def host_until_stopped(
    *,
    given: Mapping[str, str],
    endpoint_url: str | None = None,
    token_file: Path | None = None,
    **options: Any,
) -> None:
    """Serve with the settings ``given`` and other `Options`, say where, and drain at Ctrl-C or SIGTERM.

    With ``auth`` the first admin token is kept in ``token_file``; without one stdout is a terminal.
    """
    stop = _stop_signals()
    ready_line = sys.stdout
    # On Lambda what a function prints is its log; stdout is for whoever waits for the stack to be ready.
    with redirect_stdout(sys.stderr):
        stack = _started(endpoint_url, given, options)
        kept = f"at {endpoint_url}" if endpoint_url else "in this process's memory, gone when it ends"
        _hand_over(stack, token_file, ready_line)
        typer.echo(f"baton: ready at {stack.url} - runs are kept {kept} - Ctrl-C stops", file=ready_line)
        stop.wait()
        typer.echo("baton: stopping", err=True)
        if not stack.stop():
            typer.echo("baton: some requests did not end in time and were cut off", err=True)
            # Their threads would hold the interpreter's own exit back.
            os._exit(0)


def _hand_over(stack: Stack, token_file: Path | None, terminal: TextIO) -> None:
    """Have whoever started the stack know its first token, and nobody else: in no log, and once."""
    if stack.admin_token is None:
        return
    first = "baton: whoever comes shows a token; the first, an admin's of every namespace, is"
    if token_file is None:
        typer.echo(f"{first} told this once:\n{stack.admin_token}", file=terminal)
        return
    try:
        keep(token_file, stack.admin_token)
    except (NotOurs, OSError) as exc:
        typer.echo(f"baton: the first token can't be kept in {token_file}: {exc}", err=True)
        stack.stop()
        raise typer.Exit(1) from exc
    typer.echo(f"{first} in {token_file}", err=True)


def _started(endpoint_url: str | None, given: Mapping[str, str], options: Mapping[str, Any]) -> Stack:
    # Imported now, not above: help and usage errors should not wait for moto.
    from botocore.exceptions import BotoCoreError, ClientError

    from infra.local.settings import Unknown, local_settings
    from infra.local.stack import Options, Stack

    try:
        settings = local_settings(given, endpoint_url=endpoint_url)
    except Unknown as exc:
        raise typer.BadParameter(str(exc), param_hint="--setting") from exc
    try:
        return Stack(Options(settings=settings, **options))
    except OSError as exc:
        where = f"{options.get('host', Options.host)}:{options.get('port', Options.port)}"
        why = os.strerror(exc.errno) if exc.errno and exc.errno > 0 else exc
        typer.echo(f"baton: can't listen on {where}: {why}; --port takes another, 0 any free one", err=True)
        raise typer.Exit(1) from exc
    except (BotoCoreError, ClientError) as exc:
        typer.echo(f"baton: can't work with the DynamoDB at {endpoint_url}: {exc}", err=True)
        raise typer.Exit(1) from exc


def pairs(settings: list[str]) -> dict[str, str]:
    """What options NAME=VALUE say."""
    pairs = [each.partition("=") for each in settings]
    for name, equals, _ in pairs:
        if not equals:
            raise typer.BadParameter(f"{name}: NAME=VALUE is wanted", param_hint="--setting")
    return {name: value for name, _, value in pairs}


def _stop_signals() -> threading.Event:
    """Set by the first Ctrl-C or SIGTERM; the second does not wait for anything.

    A thread waits for them, as nothing may be asked for in a handler: it interrupts its own thread anywhere,
    inside of this event, too, whose lock it could then wait for forever. Called before any other thread is
    started: each inherits that it is not the one to be interrupted.
    """
    stop = threading.Event()
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)

    def listen() -> None:
        signal.sigwait(_STOPPING)
        stop.set()
        os._exit(128 + signal.sigwait(_STOPPING))

    threading.Thread(target=listen, name="signals", daemon=True).start()
    return stop


def speak(*, quiet: bool, verbose: bool) -> None:
    """Requests on stderr, one line each; of what the functions log, only what went wrong."""
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.WARNING)
    logging.getLogger("infra.local.access").setLevel(logging.WARNING if quiet else logging.INFO)
    os.environ.setdefault("POWERTOOLS_LOG_LEVEL", "INFO" if verbose else "ERROR")
    os.environ.setdefault("POWERTOOLS_METRICS_DISABLED", "true")
