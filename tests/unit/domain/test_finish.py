"""What a finish does in every state, under every fence, and who is told that it was theirs."""

import msgspec
import pytest
from msgspec.structs import replace

from baton.domain.run import Ending, Lease
from baton.domain.settlement import Wait
from baton.domain.settling import Finish, Outcome, Stands, check_outcome, decide_finish, end_entry, settle
from baton.domain.states import Mode, State
from baton.domain.waiting import DropWaiter, waiter_on_event
from baton.errors import IdempotencyMismatch, InFlight, InvalidRequest, LeaseLost, PayloadTooLarge
from tests.unit.domain.runs_at_hand import NOW, OPEN_STATES, T0, TERMINAL_STATES, run_in

DONE = Outcome(status=State.COMPLETED, key="key1", body="body1")
KEYLESS = Outcome(status=State.COMPLETED, body="body1")


def settled(run, outcome, *, owed=(), seq=1, retention_seconds=1):
    return settle(
        run,
        outcome,
        seq=seq,
        rev="rev2",
        now=NOW,
        owed=owed,
        sweep_after_seconds=30,
        retention_seconds=retention_seconds,
    )


def ended(**ending):
    return run_in(State.COMPLETED, ending=Ending(seq=1, at=NOW, **ending))


@pytest.mark.parametrize("state", OPEN_STATES)
def test_under_its_attempt_every_open_run_is_finished(state):
    assert decide_finish(run_in(state), Finish(outcome=DONE, attempt=1)) is DONE


def test_an_unclaimed_running_run_needs_no_fence():
    assert decide_finish(run_in(State.RUNNING), Finish(outcome=DONE)) is DONE


def test_a_suspended_run_of_the_first_attempt_needs_no_fence():
    assert decide_finish(run_in(State.SUSPENDED), Finish(outcome=DONE)) is DONE


def test_a_pending_run_has_no_driver_to_finish_it_without_a_fence():
    with pytest.raises(InFlight) as refused:
        decide_finish(run_in(State.PENDING, mode=Mode.QUEUED), Finish(outcome=DONE))
    assert refused.value.run.id == "r1"


@pytest.mark.parametrize("state", State)
def test_a_foreign_attempt_is_refused_terminal_or_not(state):
    for attempt in (1, 3):
        with pytest.raises(LeaseLost) as refused:
            decide_finish(run_in(state, attempt=2), Finish(outcome=DONE, attempt=attempt))
        assert refused.value.run.attempt == 2


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("once", [{"claimed": True}, {"attempt": 2}])
def test_a_claimed_or_resumed_run_asks_for_the_fence(state, once):
    with pytest.raises(InvalidRequest) as refused:
        decide_finish(run_in(state, **once), Finish(outcome=DONE))
    assert refused.value.errors[0]["loc"] == ["header", "Baton-Attempt"]


def test_the_own_attempt_counts_also_after_its_lease_ran_out():
    late = run_in(State.RUNNING, mode=Mode.QUEUED, claimed=True, lease=Lease("w", NOW - 1))
    assert decide_finish(late, Finish(outcome=DONE, attempt=1)) is DONE


@pytest.mark.parametrize("state", TERMINAL_STATES)
def test_a_later_finish_changes_nothing(state):
    assert decide_finish(run_in(state), Finish(outcome=DONE)) == Stands(ours=False)


def test_the_same_key_and_body_is_told_that_it_settled():
    run = ended(key="key1", body="body1")
    for attempt in (None, 1):
        assert decide_finish(run, Finish(outcome=DONE, attempt=attempt)) == Stands(ours=True)


def test_the_same_key_with_another_body_is_told_so():
    with pytest.raises(IdempotencyMismatch) as refused:
        decide_finish(ended(key="key1", body="body0"), Finish(outcome=DONE))
    assert refused.value.run.state is State.COMPLETED


