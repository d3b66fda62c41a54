"""What ``exec`` says on stderr beside the command's own output: little, and never twice in a row."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

OUTAGE_EVERY_SECONDS = 30.0


class Notices:
    """Lines beginning ``baton:``; safe to use from every thread."""

    def __init__(self, *, quiet: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._clock = clock
        self._lock = threading.Lock()
        self._outage_at: float | None = None

    def say(self, text: str) -> None:
        """Something about the run; not when quiet."""
        if not self._quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Something that must be known."""
        sys.stderr.write(f"baton: {text}\n")
        sys.stderr.flush()

    def outage(self, error: BaseException, _seconds: float) -> None:
        """A request failed and will be repeated."""
        with self._lock:
            now = self._clock()
            if self._outage_at is not None and now - self._outage_at < OUTAGE_EVERY_SECONDS:
                return
            self._outage_at = now
        self.say(f"{error}; the output is kept, trying again")
