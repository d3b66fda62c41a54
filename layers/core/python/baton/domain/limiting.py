"""How often a token may ask: so many requests in a window of time, counted in strides."""

from __future__ import annotations

import math
from typing import NamedTuple

from baton.domain.clock import Millis, millis
from baton.errors import TooManyRequests

WINDOW_SECONDS = 10
COUNTS = 50
"""How many times a window is written to, at most, until its limit is reached: what is counted stays cheap
however much is let in, and is exact where that is little."""


class Limit(NamedTuple):
    """``most`` requests a window. One in ``stride`` is counted, for all of them."""

    most: float
    stride: int

    @classmethod
    def of(cls, requests_per_second: float) -> Limit:
        """What lets in so many a second, over a window."""
        most = requests_per_second * WINDOW_SECONDS
        return cls(most, max(1, int(most) // COUNTS))


def window_of(now: Millis) -> Millis:
    """When the window began that ``now`` is in: the same for all whose clocks agree."""
    return now - now % millis(WINDOW_SECONDS)


def end_of(window: Millis) -> Millis:
    """When a window ends, and the next begins."""
    return window + millis(WINDOW_SECONDS)


def too_many(until: Millis, now: Millis) -> TooManyRequests:
    """The refusal of a request that comes at ``now`` where none is let in before ``until``."""
    return TooManyRequests(
        "this token asks too often", retry_after=max(1, math.ceil((until - now) / millis(1)))
    )
