"""What the sweep decides of a run under a lease: taken back from who holds it no more, from nobody else."""

import pytest
from msgspec.structs import replace

from baton.domain.catalog import Backoff
from baton.domain.run import CancelRequest, Lease, Run, Step
from baton.domain.settling import Outcome
from baton.domain.states import Mode, State
from baton.domain.sweeping import Patience, decide_due
from tests.unit.domain.runs_at_hand import NOW, T0, run_in, tail_at

SKEW = 2000
PATIENCE = Patience(
    grace_seconds=60, skew_seconds=SKEW / 1000, backoff=Backoff(base_seconds=8, max_seconds=60), chance=0.5
)


def held(until: int, **change) -> Run:
    given = {"mode": Mode.QUEUED, "claimed": True, "due_at": NOW, "lease": Lease("w", until, T0)}
    return run_in(State.RUNNING, **given | change)


def due(run: Run, *, newest_ts: int = T0):
    return decide_due(run, tail_at(newest_ts=newest_ts), PATIENCE, rev="rev2", now=NOW)


def test_a_lease_is_taken_back_once_the_margin_after_its_end_has_passed_and_not_a_millisecond_before():
    step = due(held(NOW - SKEW))
    assert isinstance(step, Step)
    assert (step.run.state, step.run.available_at) == (State.PENDING, NOW + 4000)
    early = held(NOW - SKEW + 1)
    assert due(early).run == replace(early, rev="rev2", due_at=NOW + 1)


def test_a_lease_that_was_renewed_is_put_off_to_its_new_end_and_nothing_else_changes():
    renewed = held(NOW + 50_000)
    assert due(renewed).run == replace(renewed, rev="rev2", due_at=NOW + 50_000 + SKEW)


def test_a_run_that_has_been_pending_again_since_is_not_looked_at_any_more():
    assert due(run_in(State.PENDING, mode=Mode.QUEUED, due_at=NOW)).run.due_at is None


def test_the_last_failure_that_it_may_have_is_the_end_of_it():
    assert isinstance(due(held(T0, failures=1)), Step)
    assert due(held(T0, failures=2)).status is State.DEAD


def test_a_run_told_to_end_is_cancelled_when_its_lease_ran_out_before_its_grace():
    outcome = due(held(NOW - SKEW, cancel=CancelRequest(at=NOW - 1, reason="why")))
    assert isinstance(outcome, Outcome)
    assert outcome.error is not None
    assert (outcome.status, outcome.error["message"]) == (State.CANCELLED, "why")


def test_a_cancel_past_its_grace_ends_a_run_whose_worker_goes_on_renewing():
    told = CancelRequest(at=NOW - 60_000)
    assert due(held(NOW + 50_000, cancel=told)).status is State.CANCELLED


@pytest.mark.parametrize(("until", "state"), [(NOW + 50_000, State.FAILED), (NOW - SKEW, State.PENDING)])
def test_a_silent_worker_is_stopped_by_the_watchdog_and_a_dead_one_loses_its_lease(until, state):
    """Both may have passed when the sweep comes: a lease that ran out is no silence."""
    found = due(held(until, inactivity_timeout_seconds=30))
    assert (found.status if isinstance(found, Outcome) else found.run.state) is state


def test_renewing_is_a_word_as_well():
    run = held(NOW + 50_000, inactivity_timeout_seconds=30)
    renewed = replace(run, lease=Lease("w", NOW + 50_000, NOW - 29_000))
    assert due(renewed).run.due_at == NOW + 1000
    assert due(run, newest_ts=NOW - 1000).run.due_at == NOW + 29_000


def test_the_next_look_is_at_whatever_comes_first():
    run = held(NOW + 50_000, cancel=CancelRequest(at=NOW - 55_000), inactivity_timeout_seconds=90)
    assert due(run).run.due_at == NOW + 5000
