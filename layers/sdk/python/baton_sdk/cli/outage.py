"""Tells of an outage once, not at each of the many tries that outlast it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

EVERY_SECONDS = 30.0


class Outage:
    """A listener of retries that ``say``s the first failure, and then one each half minute. For any
    thread."""

    def __init__(
        self, say: Callable[[str], None], then: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say = say
        self._then = then
        self._clock = clock
        self._lock = threading.Lock()
        self._said_at: float | None = None

    def __call__(self, error: BaseException, _seconds: float) -> None:
        """A request failed and will be repeated."""
        with self._lock:
            now = self._clock()
            if self._said_at is not None and now - self._said_at < EVERY_SECONDS:
                return
            self._said_at = now
        self._say(f"{error}; {self._then}")
