"""The local stack and its workers in a test's hand."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from baton_sdk.checkout import checkout, places
from baton_sdk.client import Client
from baton_sdk.log import Event
from baton_sdk.run import Run
from baton_sdk.testing.clock import WorkerClock
from baton_sdk.worker.journal import CHECKPOINT, STEP
from baton_sdk.worker.worker import Worker

BEGINS = datetime(2026, 1, 1, tzinfo=UTC)
MAX_ROUNDS = 1_000
"""Rounds of a ``settle`` after which something must go in circles."""

_ANY: Any = object()


class LocalStack:
    """What ``local_stack`` gives. ``client`` asks the stack anything that a client may ask."""

    def __init__(self, stack: Any, workers: Sequence[Worker]) -> None:
        self._stack = stack
        self.client = Client(stack.url)
        clock = WorkerClock(stack.clock)
        self._workers = [worker.elsewhere(self.client, clock) for worker in workers]
        for worker in self._workers:
            worker.announce()

    @property
    def now(self) -> datetime:
        """The stack's time, which is the workers' too."""
        return datetime.fromtimestamp(self._stack.clock.now() / 1000, UTC)

    def start(self, workflow: str, *, mode: str = "queued", **wishes: Any) -> Run:
        """Start a run, as ``Client.start`` does. ValueError for a workflow that no worker here has, unless
        the run is ``attached``: driven by the test."""
        had = sorted({name for worker in self._workers for name in worker.workflows})
        if mode != "attached" and workflow not in had:
            raise ValueError(
                f"no worker of this stack has the workflow {workflow!r}, they have {had}; a run that the "
                'test itself drives is started with mode="attached"'
            )
        return self.client.start(workflow, mode=mode, **wishes).run

    def settle(self) -> int:
        """Have everything happen that can happen now: runs performed, endings handed off, the woken claimed.
        How many attempts were performed. AssertionError where that has no end."""
        performed = 0
        for _ in range(MAX_ROUNDS):
            moved = self._stack.round()
            done = sum(worker.run_once() for worker in self._workers)
            performed += done
            if not moved and not done:
                return performed
        raise AssertionError(f"nothing has settled after {MAX_ROUNDS} rounds: something goes in circles")

    def advance(self, by: timedelta | None = None, **units: float) -> int:
        """Let time pass (``advance(minutes=30)``: the units of a timedelta), and what falls due on the way
        happen at its own time. How many attempts were performed. ValueError for a time that is negative."""
        lapse = (by or timedelta()) + timedelta(**units)
        if lapse < timedelta():
            raise ValueError(f"time does not go back: advance by {lapse.total_seconds():g} s")
        until = self.now + lapse
        performed = self.settle()
        while (at := self._next_at()) is not None and at <= until:
            self._move_to(at)
            performed += self.settle()
        self._move_to(until)
        return performed + self.settle()

    def run(self, run_id: str) -> Run:
        """The run as it is now."""
        return self.client.get(run_id).run

    def log(self, run_id: str) -> list[Event]:
        """All that its log holds."""
        return list(self.client.stream(run_id))

    def steps(self, run_id: str) -> Mapping[str, Any]:
        """The results of the steps that are recorded, by name, in their order."""
        recorded = (event.data for event in self.log(run_id) if event.type == CHECKPOINT)
        return {each["name"]: each.get("result") for each in recorded if each["kind"] == STEP}

    def assert_completed(self, run_id: str, *, output: Any = _ANY) -> Run:
        """The run, which has completed, with that output if one is given."""
        run = self.assert_state(run_id, "completed")
        if output is not _ANY and run.output != output:
            raise AssertionError(self._told(run, f"its output is {run.output!r}, not {output!r}"))
        return run

    def assert_failed(self, run_id: str, *, type: str | None = None) -> Run:
        """The run, which has failed, with an error of that type if one is given."""
        run = self.assert_state(run_id, "failed")
        found = (run.error or {}).get("type")
        if type is not None and found != type:
            raise AssertionError(self._told(run, f"its error is of type {found!r}, not {type!r}"))
        return run

    def assert_state(self, run_id: str, state: str) -> Run:
        """The run, which is in that state."""
        run = self.run(run_id)
        if run.state != state:
            raise AssertionError(self._told(run, f"it is not {state}"))
        return run

    def assert_logged(self, run_id: str, *types: str) -> list[Event]:
        """Its log, which holds entries of these types in this order, whatever stands between them."""
        log = self.log(run_id)
        left = iter(event.type for event in log)
        missing = next((type_ for type_ in types if type_ not in left), None)
        if missing is not None:
            raise AssertionError(self._told(self.run(run_id), f"its log has no {missing!r} in that order"))
        return log

    def _next_at(self) -> datetime | None:
        at = self._stack.next_at()
        return None if at is None else datetime.fromtimestamp(at / 1000, UTC)

    def _move_to(self, at: datetime) -> None:
        self._stack.clock.advance(max(0.0, (at - self.now).total_seconds()))

    def _told(self, run: Run, what: str) -> str:
        lines = [f"run {run.id} of {run.workflow} is {run.state}: {what}"]
        if run.error is not None:
            lines.append(f"  error: {json.dumps(run.error)[:500]}")
        lines += [
            f"  {event.seq:>4} {event.type:<12} {json.dumps(event.data)[:160]}" for event in self.log(run.id)
        ]
        return "\n".join(lines)


@contextmanager
def local_stack(*workers: Worker, begins: datetime = BEGINS, **settings: Any) -> Iterator[LocalStack]:
    """A stack with these workers, whose time begins at ``begins``. Nothing is kept after the block.

    ``settings`` are those of the local stack, by name. Workers are as they were made, but for the service
    that they ask and the clock they have. Raises InvalidRequest where there is no checkout of Baton.
    """
    root = checkout()
    sys.path += [place for place in places(root) if place not in sys.path]
    # The stack is no part of the client, and is loaded for this alone.
    by_hand = importlib.import_module("infra.local.by_hand")
    with by_hand.stack_by_hand(round(begins.timestamp() * 1000), **settings) as stack:
        made = LocalStack(stack, workers)
        with made.client:
            yield made