@pytest.mark.parametrize(
    ("ending", "outcome", "attempt", "ours"),
    [
        ({"body": "body1"}, KEYLESS, 1, True),  # same body under the same fence
        ({"body": "body1"}, KEYLESS, None, False),  # neither key nor fence: anyone's
        ({"body": "body0"}, KEYLESS, 1, False),  # another body
        ({"body": "body1", "key": "key1"}, KEYLESS, 1, False),  # settled by one with a key
        ({"body": "body1", "key": "key0"}, DONE, 1, False),  # another key
        ({"body": "body1"}, DONE, 1, False),  # settled by one without a key
        ({}, KEYLESS, 1, False),  # settled by Baton
        ({}, Outcome(status=State.COMPLETED), 1, False),  # no body to compare
    ],
)
def test_a_repeat_is_known_by_its_key_or_by_body_and_fence(ending, outcome, attempt, ours):
    assert decide_finish(ended(**ending), Finish(outcome=outcome, attempt=attempt)) == Stands(ours=ours)


def test_a_finish_with_neither_key_nor_fence_leaves_nothing_a_later_one_could_pass_for():
    running = run_in(State.RUNNING)
    settled_by = decide_finish(running, Finish(outcome=KEYLESS))
    assert settled_by == replace(KEYLESS, body=None)
    assert decide_finish(running, Finish(outcome=KEYLESS, attempt=1)) == KEYLESS
    assert decide_finish(running, Finish(outcome=DONE)) == DONE


@pytest.mark.parametrize("status", [State.COMPLETED, State.FAILED, State.CANCELLED, State.DEAD])
def test_settling_writes_state_outcome_and_retention_at_once(status):
    outcome = Outcome(
        status=status, code=3, signal="SIGTERM", resumable=True, session_ref="s", key="k", body="b"
    )
    before = run_in(State.RUNNING, due_at=NOW + 5, lease=Lease("w", NOW + 5), attempt=2)
    step = settled(before, outcome, seq=7, retention_seconds=1.5)
    assert step.run == msgspec.structs.replace(
        before,
        rev="rev2",
        state=status,
        updated_at=NOW,
        lease=None,
        due_at=None,
        expires_at=NOW + 1500,
        announce=True,
        ending=Ending(
            seq=7, at=NOW, code=3, signal="SIGTERM", resumable=True, session_ref="s", key="k", body="b"
        ),
    )
    assert [said.type for said in step.said] == ["end"]


def test_who_settles_waits_for_no_event_any_more():
    wait = Wait(id="w1", event="news")
    waiting = run_in(State.SUSPENDED, wait=wait)
    step = settled(waiting, DONE)
    assert step.also == (DropWaiter(waiter_on_event(waiting, wait)),)
    assert step.run.wait is None
    assert settled(run_in(State.SUSPENDED, wait=Wait(id="w1", until=NOW)), DONE).also == ()


def test_settling_keeps_when_the_run_was_made_and_started():
    step = settled(run_in(State.RUNNING), DONE)
    assert (step.run.created_at, step.run.started_at) == (T0, T0)


def test_end_holds_the_whole_outcome_and_the_payload_as_it_was_sent():
    said = end_entry(
        Outcome(
            status=State.FAILED,
            output=b'{"n":0.10}',
            error={"message": "no", "type": "t"},
            code=1,
            signal=None,
            resumable=True,
            session_ref="ref",
        )
    )
    assert bytes(said.data) == (
        b'{"code":1,"error":{"message":"no","type":"t"},"output":{"n":0.10},"resumable":true,'
        b'"session_ref":"ref","signal":null,"status":"failed"}'
    )


def test_output_and_error_share_256_kb_to_the_byte():
    error = {"message": "m" * 88}
    assert len(msgspec.json.encode(error)) == 102
    fits = b'"' + b"x" * (256 * 1024 - 102 - 2) + b'"'
    check_outcome(Outcome(status=State.FAILED, output=fits, error=error))
    with pytest.raises(PayloadTooLarge):
        check_outcome(Outcome(status=State.FAILED, output=fits + b" ", error=error))


def test_an_output_alone_may_take_256_kb():
    check_outcome(Outcome(status=State.COMPLETED, output=b"1" * 256 * 1024))
    with pytest.raises(PayloadTooLarge):
        check_outcome(Outcome(status=State.COMPLETED, output=b"1" * (256 * 1024 + 1)))
