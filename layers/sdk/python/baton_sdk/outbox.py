"""The bounded buffer between many threads that emit events and the one that sends them, and when a batch is
due."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from baton_sdk.errors import BatonError
from baton_sdk.payload import KB, MAX_BYTES

NOTICE_SECONDS = 0.5
"""How long a signal may go unnoticed by someone who waits."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When a batch goes out (full, or its first event ``linger_seconds`` old) and how much may wait
    unsent."""

    max_batch_bytes: int = MAX_BYTES
    max_batch_events: int = 500
    linger_seconds: float = 0.15
    max_buffer_bytes: int = 8 * KB * KB
    max_buffer_events: int = 10_000


@dataclass(frozen=True)
class Entry:
    """An encoded event; ``size`` is the canonical bytes of its data, which is what the limits count."""

    body: bytes
    size: int


class Closed(Exception):
    """The outbox takes nothing any more."""


class Outbox:
    """First in, first out. An entry leaves only by ``acknowledge``, so a batch that failed is still there."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._changed = threading.Condition()
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self._put = 0
        self._acknowledged = 0
        self._oldest_at = 0.0
        self._urgent_until = 0
        self._closing = False
        self._failure: BatonError | None = None

    @property
    def failure(self) -> BatonError | None:
        """Why nothing more is sent, if so."""
        return self._failure

    def put(self, entry: Entry) -> None:
        """Queue an entry; blocks while the buffer is full. Raises the failure, or Closed."""
        with self._changed:
            self._wait_for(lambda: self._has_room(entry) or self._failure is not None or self._closing)
            if self._failure is not None:
                raise self._failure
            if self._closing:
                raise Closed
            if not self._entries:
                self._oldest_at = self._clock()
            self._entries.append(entry)
            self._bytes += entry.size
            self._put += 1
            self._changed.notify_all()

    def take(self) -> tuple[Entry, ...]:
        """The next batch once it is due; empty when closed and drained, or failed. The entries stay
        queued."""
        with self._changed:
            while True:
                if self._failure is not None or (self._closing and not self._entries):
                    return ()
                left = self._due_in()
                if left is not None and left <= 0:
                    return self._batch()
                self._changed.wait(left)

    def acknowledge(self, count: int) -> None:
        """The oldest ``count`` entries are in the log."""
        with self._changed:
            for _ in range(count):
                self._bytes -= self._entries.popleft().size
            self._acknowledged += count
            # What is left came while the batch was under way: its linger starts now, not when it was put.
            self._oldest_at = self._clock()
            self._changed.notify_all()

    def fail(self, error: BatonError) -> None:
        """Stop: everyone who waits or comes later gets ``error``. The first failure stands."""
        with self._changed:
            self._failure = self._failure or error
            self._changed.notify_all()

    def flush(self) -> None:
        """Block until everything put so far is acknowledged. Raises the failure."""
        with self._changed:
            goal = self._urgent_until = self._put
            self._changed.notify_all()
            self._wait_for(lambda: self._acknowledged >= goal or self._failure is not None)
            if self._acknowledged < goal and self._failure is not None:
                raise self._failure

    def close(self) -> None:
        """Take nothing any more; what is queued is still due, now."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def _wait_for(self, holds: Callable[[], bool]) -> None:
        # Again and again: a signal that comes as a wait without end begins is noticed by nobody, and a
        # person's Ctrl-C would be lost.
        while not self._changed.wait_for(holds, NOTICE_SECONDS):
            pass

    def _has_room(self, entry: Entry) -> bool:
        if not self._entries:
            return True  # one entry always fits, or a small buffer could never take it
        fits = self._bytes + entry.size <= self._limits.max_buffer_bytes
        return fits and len(self._entries) < self._limits.max_buffer_events

    def _due_in(self) -> float | None:
        # None: nothing to send; 0 or less: now.
        if not self._entries:
            return None
        limits = self._limits
        full = len(self._entries) >= limits.max_batch_events or self._bytes >= limits.max_batch_bytes
        blocked = len(self._entries) >= limits.max_buffer_events or self._bytes >= limits.max_buffer_bytes
        if full or blocked or self._closing or self._urgent_until > self._acknowledged:
            return 0.0
        return self._oldest_at + limits.linger_seconds - self._clock()

    def _batch(self) -> tuple[Entry, ...]:
        batch: list[Entry] = []
        size = 0
        for entry in self._entries:
            size += entry.size
            if batch and (size > self._limits.max_batch_bytes or len(batch) >= self._limits.max_batch_events):
                break
            batch.append(entry)
        return tuple(batch)
