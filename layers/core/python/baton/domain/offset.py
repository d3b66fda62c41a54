"""Offsets: where a reader stands in a log. ``<slot>_<index>``, zero-padded, so they sort as text."""

from __future__ import annotations

import re

import msgspec

from baton.errors import InvalidRequest

START = "-1"
NOW = "now"

_FORM = re.compile(r"([0-9]{16})_([0-9]{5})")
SLOT_DIGITS = 16
MAX_SLOT = 10**SLOT_DIGITS - 1
MAX_ENTRIES = 99_999
"""Entries one item can hold, by the width of an offset's index."""


class Offset(msgspec.Struct, frozen=True, order=True):
    """The position before the ``index``-th entry of the item at ``slot``. At an item's end it is written
    as the next item's start, so that one position has one spelling."""

    slot: int
    index: int = 0

    @property
    def seq(self) -> int:
        """The sequence number of the entry that follows."""
        return self.slot + self.index

    def __str__(self) -> str:
        return f"{self.slot:0{SLOT_DIGITS}d}_{self.index:05d}"


BEGINNING = Offset(0)


def parse(text: str) -> Offset:
    """Read a client's offset, ``-1`` included (``now`` is the reader's to resolve). Raises InvalidRequest."""
    if text == START:
        return BEGINNING
    form = _FORM.fullmatch(text)
    if form is None:
        raise InvalidRequest.at(
            ["query", "offset"], "not an offset: use one that an answer gave, '-1' or 'now'"
        )
    return Offset(int(form[1]), int(form[2]))
