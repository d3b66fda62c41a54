"""The laptop's time: the wall clock, whose sleeper can be woken, as nobody should sleep on for a caller who
is gone; and one that stands still until it is moved."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from baton.bootstrap import SystemClock
from baton.domain.clock import Millis, millis


class Interrupted(BaseException):
    """Whoever waited for this call does no longer: its client is gone, or the stack is stopping.

    Not an Exception: no handler's edge may take it for a fault of its own and answer for it.
    """


class InterruptibleClock(SystemClock):
    """Sleeps like the system's, unless the call it sleeps in is interrupted: then it raises Interrupted."""

    def __init__(self) -> None:
        self._calls = threading.local()

    @contextmanager
    def interruptible(self, by: threading.Event) -> Iterator[None]:
        """This thread works on a call that ``by`` interrupts."""
        self._calls.event = by
        try:
            yield
        finally:
            self._calls.event = None

    def sleep(self, seconds: float) -> None:
        event: threading.Event | None = getattr(self._calls, "event", None)
        if event is None:
            super().sleep(seconds)
        elif event.wait(seconds):
            raise Interrupted


class HandClock:
    """Time that stands still but for ``advance``. Who sleeps moves it, so that nobody waits for good."""

    def __init__(self, at: Millis) -> None:
        self._now = at
        self._lock = threading.Lock()

    def now(self) -> Millis:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let so much time pass at once."""
        with self._lock:
            self._now += millis(seconds)
