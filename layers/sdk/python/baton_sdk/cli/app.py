"""The program ``baton``: its verbs and nouns."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from baton_sdk.cli.append import append
from baton_sdk.cli.audit import audit
from baton_sdk.cli.demo import demo
from baton_sdk.cli.dev import dev
from baton_sdk.cli.doctor import doctor
from baton_sdk.cli.exec.command import execute
from baton_sdk.cli.finish import finish
from baton_sdk.cli.graph import graph
from baton_sdk.cli.publish import publish
from baton_sdk.cli.republish import republish
from baton_sdk.cli.runs import runs
from baton_sdk.cli.session import INTERRUPTED, Json, Namespace, Token, Url, command, take_globals
from baton_sdk.cli.start import start
from baton_sdk.cli.tail import tail
from baton_sdk.cli.tokens import tokens
from baton_sdk.cli.worker import worker
from baton_sdk.cli.workers import workers
from baton_sdk.cli.workflows import workflows


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"baton {importlib.metadata.version('baton')}")
        raise typer.Exit


def program(
    ctx: typer.Context,
    url: Url = None,
    token: Token = None,
    namespace: Namespace = None,
    json: Json = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_tell_version),
    ] = False,
) -> None:
    """The callback of the program: the global options, and what only the program itself is asked."""
    take_globals(ctx, url, token, namespace, json)


app = typer.Typer(
    name="baton",
    help="Baton keeps runs: started once, logged without loss, finished once, handed off once.\n\n"
    "Begin with `baton demo`, or `baton dev` in one terminal and `baton exec -- make test` in another.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    callback=program,
    context_settings={"help_option_names": ["--help", "-h"]},
)

# Options of the command that is run are its own: ours end at the first word that is none.
_OURS_FIRST = {"allow_interspersed_args": False}

# What the list of commands has room for; each command's own help says it all.
app.command("demo", short_help="Play a run's whole life on this machine, and check it.")(command(demo))
app.command("dev", short_help="Start the local stack behind a real HTTP server.")(command(dev))
app.command("exec", short_help="Run a command as a run.", context_settings=_OURS_FIRST)(command(execute))
app.command("start")(command(start))
app.add_typer(runs)
app.command("tail", short_help="Follow a run's log, live to its end.")(command(tail))
app.command("append", short_help="Append to a run's log.")(command(append))
app.command("finish", short_help="Settle a run, once.")(command(finish))
app.command("republish", short_help="Deliver endings again, of one run or of many.")(command(republish))
app.add_typer(workflows, short_help="Register, list, show and delete workflows.")
app.command("graph", short_help="Show who starts whom.")(command(graph))
app.command("publish", short_help="Publish an event of your own.")(command(publish))
app.command("worker", short_help="Claim and perform runs with a module's functions.")(command(worker))
app.command("workers", short_help="List the live workers.")(command(workers))
app.add_typer(tokens, short_help="Make, list and revoke tokens: who may, and what.")
app.command("audit", short_help="List who did what.")(command(audit))
app.command("doctor", short_help="Check the way to the service.")(command(doctor))


def main() -> None:
    """Run the command line. Exit 0 done, 1 refused or failed, 2 usage, 130 interrupted."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever called us: what is said there goes nowhere
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - to the end of the process
    try:
        app(prog_name="baton")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
