"""Coalescing: whether an input joins its subscriber's open window, and when a window becomes one run."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from baton.domain.catalog import Batch, BatchMode
from baton.domain.clock import Millis, millis
from baton.domain.names import id_from_window
from baton.domain.payload import KB, MAX_HANDOFF_INPUT, check_size, digest
from baton.domain.run import TriggeredBy
from baton.domain.starting import HandOff

MAX_WINDOW = 200 * KB
"""Payloads of one batch. One input alone may be larger."""


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """An open window: the header of what one subscriber is to get at once.

    ``fires_at`` is when it is over as things stand, ``latest_at`` when it is whatever else comes. ``due_at``
    is a lower bound of it, at which the sweep looks: each write of an index costs, so a join leaves it alone
    unless it must become earlier. ``bytes`` are those of the payloads kept. ``triggered_by`` and what follows
    it are the last member's; ``depth`` is the deepest one's, so that a circle through a window ends too.
    """

    namespace: str
    subscriber: str
    key_mark: str
    id: str
    rev: str
    mode: BatchMode
    count: int
    bytes: int
    opened_at: Millis
    last_at: Millis
    fires_at: Millis
    latest_at: Millis
    due_at: Millis
    depth: int
    triggered_by: TriggeredBy | None = None
    traceparent: str | None = None
    inactivity_timeout_seconds: float | None = None
    max_attempts: int | None = None
    pushed: bool = False

    @property
    def run_id(self) -> str:
        """The id of the run that it becomes."""
        return id_from_window(self.namespace, self.id)

    @property
    def kept(self) -> int:
        """How many payloads are kept: of a debounced one only the last."""
        return self.count if self.mode is BatchMode.BATCH else 1

    def remembered_until(self, retention_seconds: float) -> Millis:
        """How long it must be known which events joined it: as long as a run may owe one, at least."""
        return max(self.latest_at, self.last_at) + millis(retention_seconds)


class Join(msgspec.Struct, frozen=True):
    """The input is taken: the header that says so, and the place of its payload."""

    window: Window
    place: int
    full: bool
    """Nothing more fits: it is to be fired now."""


class FireFirst(msgspec.Struct, frozen=True):
    """The open window is over for this input: it must be fired before the input can open the next one."""


class Fire(msgspec.Struct, frozen=True):
    """The window is over."""


class PutOff(msgspec.Struct, frozen=True):
    """The window goes on: the header with the due time that is true now."""

    window: Window


def key_mark(key: bytes | None) -> str:
    """What tells the windows of one key from those of another. ``key`` is what the batch's key gave for an
    input, as canonical JSON, which is never empty; None: the batch has no key."""
    return digest(key or b"")


def check_alone(wish: HandOff, batch: Batch) -> None:
    """Raise PayloadTooLarge when an input could not be a run's even alone in its window."""
    check_size("input", len(_gathered(batch.mode, [wish.input])), MAX_HANDOFF_INPUT)


def decide_join(
    window: Window | None,
    wish: HandOff,
    batch: Batch,
    *,
    mark: str,
    now: Millis,
    window_id: str,
    rev: str,
) -> Join | FireFirst:
    """Whether an input joins ``window``, or with none opens one under ``window_id``. ``wish`` is the run that
    it would have of its own, ``mark`` that of its key.

    What is over lets nobody in, though no sweep has come yet: else a subscriber whose inputs never pause
    could wait for its run beyond any limit.
    """
    if window is None:
        window = _opened(wish, batch, mark, now, window_id)
    elif window.mode is not batch.mode or window.fires_at <= now or not _fits(window, wish, batch):
        return FireFirst()
    size, batching = len(wish.input), batch.mode is BatchMode.BATCH
    joined = replace(
        window,
        rev=rev,
        count=window.count + 1,
        bytes=window.bytes + size if batching else size,
        last_at=max(window.last_at, now),
        depth=max(window.depth, wish.depth),
        triggered_by=wish.triggered_by,
        traceparent=wish.traceparent,
        inactivity_timeout_seconds=wish.inactivity_timeout_seconds,
        max_attempts=wish.max_attempts,
        pushed=wish.pushed,
    )
    full = _full(joined, batch)
    fires_at = now if full else _fires_at(joined, batch)
    joined = replace(joined, fires_at=fires_at, due_at=min(window.due_at, fires_at))
    return Join(joined, place=window.count if batching else 0, full=full)


def decide_fire(window: Window, *, now: Millis, rev: str) -> Fire | PutOff | None:
    """What is to be done with a window that the due index named; None when it is not due any more."""
    if window.due_at > now:
        return None
    if window.fires_at <= now:
        return Fire()
    return PutOff(replace(window, rev=rev, due_at=window.fires_at))


def hand_off(window: Window, payloads: Sequence[bytes]) -> HandOff:
    """The run that a window becomes. ``payloads`` are those kept, in order of arrival."""
    return HandOff(
        namespace=window.namespace,
        workflow=window.subscriber,
        run_id=window.run_id,
        input=_gathered(window.mode, payloads),
        triggered_by=window.triggered_by,
        depth=window.depth,
        traceparent=window.traceparent,
        inactivity_timeout_seconds=window.inactivity_timeout_seconds,
        max_attempts=window.max_attempts,
        pushed=window.pushed,
    )


def _opened(wish: HandOff, batch: Batch, mark: str, now: Millis, window_id: str) -> Window:
    """A window that nobody has joined yet."""
    latest_at = now + millis(batch.settled().max_wait_seconds)
    return Window(
        namespace=wish.namespace,
        subscriber=wish.workflow,
        key_mark=mark,
        id=window_id,
        rev="",
        mode=batch.mode,
        count=0,
        bytes=0,
        opened_at=now,
        last_at=now,
        fires_at=latest_at,
        latest_at=latest_at,
        due_at=latest_at,
        depth=wish.depth,
    )


def _fires_at(window: Window, batch: Batch) -> Millis:
    """The end of a window that is not full, by the settings of the input that joined it last."""
    counted_from = window.opened_at if window.mode is BatchMode.BATCH else window.last_at
    return min(counted_from + millis(batch.window_seconds), window.latest_at)


def _fits(window: Window, wish: HandOff, batch: Batch) -> bool:
    if window.mode is not BatchMode.BATCH:
        return True
    return window.count < batch.max_size and window.bytes + len(wish.input) <= MAX_WINDOW


def _full(window: Window, batch: Batch) -> bool:
    if window.mode is not BatchMode.BATCH:
        return False
    return window.count >= batch.max_size or window.bytes >= MAX_WINDOW


def _gathered(mode: BatchMode, payloads: Sequence[bytes]) -> bytes:
    """The run's input, canonical as its parts are."""
    if mode is BatchMode.DEBOUNCE:
        return payloads[-1]
    return b'{"events":[' + b",".join(payloads) + b"]}"
