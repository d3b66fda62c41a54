"""What a workflow's function gets: the calls that make it durable."""

from __future__ import annotations

import logging
import re
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from baton_sdk.client import Client
from baton_sdk.errors import IdempotencyMismatch, InvalidRequest
from baton_sdk.retry import RetryPolicy
from baton_sdk.run import Run
from baton_sdk.worker import journal
from baton_sdk.worker.clock import Clock
from baton_sdk.worker.errors import (
    Cancelled,
    CodeChanged,
    ContextEnded,
    Continuing,
    Draining,
    InvalidResult,
    Lost,
    Misuse,
    RetryableError,
    Suspending,
    TerminalError,
    Wait,
)
from baton_sdk.worker.names import EVENT
from baton_sdk.worker.recorder import Call, Recorder, as_json
from baton_sdk.worker.run_log import run_logger
from baton_sdk.worker.standing import Standing
from baton_sdk.worker.tracing import step_span
from baton_sdk.writer import Writer

IN_PROCESS_SECONDS = 1.0
"""A sleep as short as this is waited out: to suspend the run and claim it again takes about as long."""

_NAMESPACE = uuid.UUID("5b1f1a3e-6d0c-4b0e-9b39-3a7f0a5d4c21")


class Context:
    """One attempt of one run, for the function that performs it.

    Each of ``step``, ``sleep``, ``sleep_until``, ``wait_for_run``, ``wait_for_event``, ``start``, ``now`` and
    ``uuid`` takes the next position in the order of the function's calls, and is recorded in the run's log
    before it returns. An attempt that begins anew calls the function from its top; what is recorded is
    answered from the log and not done again. So between these calls the function must do the same each time:
    anything that may differ (time, chance, the network, the disk) belongs into a step.

    A step that fails ends the attempt, and is tried again in the next. But a function that goes on in spite
    of it, to another of these calls in its ``except`` or ``finally``, has taken note of the failure: that is
    recorded, and made again each time.

    They are for the function's own thread; ``emit``, ``log`` and ``cancelled`` are for any. Every call may
    leave the function with an exception that is no Exception, when the run waits, is lost to another worker
    or its worker stops: let it pass. Once the function is over, every call raises ContextEnded.
    """

    def __init__(
        self,
        run: Run,
        *,
        client: Client,
        writer: Writer,
        recorder: Recorder,
        standing: Standing,
        patience: RetryPolicy,
        clock: Clock,
        logger: logging.Logger,
    ) -> None:
        self.run = run
        self._client = client
        self._writer = writer
        self._recorder = recorder
        self._standing = standing
        self._patience = patience
        self._clock = clock
        self._thread = threading.get_ident()
        self._ended = False
        self._log = run_logger(run.id, logger, self.emit, lambda: recorder.replaying)

    @property
    def attempt(self) -> int:
        """The number of this attempt."""
        return self.run.attempt

    @property
    def input(self) -> Any:
        """The run's input, as JSON gave it."""
        return self.run.input

    @property
    def log(self) -> logging.Logger:
        """A logger that writes into the run's log, from INFO on, and passes on to the worker's own."""
        return self._log

    @property
    def cancelled(self) -> bool:
        """Whether the function should stop: somebody wants that, or the run is not ours any more.

        When a run is cancelled and then resumed, what its function did knowing of it is done anew.
        """
        return self._standing.lost is not None or self._heeds()

    def raise_if_cancelled(self) -> None:
        """Raise Cancelled if somebody wants the run to stop. Let through, it settles the run cancelled."""
        self._check()
        if self._heeds():
            raise Cancelled(self._why())

    def emit(self, type: str, data: Any = None) -> None:
        """Write an entry into the run's log, soon, and before anything that is recorded later. Nothing while
        the function is replayed: it is in the log already. InvalidRequest for what the log would not take."""
        self._check()
        if type == journal.CHECKPOINT:
            raise InvalidRequest(f"{type!r} is the worker's own: name your entries otherwise")
        if self._recorder.replaying:
            return
        with self._recorder.sending():
            self._writer.emit(type, data)

    def step(
        self, name: str, fn: Callable[..., Any], /, *args: Any, retries: int | RetryPolicy = 0, **kwargs: Any
    ) -> Any:
        """Call ``fn`` and keep what it returns, which is JSON: once it is recorded it is never called again.

        Returned is the result as JSON has it, the same the first time and replayed. ``retries``: how often an
        Exception of it is tried again here and now, which TerminalError and RetryableError are not. If the
        worker dies between the call and the record, the next attempt calls it again. Raises what ``fn``
        raises, and InvalidResult.
        """
        if not isinstance(name, str):
            raise Misuse('a step has a name: ctx.step("name", function, …)')
        if not callable(fn):
            got = type(fn).__name__
            raise Misuse(f"a step is a function and its arguments: ctx.step({name!r}, fn, *args); got {got}")
        with self._call(journal.STEP, name) as call:
            if call.record is not None:
                return call.record.data.get("result")
            with step_span(name, call.position):
                result = self._tried(lambda: fn(*args, **kwargs), retries)
            return call.keep(result=result)["result"]

    def now(self) -> datetime:
        """The time, the same in each attempt."""
        with self._call(journal.NOW) as call:
            data = call.record.data if call.record is not None else call.keep(at=_spelled(self._clock.now()))
            return datetime.fromisoformat(data["at"])

    def uuid(self) -> uuid.UUID:
        """A unique id, the same in each attempt. Not a secret: it is made of the run's id."""
        with self._call(journal.UUID) as call:
            return uuid.uuid5(_NAMESPACE, self._mark(call))

    def sleep(self, seconds: float | timedelta) -> None:
        """Go on after ``seconds``; meanwhile the run is suspended and holds no worker."""
        duration = seconds if isinstance(seconds, timedelta) else timedelta(seconds=seconds)
        self._sleep(lambda: self._clock.now() + duration)

    def sleep_until(self, until: datetime) -> None:
        """Go on at that time, which is aware."""
        if until.tzinfo is None:
            raise Misuse(f"{until.isoformat()} has no time zone: when is that?")
        self._sleep(lambda: until)

    def wait_for_run(self, run_id: str) -> Run:
        """The run once it has settled, or the one that it was continued as, without its input. NotFound where
        there is none."""
        with self._call(journal.WAIT_FOR_RUN, run_id) as call:
            record = call.record
            came_to = {} if record is None else {**(record.woken or {}), **record.data}
            if "run" in came_to:
                return Run.from_json(came_to["run"])
            if "run_id" in came_to:
                return self._settled(call, self._get(came_to["run_id"]))
            if record is None:
                if run_id == self.run.id:
                    raise Misuse("a run can't wait for itself")
                found = self._get(run_id)
                if found.terminal and found.continued_as is None:
                    return self._settled(call, found)
            raise self._waiting(call, Wait(position=call.position, run=run_id))

    def wait_for_event(self, name: str) -> Any:
        """The payload of the next event of this name that is published once the run waits, or that was kept
        for it."""
        with self._call(journal.WAIT_FOR_EVENT, name) as call:
            if call.record is not None and call.record.woken is not None:
                return call.record.woken.get("payload")
            if not re.fullmatch(EVENT, name):
                raise Misuse(f"{name!r} is not an event's name: {EVENT}")
            raise self._waiting(call, Wait(position=call.position, event=name))

    def start(
        self,
        workflow: str,
        *,
        input: Any = None,
        context_ref: str | None = None,
        agent_id: str | None = None,
        tags: Sequence[str] = (),
        mode: str = "queued",
        inactivity_timeout_seconds: float | None = None,
        max_attempts: int | None = None,
        available_at: datetime | str | None = None,
        priority: int | None = None,
    ) -> str:
        """Start a run of another workflow, once however often this is replayed, and return its id. It goes on
        by itself: ``wait_for_run`` waits for it."""
        with self._call(journal.START, workflow) as call:
            if call.record is not None:
                return str(call.record.data["run_id"])
            try:
                started = self._standing.outlast(
                    self._patience,
                    lambda: self._client.start(
                        workflow,
                        input=input,
                        context_ref=context_ref,
                        agent_id=agent_id,
                        tags=tags,
                        mode=mode,
                        inactivity_timeout_seconds=inactivity_timeout_seconds,
                        max_attempts=max_attempts,
                        available_at=available_at,
                        priority=priority,
                        idempotency_key=f"child:{self._mark(call)}",
                        traceparent=self.run.traceparent,
                    ),
                )
            except IdempotencyMismatch as error:
                raise CodeChanged(
                    f"the code has changed: at position {call.position} {call.spoken} was asked before with "
                    f"something else"
                ) from error
            return str(call.keep(run_id=started.run.id)["run_id"])

    def continue_as_new(self, input: Any = None) -> NoReturn:
        """End the run completed and go on as a new one of the same workflow, with this input and an empty
        log."""
        self._check_thread("continue_as_new")
        self._check()
        self._recorder.check_outside("continue_as_new")
        self._recorder.ended()
        self._recorder.leave(Continuing(as_json(input, "the input to continue with")))

    def end(self) -> None:
        """The attempt is over."""
        self._ended = True

    def _call(self, kind: str, name: str | None = None) -> AbstractContextManager[Call]:
        self._check_thread(kind)
        self._check()
        return self._recorder.call(kind, name)

    def _check_thread(self, kind: str) -> None:
        if threading.get_ident() != self._thread:
            raise Misuse(f"{kind} is for the function's own thread: its calls have an order")

    def _check(self) -> None:
        own = threading.get_ident() == self._thread
        if self._ended and not (own and self._standing.draining):
            raise ContextEnded(f"attempt {self.attempt} of run {self.run.id} is over")
        try:
            self._standing.check()
        except (Lost, Draining) as told:
            if own:
                self._recorder.leave(told)
            raise ContextEnded(str(told)) from None

    def _mark(self, call: Call) -> str:
        """What names a call in every attempt of this run, and in no other run."""
        created_at = self.run.raw.get("created_at")
        return f"{self.run.id}:{created_at}:{call.position}"

    def _heeds(self) -> bool:
        # While it is replayed a function knows no more than it knew then, or it would go another way.
        heeds = self._standing.cancel_requested is not None and not self._recorder.replaying
        self._recorder.heeding = self._recorder.heeding or heeds
        return heeds

    def _why(self) -> str:
        request = self._standing.cancel_requested
        return (request.reason if request is not None else None) or "the run is to be cancelled"

    def _tried(self, call: Callable[[], Any], retries: int | RetryPolicy) -> Any:
        if retries == 0:
            return call()
        policy = (
            retries
            if isinstance(retries, RetryPolicy)
            else RetryPolicy(attempts=retries + 1, patience_seconds=None)
        )
        policy = replace(policy, sleep=policy.sleep or self._standing.pause)
        try:
            return policy.retrying(_worth_another_try, stop=self._standing.stirred)(call)
        except Exception as error:
            if _worth_another_try(error):
                self._standing.check()  # it may be that which ended the tries
            raise

    def _get(self, run_id: str) -> Run:
        return self._standing.outlast(self._patience, lambda: self._client.get(run_id)).run

    def _settled(self, call: Call, run: Run) -> Run:
        """Record the run as it is: it may be resumed or deleted before this is replayed."""
        document: Mapping[str, Any] = {**run.raw, "input": None}
        try:
            call.keep(run=document)
        except InvalidResult:  # as large as an entry may be: a replay asks for it again
            if call.record is None:
                call.keep(run_id=run.id)
        return Run.from_json(document)

    def _sleep(self, until: Callable[[], datetime]) -> None:
        with self._call(journal.SLEEP) as call:
            record = call.record
            if record is not None and (record.woken is not None or self._recorder.replaying):
                return
            self._heed()
            data = record.data if record is not None else call.keep(until=_spelled(until()))
            wake_at = datetime.fromisoformat(data["until"])
            left = (wake_at - self._clock.now()).total_seconds()
            if left > IN_PROCESS_SECONDS:
                raise Suspending(Wait(position=call.position, until=wake_at))
            if left > 0:
                self._standing.pause(left)
                self._standing.check()
                self._heed()

    def _waiting(self, call: Call, wait: Wait) -> Suspending:
        """What the function is left with, once the log has it that it waits here."""
        self._heed()
        if call.record is None:
            call.keep()
        return Suspending(wait)

    def _heed(self) -> None:
        """A run that is to be cancelled does not begin to wait."""
        if self._heeds():
            raise Cancelled(self._why())


def _worth_another_try(error: BaseException) -> bool:
    final = (TerminalError, RetryableError, Cancelled, ContextEnded)
    return isinstance(error, Exception) and not isinstance(error, final)


def _spelled(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
