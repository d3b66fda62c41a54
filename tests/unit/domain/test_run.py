"""What a run's row says of it: who drives it, whether it is gone, who must show a fence."""

import pytest

from baton.domain.run import Lease
from baton.domain.states import Mode, State
from baton.errors import InvalidRequest, LeaseLost
from tests.unit.domain.runs_at_hand import NOW, T0, run_in

QUEUED = {"mode": Mode.QUEUED, "claimed": True}


@pytest.mark.parametrize(
    ("how", "driven"),
    [
        ({}, True),
        ({"inactivity_timeout_seconds": 1}, True),  # silent, and still its caller's
        ({**QUEUED, "lease": Lease("w", NOW + 1)}, True),
        ({**QUEUED, "lease": Lease("w", NOW)}, False),
        (QUEUED, False),
    ],
    ids=["attached", "attached and silent", "leased", "lease ran out", "released"],
)
def test_a_running_run_is_driven_by_its_caller_or_under_a_lease(how, driven):
    assert run_in(State.RUNNING, **how).driven(NOW) is driven


@pytest.mark.parametrize("state", [state for state in State if state is not State.RUNNING])
def test_no_other_run_is_driven(state):
    assert not run_in(state).driven(NOW)
    assert not run_in(state, mode=Mode.QUEUED, lease=Lease("w", NOW + 1)).driven(NOW)


@pytest.mark.parametrize(("expires_at", "gone"), [(None, False), (NOW + 1, False), (NOW, True), (0, True)])
def test_a_run_is_gone_from_its_expiry_on(expires_at, gone):
    assert run_in(State.FAILED, expires_at=expires_at).expired(NOW) is gone


@pytest.mark.parametrize("state", State)
def test_a_fence_is_needed_once_claimed_or_resumed_and_must_be_the_runs(state):
    fresh, claimed = run_in(state), run_in(state, claimed=True)
    resumed = run_in(state, attempt=2)
    assert [run.fenced for run in (fresh, claimed, resumed)] == [False, True, True]
    fresh.check_fence(None)
    for run in (fresh, claimed, resumed):
        run.check_fence(run.attempt)
        with pytest.raises(LeaseLost):
            run.check_fence(run.attempt + 1)
    for run in (claimed, resumed):
        with pytest.raises(InvalidRequest):
            run.check_fence(None)


def test_a_log_without_items_ends_after_the_start_that_the_row_holds():
    tail = run_in(State.RUNNING, claimed=True).initial_tail(NOW)
    assert (tail.next, tail.birth, tail.header.attempt, tail.fenced) == (1, "birth1", 1, True)
    assert (tail.newest_ts, tail.seen_at) == (T0, NOW)


@pytest.mark.parametrize("state", State)
def test_only_a_running_run_with_a_timeout_is_watched(state):
    watched = state is State.RUNNING
    assert run_in(state, inactivity_timeout_seconds=1.5).watched_until(T0) == (T0 + 1500 if watched else None)
    assert run_in(state).watched_until(T0) is None
