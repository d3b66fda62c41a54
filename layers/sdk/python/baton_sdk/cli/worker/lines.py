"""What a worker's logging is to whoever watches it: a line for each run that begins or ends, notes for the
rest."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

from baton_sdk.cli.output import Output, hints, state
from baton_sdk.errors import BatonError
from baton_sdk.worker.outages import FIRST
from baton_sdk.worker.report import ATTRIBUTE

_COLOURS = {logging.INFO: "dim", logging.WARNING: "yellow"}
_OUTCOMES = {"error": "red", "lost": "red", "released": "yellow", "continued": "cyan"}
"""Colours of the outcomes of an attempt that are no states of a run."""


@contextmanager
def shown(out: Output, logger: logging.Logger) -> Iterator[None]:
    """Show what the worker logs meanwhile: its runs' lines always, on stdout, and the rest on stderr, unless
    the program has its own ideas of where logging goes."""
    root = logging.getLogger()
    lines = RunLines(out)
    notes = None if root.handlers else Notes(out, logger.name)
    level = logger.level
    logger.addHandler(lines)
    logger.setLevel(level or logging.INFO)
    if notes is not None:
        root.addHandler(notes)
    try:
        yield
    finally:
        logger.removeHandler(lines)
        logger.setLevel(level)
        if notes is not None:
            root.removeHandler(notes)


class RunLines(logging.Handler):
    """The runs: JSON lines, aligned text for a person, tab-separated in a pipe."""

    def __init__(self, out: Output) -> None:
        super().__init__()
        self._out = out
        self.addFilter(_of_a_run)

    def emit(self, record: logging.LogRecord) -> None:
        data = getattr(record, ATTRIBUTE)
        at = datetime.fromtimestamp(record.created, UTC)
        try:
            self._show(at, data)
        except BrokenPipeError:
            self.addFilter(lambda _record: False)  # whoever read us has gone; the work goes on

    def _show(self, at: datetime, data: Mapping[str, Any]) -> None:
        moment = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if self._out.as_json:
            self._out.line({"at": moment, **data})
        elif self._out.for_person:
            self._out.console.print(_line(at, data))
        else:
            fields = ("type", "workflow", "run_id", "attempt", "outcome", "seconds", "reason")
            self._out.table((), [(moment, *(data.get(name) for name in fields))])


class Notes(logging.Handler):
    """Everything else, for a person; and the traceback of what ended a run, which is no part of its line."""

    def __init__(self, out: Output, own_name: str) -> None:
        super().__init__()
        self._out = out
        self._own_name = own_name
        self.addFilter(lambda record: not _of_a_run(record) or self._has_more(record))

    def _has_more(self, record: logging.LogRecord) -> bool:
        return record.exc_info is not None and not self._out.as_json  # which has it in the line

    def emit(self, record: logging.LogRecord) -> None:
        if _of_a_run(record):
            stack: str = getattr(record, ATTRIBUTE)["error"]["stack"]
            self._out.notes.print(Text(stack.rstrip(), style="dim"))
            return
        who = record.name.removeprefix(self._own_name).lstrip(".")
        said = f"{who}: {self.format(record)}" if who else self.format(record)
        self._out.notes.print(Text(said, style=_COLOURS.get(record.levelno, "red")))
        outage = getattr(record, FIRST, None)
        for line in hints(outage) if isinstance(outage, BatonError) else ():
            self._out.note(f"  {line}")


def _of_a_run(record: logging.LogRecord) -> bool:
    return hasattr(record, ATTRIBUTE)


def _line(at: datetime, data: Mapping[str, Any]) -> Text:
    head = Text.assemble(
        (at.astimezone().strftime("%H:%M:%S"), "dim"),
        "  ",
        (data["workflow"], "bold"),
        f"  {data['run_id']}  ",
    )
    if data["type"] == "claimed":
        return head + Text("begins" if data["attempt"] == 1 else f"begins, attempt {data['attempt']}")
    outcome = data["outcome"]
    said = Text(outcome, style=_OUTCOMES[outcome]) if outcome in _OUTCOMES else state(outcome)
    why = f": {data['reason']}" if data["reason"] is not None else ""
    return Text.assemble(head, said, f" after {data['seconds']:.1f} s{why}")
