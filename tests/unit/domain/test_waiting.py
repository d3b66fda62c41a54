"""What suspends a run, what wakes it, and what is written beside its row then."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from baton.domain.events import Take
from baton.domain.run import CancelRequest, Lease, Run, Step
from baton.domain.settlement import Settlement, Wait
from baton.domain.states import Mode, State
from baton.domain.waiting import (
    ChangeRow,
    DropWaiter,
    PutWaiter,
    Suspend,
    Waiter,
    decide_suspend,
    event_came,
    follow,
    run_settled,
    suspended_by,
    take,
    time_came,
    waiter_on_event,
    waits_as,
    wake,
)
from baton.errors import IdempotencyMismatch, InFlight, InvalidRequest, LeaseLost, RunTerminal
from tests.unit.domain.events_at_hand import posted_at
from tests.unit.domain.runs_at_hand import NOW, TERMINAL_STATES, run_in

LATER, LOOK = NOW + 5_000, NOW + 30_000


def suspend(run: Run, *, target: Run | None = None, **what: Any) -> Step:
    command = Suspend(**{"run_id": None if target is None else target.id, **what})
    return decide_suspend(run, command, target=target, wait_id="w1", rev="rev2", now=NOW, look_at=LOOK)


def waiting(**what: Any) -> Run:
    return run_in(State.SUSPENDED, wait=Wait(id="w1", **what))


def another(state: State = State.RUNNING, **change: Any) -> Run:
    return run_in(state, id="r2", birth="birth2", **change)


def said(step: Step) -> list[tuple[str, Any]]:
    return [(entry.type, msgspec.json.decode(entry.data)) for entry in step.said]


def test_a_run_that_waits_for_a_time_is_due_then_and_nobody_is_told():
    step = suspend(run_in(State.RUNNING, due_at=NOW + 1), until=LATER)
    assert step.run.state is State.SUSPENDED
    assert step.run.wait == Wait(id="w1", until=LATER)
    assert (step.run.due_at, step.run.updated_at, step.run.rev) == (LATER, NOW, "rev2")
    assert said(step) == [("suspended", {"kind": "time", "until": "1970-01-01T00:17:45.000Z"})]
    assert step.also == ()


def test_who_waits_for_a_run_is_told_of_there_and_counted_at_its_attempt():
    target = another(attempt=3, settlement=Settlement(waiters=2))
    step = suspend(run_in(State.RUNNING, due_at=NOW + 1), target=target)
    assert step.run.due_at is None
    assert step.run.wait == Wait(id="w1", run_id="r2")
    put, change = step.also
    assert put == PutWaiter(
        Waiter(namespace="default", run_id="r1", wait_id="w1", target="r2", birth="birth2", attempt=3)
    )
    assert change == ChangeRow(target, replace(target, rev="rev2", settlement=Settlement(waiters=3)))
    assert said(step) == [("suspended", {"kind": "run", "run_id": "r2"})]


def test_who_waits_for_an_event_is_told_of_there_and_looked_after_once():
    step = suspend(run_in(State.RUNNING), event="paid")
    assert step.run.due_at == LOOK
    assert step.also == (PutWaiter(Waiter(namespace="default", run_id="r1", wait_id="w1", event="paid")),)
    assert said(step) == [("suspended", {"kind": "event", "event": "paid"})]


@pytest.mark.parametrize("state", TERMINAL_STATES)
def test_a_run_that_is_over_wakes_in_the_same_write(state):
    step = suspend(run_in(State.RUNNING, inactivity_timeout_seconds=60), target=another(state))
    assert (step.run.state, step.run.wait, step.also) == (State.RUNNING, None, ())
    assert step.run.due_at == NOW + 60_000
    assert said(step)[1] == ("woken", {"kind": "run", "run_id": "r2", "run_state": state.value})


@pytest.mark.parametrize("until", [NOW, NOW - 1, -1])
def test_a_time_that_has_come_wakes_in_the_same_write(until):
    assert [type_ for type_, _ in said(suspend(run_in(State.RUNNING), until=until))] == ["suspended", "woken"]


def test_a_queued_run_gives_its_lease_up_and_is_there_to_be_claimed_once_it_is_woken():
    run = run_in(State.RUNNING, mode=Mode.QUEUED, claimed=True, lease=Lease("worker", NOW + 1_000))
    suspended = suspend(run, until=LATER, attempt=1).run
    assert suspended.lease is None
    woken = wake(suspended, time_came(LATER), rev="rev3", now=LATER).run
    assert (woken.state, woken.available_at, woken.lease) == (State.PENDING, LATER, None)
    assert (woken.attempt, woken.failures) == (1, 0)


def test_a_latched_cancel_is_looked_at_no_later_than_before():
    told = {"cancel": CancelRequest(at=NOW), "due_at": NOW + 1_000}
    suspended = suspend(run_in(State.RUNNING, **told), until=LATER).run
    assert suspended.due_at == NOW + 1_000
    assert wake(suspended, time_came(LATER), rev="rev3", now=NOW).run.due_at == NOW + 1_000


@pytest.mark.parametrize(
    ("state", "refusal"),
    [
        (State.PENDING, InFlight),
        (State.SUSPENDED, InFlight),
        *((each, RunTerminal) for each in TERMINAL_STATES),
    ],
)
def test_only_a_running_run_can_wait(state, refusal):
    with pytest.raises(refusal):
        suspend(run_in(state), event="paid")


def test_the_fence_comes_before_the_state():
    with pytest.raises(LeaseLost):
        suspend(run_in(State.COMPLETED), event="paid", attempt=2)
    with pytest.raises(InvalidRequest, match="Baton-Attempt"):
        suspend(run_in(State.RUNNING, attempt=2), event="paid")


def test_a_chain_that_leads_back_is_no_run_to_wait_for():
    with pytest.raises(InvalidRequest, match="itself"):
        suspend(run_in(State.RUNNING), target=run_in(State.RUNNING), run_id="r0")


def test_a_repeat_is_known_by_its_key_in_any_state():
    command = Suspend(event="paid", key="K", body="B")
    for state in State:
        run = run_in(state, suspend_key="K.B")
        assert suspended_by(run, command)
        assert not suspended_by(run, replace(command, key="L"))
        assert not suspended_by(run, replace(command, key=None))
        with pytest.raises(IdempotencyMismatch):
            suspended_by(run, replace(command, body="C"))
    assert not suspended_by(run_in(State.RUNNING), command)


def test_the_key_is_kept_with_the_body():
    assert suspend(run_in(State.RUNNING), event="paid", key="K", body="B").run.suspend_key == "K.B"
    assert suspend(run_in(State.RUNNING, suspend_key="K.B"), event="paid").run.suspend_key is None


def test_a_waiter_tells_of_the_wait_that_it_was_written_for_and_no_other():
    run = waiting(run_id="r2")
    waiter = Waiter(namespace="default", run_id="r1", wait_id="w1", target="r2", birth="b", attempt=1)
    assert waits_as(run, waiter)
    assert not waits_as(run, replace(waiter, wait_id="w2"))
    assert not waits_as(run, replace(waiter, target="r3")), "it has moved along"
    assert not waits_as(replace(run, state=State.RUNNING, wait=None), waiter)
    on_event = waiting(event="paid")
    assert waits_as(on_event, waiter_on_event(on_event, Wait(id="w1", event="paid")))


def test_who_waited_moves_along_with_its_row_and_both_counts():
    run = waiting(run_id="r0")
    assert run.wait is not None
    waiter = Waiter(namespace="default", run_id="r1", wait_id="w1", target="r0", birth="b", attempt=1)
    step = follow(run, run.wait, waiter, another(), rev="rev2")
    assert step.run == replace(run, rev="rev2", wait=Wait(id="w1", run_id="r2"))
    assert step.said == ()
    drop, put, change = step.also
    assert drop == DropWaiter(waiter)
    assert (put.waiter.target, put.waiter.birth) == ("r2", "birth2")
    assert change.after.settlement.waiters == 1


def test_a_kept_event_is_taken_in_the_write_that_wakes():
    run = waiting(event="paid")
    assert run.wait is not None
    kept = posted_at(payload=b'{"n":1.50}')
    step = take(run, run.wait, kept, rev="rev2", now=NOW)
    assert step.also == (DropWaiter(waiter_on_event(run, run.wait)), Take(kept, "rev2"))
    assert bytes(step.said[0].data) == b'{"event":"paid","id":"e1","kind":"event","payload":{"n":1.50}}'


def test_what_woke_a_run_is_told_in_plain_words():
    assert time_came(0) == {"kind": "time", "until": "1970-01-01T00:00:00.000Z"}
    assert run_settled("r2", State.DEAD) == {"kind": "run", "run_id": "r2", "run_state": "dead"}
    assert event_came(posted_at()) == {
        "kind": "event",
        "event": "paid",
        "id": "e1",
        "payload": msgspec.Raw(b"null"),
    }
