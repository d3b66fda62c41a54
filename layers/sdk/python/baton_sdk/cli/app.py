"""The program ``baton``: its verbs and nouns."""

from __future__ import annotations

import sys

import typer

from baton_sdk.cli.append import append
from baton_sdk.cli.demo import demo
from baton_sdk.cli.dev import dev
from baton_sdk.cli.doctor import doctor
from baton_sdk.cli.exec.command import execute
from baton_sdk.cli.finish import finish
from baton_sdk.cli.runs import runs
from baton_sdk.cli.session import INTERRUPTED, command, take_globals
from baton_sdk.cli.start import start
from baton_sdk.cli.tail import tail

app = typer.Typer(
    name="baton",
    help="Baton keeps runs: started once, logged without loss, finished once.\n\n"
    "Begin with `baton demo`, or `baton dev` in one terminal and `baton exec -- make test` in another.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    callback=take_globals,
    context_settings={"help_option_names": ["--help", "-h"]},
)

# Options of the command that is run are its own: ours end at the first word that is none.
_OURS_FIRST = {"allow_interspersed_args": False}

app.command("demo")(command(demo))
app.command("dev")(command(dev))
app.command("exec", context_settings=_OURS_FIRST)(command(execute))
app.command("start")(command(start))
app.add_typer(runs)
app.command("tail")(command(tail))
app.command("append")(command(append))
app.command("finish")(command(finish))
app.command("doctor")(command(doctor))


def main() -> None:
    """Run the command line. Exit 0 done, 1 refused or failed, 2 usage, 130 interrupted."""
    try:
        app(prog_name="baton")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
