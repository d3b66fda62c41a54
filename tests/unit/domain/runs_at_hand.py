"""Runs and tails for tests of decisions: one in each state, ready to be varied."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from baton.domain.log import Header, Tail
from baton.domain.run import Ending, Lease, Run
from baton.domain.states import Mode, State

T0 = 1_000_000
NOW = T0 + 60_000

TERMINAL_STATES = (State.COMPLETED, State.FAILED, State.CANCELLED, State.DEAD)
OPEN_STATES = (State.PENDING, State.RUNNING, State.SUSPENDED)


def run_in(state: State, **change: Any) -> Run:
    """A run in ``state``; a terminal one ended at NOW - 1 s with its ``end`` at 1."""
    run = Run(
        namespace="default",
        id="r1",
        workflow="build",
        birth="birth1",
        rev="rev1",
        state=state,
        mode=Mode.ATTACHED,
        created_at=T0,
        updated_at=T0,
        started_at=T0,
        input=b"null",
        ending=Ending(seq=1, at=NOW - 1000) if state in TERMINAL_STATES else None,
        expires_at=NOW + 10_000_000 if state in TERMINAL_STATES else None,
    )
    return replace(run, **change)


def lease_of(run: Run) -> Lease:
    """The lease under which the run is held."""
    assert run.lease is not None
    return run.lease


def tail_at(next_: int = 1, *, fenced: bool = False, newest_ts: int = T0, **header: Any) -> Tail:
    """The end of r1's log, its newest header as given."""
    return Tail(
        birth="birth1",
        next=next_,
        header=Header(**header),
        fenced=fenced,
        newest_ts=newest_ts,
        seen_at=newest_ts,
    )
