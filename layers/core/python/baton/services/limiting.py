"""How often tokens ask, counted across containers, about."""

from __future__ import annotations

from baton.bounded import Bounded
from baton.domain.clock import Millis
from baton.domain.limiting import Limit, end_of, too_many, window_of
from baton.errors import TryAgain
from baton.observability import logger
from baton.services.context import Context

MAX_REMEMBERED = 10_000
"""Tokens, of each of the two things that are remembered of them."""


class Limiter:
    """Where requests are counted, and refused when they are too many."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._limit = Limit.of(context.settings.token_requests_per_second)
        self._uncounted = Bounded[str, int](MAX_REMEMBERED)
        """How many more requests of a token the last count stands for."""
        self._over = Bounded[str, Millis](MAX_REMEMBERED)
        """The last window that a count has said to be full, of a token. Not until when it is refused: a clock
        that is set back must not refuse for hours."""

    def let_in(self, token_id: str) -> None:
        """Count a request of a token. Raises TooManyRequests where its window is full: at once when this
        container knows, else with the next request that it counts.

        What can't be counted is let in: a store that is busy is told by what needs it.
        """
        limit, now = self._limit, self._context.clock.now()
        if not limit.most:
            return
        window = window_of(now)
        if self._over.get(token_id) == window:
            raise too_many(end_of(window), now)
        if not self._is_counted(token_id):
            return
        try:
            requests = self._context.limits.count(token_id, window, limit.stride)
        except TryAgain as error:
            logger.warning("a request could not be counted", reason=error.detail)
            return
        if requests > limit.most:
            self._over[token_id] = window
            raise too_many(end_of(window), now)

    def _is_counted(self, token_id: str) -> bool:
        """Whether it is this request that is counted for its stride. A container's first stride begins
        anywhere, so that containers of few requests count as much in the mean as those of many."""
        stride = self._limit.stride
        left = self._uncounted.get(token_id)
        if left is None:
            left = int(self._context.jitter() * stride)
        self._uncounted[token_id] = left - 1 if left else stride - 1
        return left == 0
