"""``baton append``: say something in a run's log."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from baton_sdk.cli.options import Attempt, RunArgument
from baton_sdk.cli.session import Session
from baton_sdk.cli.values import PAYLOAD_HELP, json_value, parse


def append(
    session: Session,
    run_id: RunArgument,
    event_type: Annotated[
        str | None, typer.Argument(metavar="TYPE", help="The event's type, like agent or checkpoint.")
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", "-d", metavar="JSON", help=f"The event's data: {PAYLOAD_HELP}")
    ] = None,
    lines: Annotated[
        bool, typer.Option("--lines", help='Append every line of stdin: JSON like {"type": …, "data": …}.')
    ] = False,
    attempt: Attempt = None,
) -> None:
    """Append an event to a run's log, or with --lines as many as stdin has.

    \b
    Examples:
      baton append nightly-7 checkpoint --data '{"step": 3}'
      ./agent | baton append nightly-7 --lines
    """
    if lines == (event_type is not None):
        raise typer.BadParameter("give a TYPE, or --lines to read events from stdin", param_hint="TYPE")
    payload = json_value(data, "--data")
    count = 0
    with session.client() as client:
        if attempt is None:
            # Without a fence of its own the command speaks for the attempt that runs now.
            attempt = client.get(run_id).run.attempt
        with client.writer(run_id, attempt=attempt) as writer:
            if event_type is not None:
                writer.emit(event_type, payload)
                count = 1
            else:
                for count, line in enumerate(sys.stdin, 1):
                    writer.emit(*_event(line, count))
            writer.flush()
            offset = writer.next_offset
    if session.out.as_json:
        session.out.document({"appended": count, "next_offset": offset})
    else:
        session.out.note(f"appended {count} to {run_id}")


def _event(line: str, number: int) -> tuple[str, object]:
    event = parse(line.rstrip("\n"), f"line {number}", "--lines")
    if (
        not isinstance(event, dict)
        or not isinstance(event.get("type"), str)
        or event.keys() - {"type", "data"}
    ):
        raise typer.BadParameter(f'line {number} is not {{"type": …, "data": …}}', param_hint="--lines")
    return event["type"], event.get("data")
