"""What must hold of runs that are claimed, at any moment: nobody holds what he may not, whatever waits is to
be found by who claims, and the log has each attempt that a claim or a resume began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from baton.domain.clock import Millis, millis
from baton.domain.log import unpack
from baton.domain.run import Run
from baton.domain.states import Mode, State
from baton.store.rows import queue_place

if TYPE_CHECKING:
    from tests.faults.invariants import Facts


def check_held(run: Run, raw: dict[str, Any], found: Facts) -> None:
    """I6 by what is stored: a lease is of a run that is claimed, running and due when the lease has run out;
    the queue has exactly those that wait; attempts follow one another in the log."""
    if run.lease is not None:
        assert (run.state, run.mode, run.claimed) == (State.RUNNING, Mode.QUEUED, True), run
    if run.state is State.RUNNING and run.mode is Mode.QUEUED:
        assert run.lease is not None, f"nobody holds it, and nobody will take it: {run}"
    assert run.queued == ("qk" in raw) == ("qp" in raw), f"its place in the queue: {run}"
    if run.queued:
        assert run.available_at is not None
        assert int(raw["qp"]["N"]) == queue_place(run.priority, run.available_at)
        assert raw["qk"]["S"].startswith(f"{run.namespace}#{run.workflow}#")
    assert run.failures < run.max_attempts or run.state.terminal, run
    _check_attempts(run, found)


def expiry(run: Run, skew_seconds: float) -> Millis | None:
    """When somebody has to look whether the run's worker is still there."""
    return None if run.lease is None else run.lease.expires_at + millis(skew_seconds)


def _check_attempts(run: Run, found: Facts) -> None:
    attempt, claimed = 1, False
    for item in found.logs.get((run.id, run.birth), []):
        assert item.header.attempt >= attempt, item
        for entry in unpack(item.body):
            if entry.type == "resumed":
                attempt, claimed = attempt + 1, False
            elif entry.type == "claimed":
                said = msgspec.json.decode(entry.data)
                # The first claim of all says nothing. A resume begins its attempt before anybody claims it.
                assert said["attempt"] == attempt + 1 or (attempt > 1 and not claimed), (run, said)
                attempt, claimed = said["attempt"], True
                after = said.get("after")
                assert after is None or after["attempt"] < attempt
        assert item.header.attempt == attempt, item
    assert run.attempt == attempt, f"the log is at attempt {attempt}: {run}"
