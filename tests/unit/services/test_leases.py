"""Leases: held for longer, given back, taken back by the sweep; and whoever lost one changes nothing."""

from __future__ import annotations

import msgspec
import pytest

from baton.domain.catalog import Backoff
from baton.domain.controlling import Cancel
from baton.domain.payload import canonical
from baton.domain.registering import Registration
from baton.domain.states import Mode, State
from baton.domain.waiting import Suspend
from baton.errors import Conflict, LeaseLost, NotFound, RunTerminal
from tests.unit.domain.runs_at_hand import lease_of
from tests.unit.house import NS, calls_of, names_of, start
from tests.unit.services.acts import (
    append,
    claim,
    claim_one,
    finish,
    release,
    renew,
    replay,
    row,
    types_of,
)

BROKE = {"message": "it broke", "type": "Trouble"}


@pytest.fixture
def held(runtime):
    """The id of a run that worker w1 holds for 60 s at attempt 1."""
    start(runtime, run_id="r1", mode=Mode.QUEUED)
    claim(runtime)
    return "r1"


def swept(house, seconds):
    house.clock.advance(seconds)
    return house.container().sweep.run()


def end_of(runtime, run_id):
    return msgspec.json.decode(replay(runtime, run_id)[-1].data)


# Renew


def test_a_renewal_is_one_read_and_one_write_that_no_index_sees(house, held):
    container = house.container()
    house.clock.advance(20)
    with calls_of(container) as calls:
        run = renew(container, held)
    assert lease_of(run).expires_at == house.clock.now() + 60_000
    assert run == row(container, held)
    assert names_of(calls) == ["GetItem", "UpdateItem"]
    [(_, update)] = calls[1:]
    changed = set(update["ExpressionAttributeNames"].values())
    assert changed == {"rv", "ua", "ls"}


def test_a_renewed_lease_outlives_its_first_end_and_the_sweep_moves_on_with_it(house, runtime, held):
    for _ in range(5):
        house.clock.advance(50)
        renew(house.container(), held)
        house.container().sweep.run()
    assert row(runtime, held).attempt == 1
    append(runtime, held, 1, attempt=1)
    assert swept(house, 61.999).settled == 0
    assert row(runtime, held).state is State.RUNNING
    swept(house, 0.001)
    assert row(runtime, held).state is State.PENDING


def test_a_renewal_tells_of_a_cancel(house, runtime, held):
    assert renew(runtime, held).cancel is None
    runtime.control.cancel(NS, held, Cancel(reason="enough"))
    cancel = renew(house.container(), held).cancel
    assert cancel is not None and cancel.reason == "enough"


@pytest.mark.parametrize("act", [renew, release])
def test_who_does_not_hold_it_is_refused_and_nothing_changes(house, runtime, held, act):
    before = row(runtime, held)
    for who in ({"worker": "w2"}, {"attempt": 2}, {"worker": "w2", "attempt": 2}):
        with pytest.raises(LeaseLost) as refused:
            act(house.container(), held, **who)
        assert refused.value.run == before
    assert row(runtime, held) == before


@pytest.mark.parametrize("act", [renew, release])
def test_nobody_holds_what_is_attached_pending_suspended_settled_or_gone(house, runtime, act):
    start(runtime, run_id="attached")
    start(runtime, run_id="pending", mode=Mode.QUEUED)
    start(runtime, run_id="suspended", mode=Mode.QUEUED)
    start(runtime, run_id="settled", mode=Mode.QUEUED)
    claim_one(runtime, "suspended")
    until = house.clock.now() + 1000
    runtime.waits.suspend(NS, "suspended", Suspend(until=until, attempt=1))
    claim_one(runtime, "settled")
    finish(runtime, "settled", attempt=1)
    for run_id, refusal in [
        ("attached", LeaseLost),
        ("pending", LeaseLost),
        ("suspended", LeaseLost),
        ("settled", RunTerminal),
        ("gone", NotFound),
    ]:
        with pytest.raises(refusal):
            act(house.container(), run_id)


# Release


