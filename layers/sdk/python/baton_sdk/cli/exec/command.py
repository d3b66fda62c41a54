"""The command line of ``baton exec``."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from baton_sdk.cli.exec.begin import begin
from baton_sdk.cli.exec.drive import NOT_EXECUTABLE, NOT_FOUND, Drive, Plan, command_name
from baton_sdk.cli.exec.lines import Piece
from baton_sdk.cli.exec.notices import Notices
from baton_sdk.cli.exec.outlet import Screen
from baton_sdk.cli.exec.signals import Leave, Signals
from baton_sdk.cli.options import ContextRef, InactivityTimeout, Input, Key, RunId, Tags
from baton_sdk.cli.output import json_line
from baton_sdk.cli.session import REFUSED, Session
from baton_sdk.cli.values import json_value
from baton_sdk.client import Client
from baton_sdk.run import Run, Started

UNREAD_SECONDS = 2.0
LEAVING_SECONDS = 0.2
UNREAD = "nobody read all of the output here"


def execute(
    session: Session,
    cmd: Annotated[list[str], typer.Argument(metavar="CMD", help="The command and its arguments.")],
    workflow: Annotated[
        str | None,
        typer.Option("--workflow", "-w", metavar="NAME", help="The workflow's name. Default: the command's."),
    ] = None,
    key: Key = None,
    run_id: RunId = None,
    input_: Input = None,
    tag: Tags = None,
    context_ref: ContextRef = None,
    inactivity_timeout: InactivityTimeout = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Drive this run, a resumed one say.")
    ] = None,
    grace: Annotated[
        float, typer.Option("--grace", metavar="SECONDS", min=0, help="From the signal to SIGKILL.")
    ] = 10.0,
    patience: Annotated[
        float, typer.Option("--patience", metavar="SECONDS", min=0, help="How long to outlast an outage.")
    ] = 600.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the command's own output.")] = False,
) -> None:
    """Run a command as a run: its output is the log, its exit code the ending.

    A cancel reaches the command as SIGTERM, then SIGKILL. Ctrl-C is passed on and settles the run cancelled,
    resumable; a second one kills. While the network is away the output is kept, and then the command waits.
    The exit code is the command's own (128 and the number for a signal). With a --key that has started a run
    before, nothing is run again: the exit code is that run's.

    \b
    Examples:
      baton exec -- make test
      baton exec --workflow nightly --key nightly-2026-11-29 --inactivity-timeout 600 -- ./nightly.sh
      baton runs resume nightly-7 && baton exec --run nightly-7 -- ./nightly.sh
    """
    payload = json_value(input_, "--input")
    if run is not None and (key or run_id or payload is not None or tag or workflow or context_ref):
        raise typer.BadParameter(
            "a run that exists has its input, tags and names already", param_hint="--run"
        )
    screen = Screen()
    notices = Notices(screen.stderr, quiet=quiet or session.out.as_json)
    with Signals(notices.say) as signals, _read_out(screen, signals, notices):
        _look_up(cmd[0], notices)
        with session.client() as client:
            if run is not None:
                started = Started(run=_existing(client, run, notices), started=True)
            else:
                started = begin(
                    client,
                    workflow or workflow_name(cmd),
                    signals,
                    notices,
                    input={"command": spoken(cmd)} if payload is None else payload,
                    run_id=run_id,
                    context_ref=context_ref,
                    tags=tag or (),
                    inactivity_timeout_seconds=inactivity_timeout,
                    idempotency_key=key,
                )
                if not started.started:
                    raise typer.Exit(_told(screen, session.out.as_json, started.run, notices))
            driven = started.run
            notices.say(f"run {driven.id}, attempt {driven.attempt}; `baton tail {driven.id}` follows it")
            plan = Plan(command=cmd, grace_seconds=grace, patience_seconds=patience)
            shown = _shown if session.out.as_json else None
            drive = Drive(client, started, plan, signals, screen, notices, shown)
            raise typer.Exit(_driven(drive, driven, screen, session.out.as_json, notices))


def _look_up(name: str, notices: Notices) -> None:
    if shutil.which(name) is None:
        there = os.sep in name and Path(name).exists()
        notices.warn(f"{name}: {'not executable' if there else 'command not found'}; nothing started")
        raise typer.Exit(NOT_EXECUTABLE if there else NOT_FOUND)


def workflow_name(cmd: Sequence[str]) -> str:
    """The command's own name as a workflow's: what a workflow's name can't have becomes a dash."""
    name = re.sub(r"[^A-Za-z0-9._:/-]", "-", command_name(cmd)).lstrip("._:/-")
    return name[:128] or "command"


def spoken(cmd: Sequence[str]) -> list[str]:
    """A command line as text: what is no UTF-8 in it comes out as ``\\xNN``."""
    return [os.fsencode(word).decode("utf-8", "backslashreplace") for word in cmd]


@contextmanager
def _read_out(screen: Screen, signals: Signals, notices: Notices) -> Iterator[None]:
    """At the end everything said is read by whoever reads us: for as long as it takes, unless somebody has
    asked for the end or leaves now. The exit code stands by then."""
    try:
        yield
    except Leave as left:
        raise typer.Exit(left.exit_code) from None
    finally:
        signals.nothing_left()
        if screen.dropped:
            notices.warn(UNREAD)
        read = False
        with suppress(Leave):
            stopped_seconds = UNREAD_SECONDS if signals.stopping else None
            read = screen.drain(LEAVING_SECONDS if signals.left else stopped_seconds)
        with suppress(Leave):
            if screen.trouble is not None:
                notices.warn(f"not all of the output could be written here: {screen.trouble}")
            if not read and not screen.dropped:
                notices.warn(UNREAD)
            screen.drain(LEAVING_SECONDS)
            screen.end()


def _driven(drive: Drive, run: Run, screen: Screen, as_json: bool, notices: Notices) -> int:
    if as_json:
        screen.stdout.say(_line({"type": "run", "run": run.raw}))
    ending = drive.to_the_end()
    if as_json:
        told = ending.run.raw if ending.run is not None else None
        outcome = {"run": told, "finished": ending.finished, "exit_code": ending.exit_code}
        screen.stdout.say(_line({"type": "outcome", **outcome}))
    elif ending.finished and ending.run is not None:
        notices.say(_ended(ending.run))
    return ending.exit_code


def _shown(name: str, piece: Piece) -> bytes:
    return _line({"type": name, "data": piece.data()})


def _line(value: Any) -> bytes:
    return f"{json_line(value)}\n".encode(errors="backslashreplace")


def _ended(run: Run) -> str:
    how = f", {run.signal}" if run.signal else f", exit code {run.code}" if run.code else ""
    return f"run {run.id} {run.state}{how}"


def _existing(client: Client, run_id: str, notices: Notices) -> Run:
    run = client.get(run_id).run
    if run.terminal:
        notices.warn(f"{run.id} has ended ({run.state}){_reopening(run)}")
    elif run.state != "running" or run.lease is not None:
        notices.warn(f"{run.id} is {run.state}, for a worker to drive")
    else:
        return run
    raise typer.Exit(REFUSED)


def _reopening(run: Run) -> str:
    if run.state == "completed":
        return "; what completed is not opened again"
    return f": `baton runs resume {run.id}{'' if run.resumable else ' --force'}` opens it again"


def _told(screen: Screen, as_json: bool, run: Run, notices: Notices) -> int:
    """The exit code for a run that this key had started before."""
    if as_json:
        screen.stdout.say(_line({"type": "run", "run": run.raw}))
    if not run.terminal:
        notices.warn(f"this key has started {run.id} before, and it is {run.state}: not started again")
        return REFUSED
    notices.say(f"this key has run before: {_ended(run)}")
    if run.state == "completed":
        return 0
    return run.code or REFUSED
