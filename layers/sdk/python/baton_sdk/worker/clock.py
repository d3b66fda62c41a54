"""Where a worker gets the time and spends it: the machine's, unless another is handed in."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime


class Clock:
    """The machine's clock. For one that is driven by hand, override all three."""

    def now(self) -> datetime:
        """The wall clock, aware."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds from any zero, which never go back: what leases are measured by."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Let ``seconds`` pass, unless ``event`` is set before: whether it is."""
        return event.wait(seconds)