def test_what_is_given_back_is_there_for_the_next(house, runtime, held):
    detail = release(house.container(), held)
    assert detail == house.container().runs.get(NS, held)
    assert (detail.run.state, detail.run.lease, detail.run.due_at) == (State.PENDING, None, None)
    [again] = claim(house.container(), worker="w2")
    assert (again.run.attempt, lease_of(again.run).worker_id) == (2, "w2")


def test_it_waits_as_long_as_it_was_told_to(house, held):
    release(house.container(), held, delay_seconds=30)
    house.clock.advance(29.999)
    assert claim(house.container()) == []
    house.clock.advance(0.001)
    assert len(claim(house.container())) == 1


def test_a_release_sent_again_is_answered_the_same_and_counts_once(house, runtime, held):
    first = release(house.container(), held, error=BROKE, delay_seconds=5)
    house.clock.advance(1)
    assert release(house.container(), held, error=BROKE, delay_seconds=5) == first
    assert row(runtime, held).failures == 1
    house.clock.advance(5)
    claim(house.container(), worker="w2")
    with pytest.raises(LeaseLost):
        release(house.container(), held, error=BROKE, delay_seconds=5)


def test_after_as_many_failures_as_it_may_have_it_is_dead_and_says_why(house, runtime):
    start(runtime, run_id="r1", mode=Mode.QUEUED, max_attempts=2, input=canonical("x" * 2000))
    claim(runtime)
    assert release(runtime, "r1", error=BROKE, delay_seconds=0).run.state is State.PENDING
    claim(runtime)
    dying = house.container()
    dead = release(dying, "r1", attempt=2, error=BROKE)
    assert dead.run.state is State.DEAD
    assert dead == house.container().runs.get(NS, "r1")
    assert release(house.container(), "r1", attempt=2, error=BROKE) == dead
    said = end_of(runtime, "r1")
    assert (said["status"], said["error"]["type"], said["resumable"]) == ("dead", "Trouble", False)
    assert "failure 2 of 2" in said["error"]["message"]
    assert types_of(replay(runtime, "r1")) == ["start", "claimed", "end"]


def test_giving_it_back_does_not_use_it_up(house, runtime):
    start(runtime, run_id="r1", mode=Mode.QUEUED, max_attempts=1)
    for attempt in range(1, 6):
        claim(runtime)
        assert release(runtime, "r1", attempt=attempt).run.state is State.PENDING


def test_a_run_told_to_end_is_cancelled_when_its_worker_gives_it_back(house, runtime, held):
    runtime.control.cancel(NS, held, Cancel(reason="enough"))
    done = release(house.container(), held)
    assert done.run.state is State.CANCELLED
    assert done == house.container().runs.get(NS, held) == release(house.container(), held)


@pytest.mark.parametrize("lost", [True, False], ids=["lease", "failure"])
def test_a_failure_waits_as_its_workflow_has_it(house, runtime, lost):
    backoff = Backoff(base_seconds=2000, max_seconds=3000)
    runtime.workflows.put(Registration(namespace=NS, name="build", backoff=backoff))
    pauses = []
    for n in range(4):
        container = house.container()
        start(container, run_id=f"r{n}", mode=Mode.QUEUED)
        claim_one(container, f"r{n}")
        if lost:
            swept(house, 62)
        else:
            release(container, f"r{n}", error=BROKE)
        pauses.append(row(runtime, f"r{n}").available_at - house.clock.now())
    assert all(0 <= pause <= 2_000_000 for pause in pauses)
    assert max(pauses) > 300_000, "they wait no longer than by default"
    assert len(set(pauses)) == 4


# The sweep


def test_a_dead_workers_run_is_claimed_by_another_who_is_told_of_it(house, runtime, held):
    append(runtime, held, 1, attempt=1)
    assert swept(house, 61.999).postponed == 0
    assert row(runtime, held).state is State.RUNNING
    assert swept(house, 0.001).postponed == 1
    waits = row(runtime, held)
    assert (waits.state, waits.failures, waits.due_at) == (State.PENDING, 1, None)
    house.clock.advance(1)
    [detail] = claim(house.container(), worker="w2")
    assert detail.run.attempt == 2
    said = msgspec.json.decode(replay(runtime, held)[2].data)
    error = {"message": "the lease of worker w1 ran out", "type": "lease"}
    assert said == {
        "attempt": 2,
        "worker_id": "w2",
        "after": {"attempt": 1, "worker_id": "w1", "error": error},
    }


