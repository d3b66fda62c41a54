"""What is to be done with a run whose due time has come, in every state."""

import pytest
from msgspec.structs import replace

from baton.domain.run import CancelRequest, Step
from baton.domain.settlement import Delivery, DeliveryState, Settlement, Wait
from baton.domain.settling import Outcome
from baton.domain.states import State
from baton.domain.sweeping import Patience, decide_due, publishers, put_off
from tests.unit.domain.events_at_hand import posted_at
from tests.unit.domain.runs_at_hand import NOW, OPEN_STATES, T0, TERMINAL_STATES, run_in, tail_at

GRACE = 60
PATIENCE = Patience(grace_seconds=GRACE, skew_seconds=2)


def due(run, *, newest_ts=T0, now=NOW, kept=None):
    tail = tail_at(newest_ts=newest_ts)
    return decide_due(run, tail, PATIENCE, rev="rev2", now=now, kept=kept)


def cancelled_at(at, **change):
    return {"cancel": CancelRequest(at=at, reason="why"), "due_at": NOW, **change}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("due_at", [None, NOW + 1])
def test_what_is_not_due_is_left_alone(state, due_at):
    run = run_in(state, due_at=due_at, inactivity_timeout_seconds=1, cancel=CancelRequest(at=T0))
    assert due(run) is None


def test_a_silent_run_fails_resumable():
    assert due(run_in(State.RUNNING, due_at=NOW, inactivity_timeout_seconds=60)) == Outcome(
        status=State.FAILED,
        error={"message": "nothing was heard for 60 s", "type": "inactivity"},
        resumable=True,
    )


def test_silence_counts_from_the_newest_item_to_the_millisecond():
    run = run_in(State.RUNNING, due_at=NOW, inactivity_timeout_seconds=1)
    assert isinstance(due(run, newest_ts=NOW - 1000), Outcome)
    step = due(run, newest_ts=NOW - 999)
    assert isinstance(step, Step)
    assert step.run.due_at == NOW + 1
    assert step.said == ()


def test_putting_off_changes_the_due_time_and_nothing_else():
    run = run_in(State.RUNNING, due_at=NOW, inactivity_timeout_seconds=1, updated_at=T0 + 5)
    step = due(run, newest_ts=NOW)
    assert (step.run.updated_at, step.run.rev, step.run.due_at) == (T0 + 5, "rev2", NOW + 1000)


@pytest.mark.parametrize("state", [s for s in State if s is not State.RUNNING])
def test_only_a_running_run_is_watched(state):
    step = due(run_in(state, due_at=NOW, inactivity_timeout_seconds=1))
    assert isinstance(step, Step)
    assert step.run.due_at is None


@pytest.mark.parametrize("state", OPEN_STATES)
def test_a_cancel_is_forced_after_the_grace_time_in_every_open_state(state):
    run = run_in(state, **cancelled_at(NOW - GRACE * 1000))
    assert due(run) == Outcome(
        status=State.CANCELLED, error={"message": "why", "type": "cancelled"}, cancel=run.cancel
    )


def test_within_the_grace_time_it_is_put_off_to_its_end():
    step = due(run_in(State.RUNNING, **cancelled_at(NOW - GRACE * 1000 + 1)))
    assert step.run.due_at == NOW + 1


def test_a_cancel_that_was_asked_for_outranks_silence():
    run = run_in(State.RUNNING, **cancelled_at(NOW - GRACE * 1000, inactivity_timeout_seconds=1))
    assert due(run).status is State.CANCELLED


@pytest.mark.parametrize(("timeout", "expected"), [(10, NOW + 10_000), (100, NOW + GRACE * 1000)])
def test_of_two_deadlines_the_sooner_is_the_next(timeout, expected):
    run = run_in(State.RUNNING, **cancelled_at(NOW, inactivity_timeout_seconds=timeout))
    assert due(run, newest_ts=NOW).run.due_at == expected


@pytest.mark.parametrize("state", TERMINAL_STATES)
def test_a_terminal_run_leaves_the_index(state):
    step = due(run_in(state, **cancelled_at(T0, inactivity_timeout_seconds=1)))
    assert step.run.due_at is None
    assert step.run.state is state


@pytest.mark.parametrize("state", TERMINAL_STATES)
@pytest.mark.parametrize(
    "kept",
    [
        Settlement(owed=("report",)),
        Settlement(unresolved=True),
        Settlement(waiters=1),
        Settlement(deliveries=(Delivery("digest", DeliveryState.COALESCED, T0, buffered=True),)),
    ],
    ids=["owed", "unresolved", "waiting", "buffered"],
)
def test_the_due_time_of_an_ending_is_its_publishers(state, kept):
    run = run_in(state, due_at=NOW, settlement=kept)
    assert publishers(run)
    assert due(run) is None
    assert not publishers(run_in(State.RUNNING, settlement=kept))


def test_whatever_is_put_off_by_its_run_starts_from_no_failures():
    run = run_in(State.RUNNING, due_at=NOW, inactivity_timeout_seconds=60, strikes=5)
    assert due(run, newest_ts=NOW).run.strikes == 0


@pytest.mark.parametrize(
    ("strikes", "seconds"), [(0, 5), (1, 10), (2, 20), (9, 2560), (10, 3600), (10**6, 3600)]
)
def test_a_failed_item_waits_twice_as_long_each_time_up_to_an_hour(strikes, seconds):
    assert put_off(strikes, NOW) == NOW + seconds * 1000


def test_a_run_whose_time_has_come_is_woken_to_the_millisecond():
    wait = Wait(id="w1", until=NOW)
    step = due(run_in(State.SUSPENDED, wait=wait, due_at=NOW, inactivity_timeout_seconds=1))
    assert isinstance(step, Step)
    assert (step.run.state, step.run.wait, step.run.due_at) == (State.RUNNING, None, NOW + 1000)
    step = due(run_in(State.SUSPENDED, wait=Wait(id="w1", until=NOW + 1), due_at=NOW))
    assert (step.run.state, step.run.due_at, step.said) == (State.SUSPENDED, NOW + 1, ())


def test_a_run_that_waits_for_an_event_takes_the_one_that_is_kept_or_is_not_looked_at_again():
    run = run_in(State.SUSPENDED, wait=Wait(id="w1", event="paid"), due_at=NOW)
    assert due(run, kept=posted_at()).run.state is State.RUNNING
    assert due(run).run == replace(run, rev="rev2", due_at=None)


def test_a_cancel_past_its_grace_comes_before_any_wake():
    told = cancelled_at(NOW - GRACE * 1000)
    for wait in (Wait(id="w1", until=NOW), Wait(id="w1", event="paid")):
        assert isinstance(due(run_in(State.SUSPENDED, wait=wait, **told), kept=posted_at()), Outcome)


def test_nobody_is_silent_who_waits():
    run = run_in(State.SUSPENDED, wait=Wait(id="w1", run_id="r2"), due_at=NOW, inactivity_timeout_seconds=1)
    assert due(run).run.due_at is None
