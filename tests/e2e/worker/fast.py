"""Time that runs faster than the machine's, the same for a stack and for the workers in other processes."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

from baton_sdk.worker.clock import Clock

FACTOR = 4
"""So many seconds pass in one of the machine's."""


class FastStack:
    """A `baton.domain.clock.Clock`."""

    def now(self) -> int:
        return round(_seconds() * 1000)

    def sleep(self, seconds: float) -> None:
        threading.Event().wait(seconds / FACTOR)


class FastWorker(Clock):
    """The worker's side of it."""

    def now(self) -> datetime:
        return datetime.fromtimestamp(_seconds(), UTC)

    def monotonic(self) -> float:
        return _seconds()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait(max(0.0, seconds) / FACTOR)


def _seconds() -> float:
    # CLOCK_MONOTONIC is the same in every process of the machine.
    return 1_767_225_600 + time.clock_gettime(time.CLOCK_MONOTONIC) * FACTOR
