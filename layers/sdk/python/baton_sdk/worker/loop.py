"""A worker at work: a thread that claims, one for each run, one that announces, and how all of them end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar

from baton_sdk.errors import Fault, TryAgain
from baton_sdk.retry import RetryPolicy
from baton_sdk.run import Run
from baton_sdk.worker.claims import Claims
from baton_sdk.worker.execution import Execution
from baton_sdk.worker.outages import Outages
from baton_sdk.worker.terms import Terms

HEARTBEAT_SECONDS = 15.0
CLAIM_WAIT_SECONDS = 5.0
"""How long a claim waits for runs. A worker that is told to stop waits for the answer: it may hold one."""
IDLE_SECONDS = 1.0
"""Claims that are answered at once with nothing are no closer together than this."""
GRACE_SECONDS = 2.0
"""From the word that a function is to end at its next call to giving back its run without it."""
GIVING_BACK_SECONDS = 3.0
"""How long the last requests may take."""

_ONCE = RetryPolicy(attempts=1)

T = TypeVar("T")


class Begin(Protocol):
    """How a claimed run becomes an execution."""

    def __call__(self, run: Run, *, since: float | None = None) -> Execution: ...


class Stop:
    """Somebody wants the worker to stop."""


class Announced:
    """The service knows of the worker."""


class Ended:
    """A run or the claiming is over."""


class Loop:
    """Works in ``run`` until it is told to stop. What happens elsewhere comes to it as messages: a handler of
    a signal may put one whatever its thread was doing."""

    def __init__(
        self,
        claims: Claims,
        begin: Begin,
        announce: Callable[[], object],
        terms: Terms,
        *,
        concurrency: int,
        drain_seconds: float,
    ) -> None:
        self._claims = claims
        self._begin = begin
        self._announce = announce
        self._terms = terms
        self._outages = Outages(terms.logger)
        self._concurrency = concurrency
        self._drain_seconds = drain_seconds
        self._inbox: SimpleQueue[Stop | Announced | Ended | Exception] = SimpleQueue()
        self._stopping = threading.Event()
        self._changed = threading.Condition()
        self._active: set[Execution] = set()
        self._hurried = False
        self._claimer = threading.Thread(target=self._claim, name="baton-claims", daemon=True)

    def run(self, *, signals: bool) -> None:
        """See ``Worker.run``."""
        with self._signals_taken() if signals else nullcontext():
            threading.Thread(target=self._beat, name="baton-heartbeat", daemon=True).start()
            refusal = self._until_stopped()
            self._drain(refusal)
        if refusal is not None:
            raise refusal

    def stop(self) -> None:
        """End as on a signal."""
        self._inbox.put(Stop())

    def _until_stopped(self) -> Exception | None:
        while True:
            message = self._inbox.get()
            if isinstance(message, Announced):
                self._claimer.start()
            elif isinstance(message, Exception):
                return message
            elif isinstance(message, Stop):
                return None

    @contextmanager
    def _signals_taken(self) -> Iterator[None]:
        # Nothing but a put, which needs no lock that the interrupted thread may hold.
        before = {
            number: signal.signal(number, lambda *_: self._inbox.put(Stop()))
            for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _beat(self) -> None:
        try:
            self._outlast("announced", self._announce)
            self._inbox.put(Announced())
            while not self._terms.clock.wait(self._stopping, HEARTBEAT_SECONDS):
                self._outlast("announced", self._announce)
        except Exception as error:  # noqa: BLE001 - a worker that only half works must end, and say why
            self._inbox.put(error)

    def _claim(self) -> None:
        try:
            while not self._stopping.is_set():
                free = self._free()
                if free:
                    self._claim_once(free)
        except Exception as error:  # noqa: BLE001 - a worker that only half works must end, and say why
            self._inbox.put(error)
        finally:
            self._inbox.put(Ended())

    def _claim_once(self, free: int) -> None:
        claimed = self._outlast("given runs", lambda: self._claims.ask(free, CLAIM_WAIT_SECONDS, _ONCE))
        for run in claimed.runs:
            self._take(self._begin(run, since=claimed.since))
        if not claimed.runs:
            early = claimed.since + IDLE_SECONDS - self._terms.clock.monotonic()
            self._terms.clock.wait(self._stopping, max(early, 0.0))

    def _outlast(self, what: str, request: Callable[[], T]) -> T:
        """The answer of a request, over outages, until the worker stops."""
        retrying = self._terms.patience.retrying(
            lambda error: isinstance(error, TryAgain | Fault),
            listener=partial(self._outages.failed, what),
            stop=self._stopping,
        )
        answer: T = retrying(request)
        self._outages.answered(what)
        return answer

    def _free(self) -> int:
        """How many more runs may begin; waits until there is room, or nothing is to begin any more."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._active) < self._concurrency or self._stopping.is_set())
            return 0 if self._stopping.is_set() else self._concurrency - len(self._active)

    def _take(self, execution: Execution) -> None:
        with self._changed:
            late = self._stopping.is_set()
            if not late:
                self._active.add(execution)
        if late:
            execution.abandon()
            return
        name = f"baton-run-{execution.run.id}"
        threading.Thread(target=self._perform, args=(execution,), name=name, daemon=True).start()

    def _perform(self, execution: Execution) -> None:
        try:
            execution.perform()
        except BaseException:  # the thread's edge: nobody else would tell
            self._terms.logger.exception("run %s could not be performed", execution.run.id)
        finally:
            with self._changed:
                self._active.discard(execution)
                self._changed.notify_all()
            self._inbox.put(Ended())

    def _drain(self, refusal: Exception | None) -> None:
        with self._changed:
            self._stopping.set()
            self._changed.notify_all()
        performing = len(self._performing())
        if performing:
            self._terms.logger.info(
                "stopping%s; under way: %d, with %g s to end; a second signal gives all of it back at once",
                "" if refusal is None else f": {refusal}",
                performing,
                self._drain_seconds,
            )
        if self._ended_within(self._drain_seconds):
            return
        for execution in self._performing():
            execution.drain()
        if self._ended_within(GRACE_SECONDS):
            return
        if not self._hurried:
            # A claim that still waits would get the very runs that are given back now.
            self._joined([self._claimer], CLAIM_WAIT_SECONDS)
        left = [threading.Thread(target=each.abandon, daemon=True) for each in self._performing()]
        for thread in left:
            thread.start()
        # Where it got them all the same, or others, it gives them back in turn.
        self._joined([*left, self._claimer], CLAIM_WAIT_SECONDS + GIVING_BACK_SECONDS)

    def _joined(self, threads: Sequence[threading.Thread], seconds: float) -> None:
        """Wait for their ends, but no longer than that."""
        until = self._terms.clock.monotonic() + seconds
        for thread in threads:
            if thread.is_alive():
                thread.join(max(0.0, until - self._terms.clock.monotonic()))

    def _performing(self) -> list[Execution]:
        with self._changed:
            return list(self._active)

    def _ended_within(self, seconds: float) -> bool:
        """Wait for the end of all runs and of the claiming. False when that takes too long, or somebody is in
        a hurry: then nothing is waited for from now on."""
        until = self._terms.clock.monotonic() + seconds
        while self._performing() or self._claimer.is_alive():
            left = until - self._terms.clock.monotonic()
            if left <= 0 or self._hurried:
                return False
            try:
                self._hurried = isinstance(self._inbox.get(timeout=left), Stop)
            except Empty:
                return False
        return True
