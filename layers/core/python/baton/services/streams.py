"""Reading a log: from any offset to its end, and on from there as it grows, with no gap and no repeat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from baton.domain.clock import Millis, rfc3339
from baton.domain.log import Entry, Message, Tail, unpack
from baton.domain.offset import NOW, Offset
from baton.domain.offset import parse as parse_offset
from baton.domain.run import Run
from baton.domain.starting import start_entry
from baton.errors import InvalidRequest, NotFound
from baton.services.context import Context
from baton.services.lookup import Lookup
from baton.store.log import LogItem

MAX_ANSWER = 4_000_000
"""Bytes of messages in one answer; a read ends early there."""

ENVELOPE = 120
"""What a message takes beside its run id, type and data, at the most: counted, not encoded."""


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive messages from ``start`` to ``next``. ``up_to_date``: there was nothing more when they were
    read; ``closed``: nor will there be, in this attempt, for the newest item read was an ``end``."""

    birth: str
    messages: list[Message]
    start: Offset
    next: Offset
    up_to_date: bool
    closed: bool


class Reading(NamedTuple):
    """Where a reader stands in a run's log; ``at_end`` is what is known of the item before it: whether it is
    an ``end`` (None: not known)."""

    run: Run
    position: Offset
    at_end: bool | None


class Streams:
    """Where logs are read."""

    def __init__(self, context: Context, lookup: Lookup) -> None:
        self._context = context
        self._lookup = lookup

    def tail(self, namespace: str, run_id: str) -> tuple[Run, Tail]:
        """The run and its log's end, consistently. Raises NotFound."""
        run, tail, _ = self._lookup.sight(namespace, run_id)
        return run, tail

    def open(self, namespace: str, run_id: str, offset: str) -> Reading:
        """Stand at an offset of the log. Raises NotFound, and InvalidRequest on an offset that is malformed
        or ahead of the log's end."""
        wanted = None if offset == NOW else parse_offset(offset)
        run, tail = self.tail(namespace, run_id)
        if wanted is None or wanted == tail.offset:
            return Reading(run, tail.offset, tail.header.closed)
        if wanted.seq >= tail.next:
            raise InvalidRequest.at(["query", "offset"], f"ahead of the log's end, {tail.offset}")
        return Reading(run, wanted, None)

    def read(self, reading: Reading, *, consistent: bool = True) -> Chunk:
        """What follows a reader's position, as much as one answer holds.

        An item is passed on only if it begins where the last one ended; when it does not, what was read
        eventually is read again consistently, and what was read so was an offset that never was:
        InvalidRequest.
        """
        run = reading.run
        collected = _Collected(run, reading.position)
        if reading.position.slot == 0 and not run.input_in_log:
            collected.add_start(self._start(run))
        more = True
        closed = bool(reading.at_end)
        while more and not collected.full:
            page = self._context.log.read(
                run.namespace, run.id, run.birth, collected.next.slot, consistent=consistent
            )
            for item in page.items:
                if item.slot != collected.next.slot:
                    if consistent:
                        raise _never_was()
                    return self.read(reading, consistent=True)
                if not collected.add(item):
                    break
                closed = item.header.closed
            more = page.more
        done = not more and not collected.full
        if consistent and done and reading.at_end is None and collected.next == reading.position:
            raise _never_was()  # the log goes further, yet nothing begins here
        return Chunk(
            birth=run.birth,
            messages=collected.messages,
            start=reading.position,
            next=collected.next,
            up_to_date=done,
            closed=done and closed,
        )

    def follow(self, reading: Reading, until: Millis) -> Iterator[Chunk | None]:
        """Chunks as they come, till the log closes or the time is up; the first at once, empty if there is
        nothing. None each time nothing was there: the caller may speak, or stop.

        Empty looks are eventually consistent: what they miss the next one finds.
        """
        context = self._context
        if reading.at_end is None:
            chunk = self.read(reading)
        else:
            chunk = _empty(reading, reading.at_end)
        yield chunk
        while not chunk.closed:
            left = until - context.clock.now()
            if left <= 0:
                return
            if chunk.up_to_date:
                context.clock.sleep(min(context.settings.poll_seconds, left / 1000))
            reading = reading._replace(position=chunk.next, at_end=chunk.closed)
            chunk = self.read(reading, consistent=not chunk.up_to_date)
            yield chunk if chunk.messages or chunk.closed else None

    def _start(self, run: Run) -> Entry:
        if run.input is None:
            raise NotFound(f"run {run.id!r} is gone")
        return start_entry(run, run.input)


class _Collected:
    """Messages of one answer, up to its size, and the offset after them."""

    def __init__(self, run: Run, position: Offset) -> None:
        self._run = run
        self._size = 0
        self.next = position
        self.messages: list[Message] = []
        self.full = False

    def add_start(self, said: Entry) -> None:
        """Entry 0, as the row has it."""
        if self.next.index:
            raise _never_was()
        self._add(said, self._bytes(said), rfc3339(self._run.created_at), 1, 0)
        self.next = Offset(1)

    def add(self, item: LogItem) -> bool:
        """An item's entries from the reader's index on; False when the answer is full before its end."""
        entries, ts = unpack(item.body), rfc3339(item.ts)
        first = self.next.index
        if first >= item.count:
            raise _never_was()
        for index, said in enumerate(entries[first:], first):
            size = self._bytes(said)
            if self.messages and self._size + size > MAX_ANSWER:
                self.full = True
                self.next = Offset(item.slot, index)
                return False
            self._add(said, size, ts, item.header.attempt, item.slot + index)
        self.next = Offset(item.slot + item.count)
        return True

    def _add(self, said: Entry, size: int, ts: str, attempt: int, seq: int) -> None:
        self._size += size
        self.messages.append(Message(self._run.id, seq, attempt, said.type, ts, said.data))

    def _bytes(self, said: Entry) -> int:
        return ENVELOPE + len(self._run.id) + len(said.type) + memoryview(said.data).nbytes


def _never_was() -> InvalidRequest:
    return InvalidRequest.at(["query", "offset"], "not an offset of this log")


def _empty(reading: Reading, closed: bool) -> Chunk:
    return Chunk(
        birth=reading.run.birth,
        messages=[],
        start=reading.position,
        next=reading.position,
        up_to_date=True,
        closed=closed,
    )
