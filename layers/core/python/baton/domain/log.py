"""A run's log: its items, the header each carries forward, and the word on an append.

One item holds a batch of entries in the slot named by its first sequence number. Whoever writes an item
copies the header of the one before, so the newest item alone says whether, and for whom, the log is open; and
a put that found its slot free proves that the item before it was the newest (DESIGN: one conditional put).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from baton.domain.clock import Millis
from baton.domain.offset import MAX_ENTRIES, Offset
from baton.domain.payload import canonical, check_size
from baton.errors import (
    InvalidRequest,
    LeaseLost,
    ProducerFenced,
    RunTerminal,
    SequenceGap,
    StreamConflict,
)

MAX_PRODUCERS = 16
CLOSING_SECONDS = 5


class Producer(msgspec.Struct, frozen=True):
    """Who appends, and which of its batches this is. Source: Durable Streams protocol, 5.2.1."""

    id: str
    epoch: int
    seq: int


class ProducerState(msgspec.Struct, frozen=True, array_like=True):
    """The last batch the log took from a producer within an attempt."""

    id: str
    attempt: int
    epoch: int
    seq: int


class Header(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What each item carries forward. ``closed``: the last entry is ``end``. ``cancel``: an intent is
    latched. ``closing_until``: a settle asks appenders to wait till then (0: none does). ``suspended``: the
    run waits, and nobody drives it."""

    attempt: int = 1
    closed: bool = False
    cancel: bool = False
    closing_until: Millis = 0
    producers: tuple[ProducerState, ...] = ()
    stream_seq: str | None = None
    suspended: bool = False

    def following(self, said: str, attempt: int) -> Header:
        """The header of an item in which Baton says ``said`` to a run at ``attempt``. The states of producers
        stay throughout, so that a late retry of an append of an earlier attempt is known for what it is."""
        quiet = replace(self, attempt=attempt, closing_until=0)
        match said:
            case "end":
                return replace(quiet, closed=True, suspended=False)
            case "cancel":
                return replace(quiet, cancel=True)
            case "resumed":
                return replace(quiet, closed=False, cancel=False)
            case "suspended":
                return replace(quiet, suspended=True)
            case "woken":
                return replace(quiet, suspended=False)
            case _:
                return quiet

    def closing(self, until: Millis) -> Header:
        """The header of a ``closing``: appends wait till ``until``, or for the settle."""
        return replace(self, closing_until=until)


