"""A worker's time in a test: the stack's, which stands still until somebody moves it."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Protocol

from baton_sdk.worker.clock import Clock

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Hand(Protocol):
    """The stack's clock."""

    def now(self) -> int:
        """Epoch milliseconds."""
        ...

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        ...


class WorkerClock(Clock):
    """The thread that made it is the test's, in which functions run: where that waits, time passes at once.
    Threads beside it wait for what they wait for, however long that takes by the clock."""

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._thread = threading.get_ident()

    def now(self) -> datetime:
        return _EPOCH + timedelta(milliseconds=self._hand.now())

    def monotonic(self) -> float:
        return self._hand.now() / 1000

    def wait(self, event: threading.Event, seconds: float) -> bool:
        if threading.get_ident() != self._thread:
            return event.wait()
        if not event.is_set():
            self._hand.advance(max(0.0, seconds))
        return event.is_set()
