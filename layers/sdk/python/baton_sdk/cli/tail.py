"""``baton tail``: a run's log, from any offset, live to its end."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from baton_sdk.cli.options import RunArgument
from baton_sdk.cli.outage import Outage
from baton_sdk.cli.output import Output
from baton_sdk.cli.session import Session
from baton_sdk.cli.views import event_line, event_text
from baton_sdk.log import NOW, START, Event
from baton_sdk.retry import PATIENT


def tail(
    session: Session,
    run_id: RunArgument,
    offset: Annotated[
        str, typer.Option("--offset", metavar="OFFSET", help="Where to begin; -1 is the start.")
    ] = START,
    now: Annotated[bool, typer.Option("--now", help="Only what comes from now on.")] = False,
    no_follow: Annotated[bool, typer.Option("--no-follow", help="Stop at what is there.")] = False,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", "-t", metavar="TYPE", help="Only events of this type; may repeat."),
    ] = None,
    output: Annotated[
        bool, typer.Option("--output", "-o", help="The command's output as it was: stdout and stderr.")
    ] = False,
) -> None:
    """Follow a run's log: every event once, in order, over dropped connections, until the run has ended.

    \b
    Examples:
      baton tail nightly-7
      baton tail nightly-7 --output --no-follow > build.log
      baton tail nightly-7 --now --type stderr --json
    """
    begin = NOW if now else offset
    with session.client() as client:
        client.get(run_id)  # a wrong id or address is told at once, before any patience
        events: Iterable[Event] = (
            client.stream(run_id, begin)
            if no_follow
            else client.follow(
                run_id, begin, retry=PATIENT, listener=Outage(session.out.note, "trying again")
            )
        )
        show = _shower(session.out, raw=output)
        for event in events:
            if not types or event.type in types:
                show(event)


def _shower(out: Output, *, raw: bool) -> Any:
    if out.as_json:
        return lambda event: out.line(event.raw)
    if raw:
        return _write_output
    if out.console.is_terminal:
        return _TerminalLog(out).show
    return lambda event: out.write(f"{event.raw['ts']}\t{event.type}\t{event_text(event).plain}")


class _TerminalLog:
    """Counts the time from the first event shown."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._first: Event | None = None

    def show(self, event: Event) -> None:
        self._first = self._first or event
        self._out.console.print(event_line(event, self._first.ts))


def _write_output(event: Event) -> None:
    if event.type not in {"stdout", "stderr"} or not isinstance(event.data, dict):
        return
    stream = sys.stdout.buffer if event.type == "stdout" else sys.stderr.buffer
    end = "\n" if event.data.get("eol", True) else ""
    stream.write(f"{event.data.get('line', '')}{end}".encode(errors="backslashreplace"))
    stream.flush()
