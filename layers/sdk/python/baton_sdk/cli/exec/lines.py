"""Cuts a byte stream into the lines of a log, losing nothing: every piece says whether it ended its line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAX_PIECE_BYTES = 32 * 1024
"""Longer lines are cut: the worst byte takes six in JSON, so a piece always fits an event."""


@dataclass(frozen=True)
class Piece:
    """A line, or with ``eol`` False a part of one that the next piece of the same stream goes on with."""

    text: str
    eol: bool

    def data(self) -> dict[str, Any]:
        """The event's data: ``{"line"}``, and ``"eol": false`` only where no newline followed."""
        return {"line": self.text} if self.eol else {"line": self.text, "eol": False}


class LineCutter:
    """Feed it bytes as they come. What is not UTF-8 comes out as ``\\xNN``."""

    def __init__(self, max_bytes: int = MAX_PIECE_BYTES) -> None:
        self._max = max_bytes
        self._pending = bytearray()

    @property
    def waiting(self) -> bool:
        """Whether a line has begun that has not ended."""
        return bool(self._pending)

    def feed(self, data: bytes) -> Iterator[Piece]:
        """The lines that ``data`` completes, and pieces of one that gets too long."""
        *ended, rest = data.split(b"\n")
        for line in ended:
            self._pending += line
            yield from self._overlong()
            yield Piece(_text(self._pending), eol=True)
            self._pending.clear()
        self._pending += rest
        yield from self._overlong()

    def flush(self, *, final: bool) -> Iterator[Piece]:
        """What has come of an unfinished line; but for the last call, half a character stays."""
        size = len(self._pending) if final else _whole_characters(self._pending, len(self._pending))
        if size:
            yield self._cut(size)

    def _overlong(self) -> Iterator[Piece]:
        while len(self._pending) > self._max:
            yield self._cut(_whole_characters(self._pending, self._max) or self._max)

    def _cut(self, size: int) -> Piece:
        piece = Piece(_text(self._pending[:size]), eol=False)
        del self._pending[:size]
        return piece


def _text(raw: bytearray) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _whole_characters(raw: bytearray, end: int) -> int:
    """The greatest size up to ``end`` that does not cut a UTF-8 character in two."""
    for back in range(1, min(4, end) + 1):
        byte = raw[end - back]
        if byte >= 0xC0:  # a first byte: is its character complete before `end`?
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return end if back >= length else end - back
        if byte < 0x80:
            return end
    return end
