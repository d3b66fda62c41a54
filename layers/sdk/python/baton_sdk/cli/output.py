"""Everything a command says: JSON for programs, tables for a terminal, tab-separated lines for a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from baton_sdk.errors import BatonError, InvalidRequest, NotAllowed, Unauthenticated, Unreachable

STATE_COLOURS = {
    "pending": "yellow",
    "running": "cyan",
    "suspended": "magenta",
    "completed": "green",
    "failed": "red",
    "cancelled": "dark_orange",
    "dead": "bold red",
    # and of a delivery, where it has one that a run has not
    "owed": "yellow",
    "started": "green",
    "coalesced": "magenta",
    "declined": "dim",
}


class Output:
    """Results go to stdout, what is said about them to stderr."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.console = Console(highlight=False, soft_wrap=True)
        self.notes = Console(stderr=True, highlight=False, soft_wrap=True)

    @property
    def for_person(self) -> bool:
        """Whether a person is looking at a terminal."""
        return self.console.is_terminal and not self.as_json

    def document(self, value: Any) -> None:
        """One JSON document, as ``--json`` promises: indented for a person, on one line for a program."""
        self.write(json.dumps(value, ensure_ascii=False, indent=2 if self.console.is_terminal else None))

    def line(self, value: Any) -> None:
        """One JSON line of a stream, out at once."""
        self.write(json_line(value))

    def write(self, text: str) -> None:
        """Plain text and a line's end, to stdout, at once."""
        raw = f"{text}\n".encode(errors="backslashreplace")
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()

    def note(self, text: str) -> None:
        """Something about the work, for whoever watches."""
        self.notes.print(Text(text, style="dim"))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """A table for a terminal, tab-separated lines without a head for a pipe."""
        if not self.console.is_terminal:
            for row in rows:
                self.write("\t".join(_plain(cell) for cell in row))
            return
        head = [Text(column, style="bold") for column in columns]
        lines = [head, *([c if isinstance(c, Text) else Text(_plain(c)) for c in row] for row in rows)]
        widths = [max(cell.cell_len for cell in cells) for cells in zip(*lines, strict=True)]
        for cells in lines:
            for cell, width in zip(cells, widths, strict=True):
                cell.pad_right(width - cell.cell_len)
            line = Text("  ").join(cells)
            line.rstrip()
            # In a narrow terminal it runs on: an id that is cut into pieces can't be copied.
            self.console.print(line)

    def facts(self, pairs: Iterable[tuple[str, Any]]) -> None:
        """Names and values, those without a value left out."""
        kept = [(name, value) for name, value in pairs if value not in (None, "", (), [])]
        if not self.console.is_terminal:
            self.table((), kept)
            return
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="dim")
        table.add_column(overflow="fold")
        for name, value in kept:
            table.add_row(name, value if isinstance(value, Text) else _plain(value))
        self.console.print(table, soft_wrap=False)

    def error(self, error: BatonError) -> None:
        """Why a command failed, with what helps to go on."""
        if self.as_json:
            document = json.dumps({"error": error.as_json()}, ensure_ascii=False)
            sys.stderr.write(document + "\n")
            return
        self.notes.print(Text.assemble(("error: ", "bold red"), error.detail))
        for field in map(str, error.errors):
            if field != error.detail:
                self.notes.print(Text(f"  {field}"))
        for line in hints(error):
            self.notes.print(Text(f"  {line}", style="dim"))

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """A spinner while something takes its time; nothing where nobody looks."""
        if self.notes.is_terminal and not self.as_json:
            with self.notes.status(what):
                yield
        else:
            yield


def json_line(value: Any) -> str:
    """A value as one line of JSON, without the line's end."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def state(name: str) -> Text:
    """A state in its colour."""
    return Text(name, style=STATE_COLOURS.get(name, ""))


def compact(value: Any, limit: int | None = None) -> str:
    """A payload on one line, cut to ``limit`` characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def _plain(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value)


def hints(error: BatonError) -> Iterator[str]:
    """What helps to go on from an error."""
    if error.run is not None:
        yield f"run {error.run.id} is {error.run.state} (attempt {error.run.attempt})"
    if isinstance(error, Unreachable):
        yield "is it running? `baton dev` starts one on this machine; --url or BATON_URL names another"
    if isinstance(error, NotAllowed):
        yield remedy(error)
    if error.request_id and not isinstance(error, InvalidRequest):
        yield f"request id {error.request_id}"


def remedy(error: NotAllowed) -> str:
    """What helps where another token is needed."""
    made = "an admin makes one: `baton token create --help`"
    if not isinstance(error, Unauthenticated):
        return (
            f"--token or BATON_TOKEN brings another token, --namespace or BATON_NAMESPACE the tenant; {made}"
        )
    return f"--token or BATON_TOKEN brings {'another' if error.token_sent else 'one, none was sent'}; {made}"
