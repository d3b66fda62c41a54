"""What goes its rounds in a thread of its own: a stream's pump, a queue's poller, the collector."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod


class Carrier(ABC):
    """Goes round after round from ``start`` on, the first after ``first_pause`` seconds, until stopped.

    ``stopping`` is set then, for others to look at; without one it has its own.
    """

    def __init__(
        self, name: str, *, stopping: threading.Event | None = None, first_pause: float = 0.0
    ) -> None:
        self._stopping = stopping or threading.Event()
        self._first_pause = first_pause
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """End with what is under way. False when that took longer than ``timeout`` seconds."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    @abstractmethod
    def round(self) -> int:
        """Go round once, in the caller's thread; how much there was to do."""

    @abstractmethod
    def _turn(self) -> float:
        """One round, and how many seconds to wait for the next."""

    def _run(self) -> None:
        pause = self._first_pause
        while not self._stopping.wait(pause):
            pause = self._turn()
