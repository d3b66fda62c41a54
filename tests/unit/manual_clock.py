"""Time that a test moves by hand."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

MIDNIGHT = 1_767_225_600_000
"""2026-01-01T00:00:00.000Z: where every test's time begins."""


class ManualClock:
    """A ``baton.domain.clock.Clock`` that stands still but for ``advance`` and ``sleep``; what was planned
    happens on the way, at its own time."""

    def __init__(self, at: int = MIDNIGHT) -> None:
        self._now = at
        self._order = count()
        self._agenda: list[tuple[int, int, Callable[[], object]]] = []
        self.slept: list[float] = []

    def now(self) -> int:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass, and what was planned for it happen."""
        target = self._now + round(seconds * 1000)
        while self._agenda and self._agenda[0][0] <= target:
            self._now, _, action = heapq.heappop(self._agenda)
            action()
        self._now = max(self._now, target)

    def set_back(self, seconds: float) -> None:
        """Show an earlier time, as a clock does that was wrong."""
        self._now -= round(seconds * 1000)

    def plan(self, in_seconds: float, action: Callable[[], object]) -> None:
        """Have ``action`` happen once the time has come."""
        heapq.heappush(self._agenda, (self._now + round(in_seconds * 1000), next(self._order), action))
