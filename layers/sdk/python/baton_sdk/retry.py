"""When and how long a request is repeated: exponential backoff with full jitter, bounded by tries and by
time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import tenacity

from baton_sdk.errors import TryAgain

LONGEST_RETRY_AFTER = 60.0
"""A server's ``Retry-After`` is honoured up to this many seconds: a wrong one must not park a client for a
day."""

Listener = Callable[[BaseException, float], None]
"""Told of each failure that will be repeated, and after how many seconds."""


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Bounds of one operation's repeats. ``attempts`` or ``patience_seconds`` (from the first failure)
    None means without that bound.

    ``give_up`` is asked after each failure: True ends the repeats, too.
    ``sleep`` and ``clock`` (seconds, any zero) are there to be handed in by tests; by default the machine's.
    """

    attempts: int | None = 6
    patience_seconds: float | None = 30.0
    first_wait_seconds: float = 0.2
    longest_wait_seconds: float = 10.0
    give_up: Callable[[], bool] | None = None
    sleep: Callable[[float], None] | None = None
    clock: Callable[[], float] = time.monotonic

    def retrying(
        self,
        worth_repeating: Callable[[BaseException], bool],
        *,
        listener: Listener | None = None,
        stop: threading.Event | None = None,
    ) -> tenacity.Retrying:
        """A caller of functions under this policy; the last error is raised as it was. ``stop`` ends the
        waiting."""
        sleep = self.sleep or (tenacity.sleep_using_event(stop) if stop is not None else time.sleep)
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(worth_repeating),
            wait=self._wait(),
            stop=self._stop(stop),
            sleep=sleep,
            before_sleep=None if listener is None else _tell(listener),
            reraise=True,
        )

    def pause(self, seconds: float) -> None:
        """Wait once, outside any failure."""
        (self.sleep or time.sleep)(seconds)

    def _wait(self) -> Callable[[tenacity.RetryCallState], float]:
        backoff = tenacity.wait_random_exponential(
            multiplier=self.first_wait_seconds, max=self.longest_wait_seconds
        )

        def wait(state: tenacity.RetryCallState) -> float:
            error = _error(state)
            asked = error.retry_after if isinstance(error, TryAgain) else None
            return max(backoff(state), min(asked or 0.0, LONGEST_RETRY_AFTER))

        return wait

    def _stop(self, event: threading.Event | None) -> Callable[[tenacity.RetryCallState], bool]:
        failed_first: float | None = None

        def stop(state: tenacity.RetryCallState) -> bool:
            # Asked after a failure only: an idle hour that ends in one has used up none of the patience.
            nonlocal failed_first
            failed_first = self.clock() if failed_first is None else failed_first
            if (event is not None and event.is_set()) or (self.give_up is not None and self.give_up()):
                return True
            if self.attempts is not None and state.attempt_number >= self.attempts:
                return True
            if self.patience_seconds is None:
                return False
            return self.clock() - failed_first + state.upcoming_sleep > self.patience_seconds

        return stop


DEFAULT = RetryPolicy()
PATIENT = RetryPolicy(attempts=None, patience_seconds=600.0)
"""For what must survive an outage: following a log, writing one, settling a run."""
FOREVER = RetryPolicy(attempts=None, patience_seconds=None)


def _error(state: tenacity.RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None


def _tell(listener: Listener) -> Callable[[tenacity.RetryCallState], None]:
    def before_sleep(state: tenacity.RetryCallState) -> None:
        error = _error(state)
        if error is not None:
            listener(error, state.upcoming_sleep)

    return before_sleep
