"""A worker inside a Lambda function: each invocation is told of runs, claims them and performs them.

What comes in is a hint and no more: that it may be worth while to claim that run. Which service is asked, and
as whom, is the function's own configuration.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from baton_sdk.errors import InFlight, NotFound, RunTerminal
from baton_sdk.run import Run
from baton_sdk.worker.clock import Clock
from baton_sdk.worker.execution import Execution
from baton_sdk.worker.outcome import outcome

if TYPE_CHECKING:
    from baton_sdk.worker.worker import Worker

TOLD_BEFORE_END_SECONDS = 10.0
"""So long before its invocation ends a function is told to end at its next call."""
GIVEN_BACK_BEFORE_END_SECONDS = 5.0
"""So long before, its run is given back without it."""
LEAST_SECONDS = 2.0
"""With less than that left nothing is begun."""
NOT_CLAIMED = "not claimed"


class Invocation(Protocol):
    """What is asked of Lambda's context."""

    def get_remaining_time_in_millis(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Hint:
    """That a run of this workflow may be there to claim."""

    run_id: str
    workflow: str

    @classmethod
    def of(cls, said: Any) -> Hint:
        """Raises ValueError for what is no hint."""
        run_id, workflow = (
            (said.get("run_id"), said.get("workflow")) if isinstance(said, Mapping) else (None, None)
        )
        if not (isinstance(run_id, str) and isinstance(workflow, str)):
            raise ValueError(f"not a hint of Baton's, with its run_id and workflow: {said!r:.200}")
        return cls(run_id=run_id, workflow=workflow)


def handle(worker: Worker, event: Mapping[str, Any], invocation: Invocation) -> dict[str, Any]:
    """Perform what an invocation hints at, within its time: ``{run_id, attempt, outcome}``.

    The event is a hint, has it as ``detail`` (EventBridge) or in its ``Records`` (SQS), whose answer names
    those that are to be delivered again: ``{batchItemFailures}``. A run that somebody else has, or that is
    not pending, is no error: its outcome is ``not claimed``. Raises ValueError for what is no hint,
    LookupError for a workflow that this worker does not have, TimeoutError where too little time is left to
    begin, and BatonError.
    """
    end = worker.terms.clock.monotonic() + invocation.get_remaining_time_in_millis() / 1000
    if "Records" in event:
        return _batch(worker, event["Records"], end)
    return _perform(worker, Hint.of(event.get("detail", event)), end)


def _batch(worker: Worker, records: list[Mapping[str, Any]], end: float) -> dict[str, Any]:
    def failed(record: Mapping[str, Any]) -> bool:
        try:
            _perform(worker, Hint.of(json.loads(record["body"])), end)
        except Exception:
            worker.terms.logger.exception("message %s is to be delivered again", record["messageId"])
            return True
        return False

    with ThreadPoolExecutor(max(1, min(len(records), worker.concurrency))) as pool:
        failures = [record for record, no in zip(records, pool.map(failed, records), strict=True) if no]
    return {"batchItemFailures": [{"itemIdentifier": record["messageId"]} for record in failures]}


def _perform(worker: Worker, hint: Hint, end: float) -> dict[str, Any]:
    if hint.workflow not in worker.workflows:
        raise LookupError(f"this worker has no workflow {hint.workflow!r}; it has {list(worker.workflows)}")
    terms = worker.terms
    since = terms.clock.monotonic()
    if end - since < LEAST_SECONDS:
        raise TimeoutError(f"too little time is left to begin {hint.run_id}: {end - since:.1f} s")
    try:
        run = worker.client.claim_run(hint.run_id, worker.worker_id, lease_seconds=terms.lease_seconds)
    except (InFlight, RunTerminal, NotFound) as refusal:
        # Absent is either deleted meanwhile, or of a namespace that this function is not configured for.
        level = logging.WARNING if isinstance(refusal, NotFound) else logging.INFO
        terms.logger.log(level, "run %s was not claimed: %s", hint.run_id, refusal)
        return {"run_id": hint.run_id, "attempt": None, "outcome": NOT_CLAIMED}
    execution = _execution(worker, run, since)
    with _ended_before(end, execution, terms.clock):
        ending = execution.perform()
    return {"run_id": run.id, "attempt": run.attempt, "outcome": outcome(ending)}


def _execution(worker: Worker, run: Run, since: float) -> Execution:
    try:
        return worker.execution(run, since=since)
    except LookupError:
        # The hint named a workflow of ours, and the run is of another: it is not ours to hold.
        worker.client.release(run.id, worker.worker_id, run.attempt)
        raise


@contextmanager
def _ended_before(end: float, execution: Execution, clock: Clock) -> Iterator[None]:
    """Have the execution told to end, and then given back, while there is time for that."""
    over = threading.Event()
    left = end - clock.monotonic()

    def watch() -> None:
        for before_end, act in (
            (min(TOLD_BEFORE_END_SECONDS, left / 3), execution.drain),
            (min(GIVEN_BACK_BEFORE_END_SECONDS, left / 6), execution.abandon),
        ):
            if clock.wait(over, max(0.0, end - before_end - clock.monotonic())):
                return
            act()

    thread = threading.Thread(target=watch, name=f"baton-deadline-{execution.run.id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
