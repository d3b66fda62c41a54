"""The one word for time: epoch milliseconds, handed in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

Millis = int


class Clock(Protocol):
    """Where services get the time and spend it. Tests drive one by hand."""

    def now(self) -> Millis:
        """The wall clock, in epoch milliseconds."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` pass."""
        ...


def millis(seconds: float) -> Millis:
    """A duration in whole milliseconds."""
    return round(seconds * 1000)


def recent(at: Millis | None, now: Millis, lasts: Millis) -> bool:
    """Whether what was seen ``at`` (None: never) may still be gone by: it is younger than ``lasts``, and not
    of a time to come. A clock that is set back would else keep it for as long as it was set back."""
    return at is not None and 0 <= now - at < lasts


def rfc3339(at: Millis) -> str:
    """A time as answers spell it: UTC with milliseconds."""
    seconds, rest = divmod(at, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"
