"""How things stand with a run that this worker has claimed: whether it is still ours, and what has come from
outside that its function should know."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from baton_sdk.errors import Conflict, NotAllowed, NotFound, TryAgain
from baton_sdk.retry import RetryPolicy
from baton_sdk.run import CancelRequest
from baton_sdk.worker.clock import Clock
from baton_sdk.worker.errors import Draining, Lost

NOT_OURS = (Conflict, NotFound, NotAllowed)
"""What refuses whoever drives a run when it is another's, is gone, or their token counts no more."""

T = TypeVar("T")


class Standing:
    """Threads may share it. Whoever notices first that the run is not ours any more calls, once, ``report``
    with the reason, before anybody else knows, and ``stop`` after. By time it is noticed by everyone who
    looks, also when a request hangs."""

    def __init__(
        self, clock: Clock, held_until: float, *, report: Callable[[str], None], stop: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._held_until = held_until
        self._report = report
        self._stop = stop
        self._lock = threading.Lock()
        self._lost: str | None = None
        self._over = False
        self._cancel: CancelRequest | None = None
        self._draining = False
        self.stirred = threading.Event()
        """Set as soon as there is something for which nobody should go on waiting."""

    @property
    def held_until(self) -> float:
        """When the lease ends, by the clock's monotonic time, on the safe side."""
        return self._held_until

    @property
    def lost(self) -> str | None:
        """Why the run is not ours any more, if so."""
        if self._lost is None and not self._over and self._clock.monotonic() >= self._held_until:
            self.lose("the lease ran out before it could be renewed")
        return self._lost

    @property
    def cancel_requested(self) -> CancelRequest | None:
        """Somebody's wish that the run stop."""
        return self._cancel

    @property
    def draining(self) -> bool:
        """Whether the function is to end at its next call."""
        return self._draining

    def hold(self, until: float) -> None:
        """The lease has been renewed. What is lost stays lost."""
        self._held_until = max(self._held_until, until)

    def lose(self, reason: str) -> None:
        """The run is not ours any more; the first reason stands."""
        with self._lock:
            if self._lost is not None or self._over:
                return
            self._report(reason)
            self._lost = reason
        self.stirred.set()
        self._stop()

    def cancel(self, request: CancelRequest) -> None:
        """Somebody wants the run to stop."""
        self._cancel = self._cancel or request
        self.stirred.set()

    def drain(self) -> None:
        """The worker stops: let the function end at its next call."""
        self._draining = True
        self.stirred.set()

    def conclude(self) -> bool:
        """The function is over, and whoever is told True says how, alone; from now on nothing is lost. False
        when it is lost already, or somebody else concludes."""
        if self.lost is not None:
            return False
        with self._lock:
            if self._lost is not None or self._over:
                return False
            self._over = True
        return True

    def check(self) -> None:
        """Raise Lost or Draining if the function should not go on."""
        reason = self.lost
        if reason is not None:
            raise Lost(reason)
        if self._draining:
            raise Draining("the worker stops")

    def pause(self, seconds: float) -> None:
        """Let time pass, or until something stirs."""
        self._clock.wait(self.stirred, seconds)

    def outlast(self, patience: RetryPolicy, request: Callable[[], T]) -> T:
        """The answer of a request that can be repeated, over outages, until something stirs. Raises Lost,
        Draining, and what the patience could not outlast."""
        retrying = patience.retrying(lambda error: isinstance(error, TryAgain), stop=self.stirred)
        try:
            answer: T = retrying(request)
        except TryAgain:
            self.check()
            raise
        return answer