class Tail(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a log as someone saw it: the next free slot and the newest header. ``fenced``: the run asks
    drivers for their attempt. ``seen_at`` is when the item was put or read, and so how old the sight is;
    ``newest_ts`` is when that item was written."""

    birth: str
    next: int
    header: Header
    fenced: bool = False
    newest_ts: Millis = 0
    seen_at: Millis = 0

    @property
    def offset(self) -> Offset:
        """Where the next entry goes."""
        return Offset(self.next)

    def after(self, count: int, header: Header, now: Millis, *, fenced: bool | None = None) -> Tail:
        """The tail once ``count`` entries stand in the slot this one names."""
        return replace(
            self,
            next=self.next + count,
            header=header,
            newest_ts=now,
            seen_at=now,
            fenced=self.fenced if fenced is None else fenced,
        )


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One thing said: its type and its data as canonical JSON. Stored as ``[type, data]``."""

    type: str
    data: msgspec.Raw


class Message(msgspec.Struct, frozen=True):
    """One entry as readers get it."""

    run_id: str
    seq: int
    attempt: int
    type: str
    ts: str
    data: msgspec.Raw


def check_batch(entries: Sequence[Entry]) -> None:
    """Raise unless ``entries`` make one append: PayloadTooLarge by the canonical bytes of their data, each
    and in sum; InvalidRequest by their number."""
    if not entries:
        raise InvalidRequest.at(["body"], "an append needs at least one message")
    if len(entries) > MAX_ENTRIES:
        raise InvalidRequest.at(
            ["body"], f"{len(entries)} messages in one append, over the limit of {MAX_ENTRIES}"
        )
    check_size("data", sum(len(bytes(said.data)) for said in entries))


class Accept(msgspec.Struct, frozen=True):
    """The append goes into the tail's slot under this header."""

    header: Header


class Duplicate(msgspec.Struct, frozen=True):
    """The log has this batch already; ``epoch`` and ``seq`` are the newest it took from the producer."""

    epoch: int
    seq: int


class WaitOut(msgspec.Struct, frozen=True):
    """A settle is under way; decide again at ``until``, or sooner."""

    until: Millis


Decision = Accept | Duplicate | WaitOut


def decide_append(
    tail: Tail,
    *,
    attempt: int | None,
    producer: Producer | None,
    stream_seq: str | None,
    now: Millis,
) -> Decision:
    """The log's word on one append, from its newest header alone.

    Order of the refusals: the fence is missing (InvalidRequest) -> duplicate -> LeaseLost -> RunTerminal ->
    the rest (ProducerFenced, SequenceGap, StreamConflict). Whether the run is running is its row's to say: a
    tail is only remembered while it was, and what ends that takes a slot; but for the end of a lease, whose
    holder may be heard until somebody else claims, which takes one.
    """
    header = tail.header
    if attempt is None and (tail.fenced or header.attempt > 1):
        raise InvalidRequest.at(["header", "Baton-Attempt"], "required: this run has been claimed or resumed")
    named = header.attempt if attempt is None else attempt
    known = _state_of(header.producers, producer, named)
    if producer and known and producer.epoch == known.epoch and producer.seq <= known.seq:
        return Duplicate(known.epoch, known.seq)
    if named != header.attempt:
        raise LeaseLost(f"the run is at attempt {header.attempt}, not {named}")
    if header.closed:
        raise RunTerminal(
            "the run has settled; its log is closed",
            headers={"Stream-Closed": "true", "Stream-Next-Offset": str(tail.offset)},
        )
    if header.closing_until > now:
        return WaitOut(header.closing_until)
    producers = header.producers if producer is None else _advance(header.producers, producer, known, named)
    last = _later(header.stream_seq, stream_seq)
    return Accept(replace(header, closing_until=0, producers=producers, stream_seq=last))


def _state_of(
    states: Iterable[ProducerState], producer: Producer | None, attempt: int
) -> ProducerState | None:
    if producer is None:
        return None
    return next((s for s in states if s.id == producer.id and s.attempt == attempt), None)


def _advance(
    states: tuple[ProducerState, ...], producer: Producer, known: ProducerState | None, attempt: int
) -> tuple[ProducerState, ...]:
    """The states once ``producer``'s batch is in. Refuses stale epochs, gaps and a 17th producer; an earlier
    attempt's state makes room for a new producer."""
    if known is not None and producer.epoch < known.epoch:
        raise ProducerFenced(known.epoch)
    if known is not None and producer.epoch > known.epoch and producer.seq != 0:
        raise InvalidRequest.at(["header", "Producer-Seq"], "a new epoch begins at 0")
    expected = known.seq + 1 if known is not None and producer.epoch == known.epoch else 0
    if producer.seq != expected:
        raise SequenceGap(expected, producer.seq)
    others = [s for s in states if s is not known]
    if known is None and len(others) >= MAX_PRODUCERS:
        oldest = min(others, key=lambda s: s.attempt)
        if oldest.attempt >= attempt:
            raise StreamConflict(f"this log has {MAX_PRODUCERS} producers already, the most it keeps apart")
        others.remove(oldest)
    return (*others, ProducerState(producer.id, attempt, producer.epoch, producer.seq))


def _later(last: str | None, given: str | None) -> str | None:
    """The last ``Stream-Seq`` once ``given`` is in: each is after the one before, byte by byte."""
    if given is None:
        return last
    if last is not None and given.encode() <= last.encode():
        raise StreamConflict(f"Stream-Seq {given!r} is not after the last one, {last!r}")
    return given


def entry(type_: str, data: Any, *, by: str | None = None) -> Entry:
    """An entry from plain values. ``by``: who had it said; an object tells that too, where somebody is
    known."""
    return Entry(type_, msgspec.Raw(canonical(data if by is None else {**data, "by": by})))


_entries = msgspec.json.Decoder(list[Entry])


def pack(entries: list[Entry]) -> bytes:
    """The body of an item that holds ``entries``."""
    return msgspec.json.encode(entries)


def unpack(body: bytes) -> list[Entry]:
    """The entries of an item's body."""
    return _entries.decode(body)
