"""Time driven by hand: a sleeper makes it pass, and nobody waits."""

from __future__ import annotations

from threading import Lock

from baton.domain.clock import Millis, millis

BEGINNING: Millis = 1_800_000_000_000


class ManualClock:
    """A clock that stands still between two calls of `advance` or `sleep`."""

    def __init__(self, at: Millis = BEGINNING) -> None:
        self._at = at
        self._lock = Lock()

    def now(self) -> Millis:
        return self._at

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._at += millis(seconds)


class Skewed:
    """The same time as another clock's, read off a clock that is wrong by `seconds`."""

    def __init__(self, clock: ManualClock, seconds: float) -> None:
        self._clock = clock
        self._off = millis(seconds)

    def now(self) -> Millis:
        return self._clock.now() + self._off

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)
