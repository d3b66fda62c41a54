"""The requests under way, and how to end them when the stack stops."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class InFlight:
    """Each request under way has an event that, once set, tells its thread to stop working for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[threading.Event, bool] = {}
        self._draining = False

    @contextmanager
    def call(self, *, ends_at_drain: bool) -> Iterator[threading.Event]:
        """A request while it is served. One that would go on and on is ended as soon as the stack drains."""
        gone = threading.Event()
        with self._lock:
            self._calls[gone] = ends_at_drain
            if self._draining and ends_at_drain:
                gone.set()
        try:
            yield gone
        finally:
            with self._lock:
                del self._calls[gone]

    def drain(self) -> None:
        """End what would go on and on."""
        with self._lock:
            self._draining = True
            for gone, ends in self._calls.items():
                if ends:
                    gone.set()

    def interrupt(self) -> int:
        """Wake also those that wait for something to happen; how many requests are still under way."""
        with self._lock:
            for gone in self._calls:
                gone.set()
            return len(self._calls)