def test_a_release_that_comes_after_the_run_was_taken_back_is_refused(house, runtime, held):
    swept(house, 62)
    waits = row(runtime, held)
    for error in (None, BROKE, {"message": "the lease of worker w1 ran out", "type": "lease"}):
        with pytest.raises(LeaseLost):
            release(runtime, held, error=error)
    assert row(runtime, held) == waits


def test_a_failure_that_is_called_like_a_lost_lease_is_the_workers_own_all_the_same(house, runtime, held):
    error = {"message": "no flat to let", "type": "lease"}
    first = release(runtime, held, error=error)
    assert release(house.container(), held, error=error) == first
    assert row(runtime, held).failures == 1


def test_a_run_whose_workers_all_die_is_dead_after_its_attempts(house, runtime):
    start(runtime, run_id="r1", mode=Mode.QUEUED)
    for attempt in (1, 2, 3):
        [detail] = claim(house.container(), worker=f"w{attempt}")
        assert detail.run.attempt == attempt
        swept(house, 62)
        house.clock.advance(300)
    assert row(runtime, "r1").state is State.DEAD
    error = end_of(runtime, "r1")["error"]
    assert error["type"] == "lease"
    assert "w3" in error["message"] and "failure 3 of 3" in error["message"]
    assert claim(house.container()) == []


def test_failures_and_lost_leases_count_together_and_a_resume_begins_anew(house, runtime):
    start(runtime, run_id="r1", mode=Mode.QUEUED, max_attempts=2)
    claim(runtime)
    release(runtime, "r1", error=BROKE, delay_seconds=0)
    claim(runtime)
    swept(house, 62)
    assert row(runtime, "r1").state is State.DEAD
    runtime.control.resume(NS, "r1", force=True, key=None)
    waits = row(runtime, "r1")
    assert (waits.state, waits.attempt, waits.failures) == (State.PENDING, 3, 0)
    assert claim(runtime)[0].run.attempt == 4


def test_a_lease_that_runs_out_on_a_run_told_to_end_settles_it_cancelled(house, runtime, held):
    house.clock.advance(30)
    runtime.control.cancel(NS, held, Cancel(reason="enough"))
    swept(house, 32)
    assert row(runtime, held).state is State.CANCELLED


# Fencing


def _try(act):
    try:
        return act()
    except Conflict as refused:
        return type(refused)


def test_an_owner_that_wakes_after_its_run_was_taken_over_changes_nothing(house, held):
    paused = house.container()
    append(paused, held, "remembers where the log ends", attempt=1)
    swept(house, 62)
    house.clock.advance(1)
    claim(house.container(), worker="w2")
    before, log = row(paused, held), replay(paused, held)
    until = house.clock.now() + 1000
    for act in (
        lambda: append(paused, held, "late", attempt=1),
        lambda: renew(paused, held),
        lambda: release(paused, held),
        lambda: release(paused, held, error=BROKE),
        lambda: paused.waits.suspend(NS, held, Suspend(until=until, attempt=1)),
        lambda: finish(paused, held, attempt=1),
        lambda: finish(paused, held, State.FAILED, attempt=1, resumable=True),
    ):
        assert _try(act) is LeaseLost
    assert row(paused, held) == before
    assert replay(paused, held) == log


def test_the_successor_writes_on(house, held):
    swept(house, 62)
    house.clock.advance(1)
    successor = house.container()
    claim(successor, worker="w2")
    append(successor, held, "mine", attempt=2)
    assert lease_of(renew(successor, held, worker="w2", attempt=2)).worker_id == "w2"
    assert finish(successor, held, attempt=2).finished


def test_a_late_finish_counts_as_long_as_nobody_took_over(house, runtime, held):
    swept(house, 62)
    assert row(runtime, held).state is State.PENDING
    assert finish(house.container(), held, attempt=1).finished
    assert row(runtime, held).state is State.COMPLETED
    assert claim(house.container()) == []


def test_who_gave_a_run_back_says_nothing_more_in_it(house, runtime, held):
    append(runtime, held, 1, attempt=1)
    release(runtime, held)
    assert issubclass(_try(lambda: append(runtime, held, 2, attempt=1)), Conflict)
