"""Who may be resumed, what a resume begins anew, and what may be deleted."""

import msgspec
import pytest

from baton.domain.controlling import decide_delete, decide_resume, resumed_by
from baton.domain.handoff import Keep, set_apart
from baton.domain.run import CancelRequest, Ending, Lease
from baton.domain.states import Mode, State
from baton.errors import IdempotencyMismatch, InFlight
from tests.unit.domain.runs_at_hand import NOW, OPEN_STATES, TERMINAL_STATES, run_in

RESUMABLE = Ending(seq=1, at=NOW - 1, resumable=True)
REOPENABLE = (State.FAILED, State.CANCELLED, State.DEAD)


def resume(run, *, force=False, key=None):
    return decide_resume(run, force=force, key=key, rev="rev2", now=NOW)


@pytest.mark.parametrize("state", OPEN_STATES)
@pytest.mark.parametrize("force", [False, True])
def test_an_open_run_is_not_resumed(state, force):
    assert resume(run_in(state), force=force) is None


@pytest.mark.parametrize("state", REOPENABLE)
def test_a_settled_run_is_resumed_if_it_may_be_or_if_forced(state):
    assert resume(run_in(state, ending=RESUMABLE)) is not None
    assert resume(run_in(state)) is None
    assert resume(run_in(state), force=True) is not None


@pytest.mark.parametrize("force", [False, True])
def test_a_completed_run_is_never_resumed(force):
    assert resume(run_in(State.COMPLETED, ending=RESUMABLE), force=force) is None


@pytest.mark.parametrize("state", TERMINAL_STATES)
@pytest.mark.parametrize("force", [False, True])
def test_a_run_that_was_continued_is_never_resumed(state, force):
    assert resume(run_in(state, ending=RESUMABLE, continued_as="r2"), force=force) is None


def test_a_resume_begins_the_next_attempt_of_an_attached_run():
    settled = run_in(
        State.FAILED,
        ending=RESUMABLE,
        cancel=CancelRequest(at=NOW - 5),
        failures=2,
        inactivity_timeout_seconds=10,
    )
    step = resume(settled)
    assert step.run == msgspec.structs.replace(
        settled,
        rev="rev2",
        state=State.RUNNING,
        attempt=2,
        failures=0,
        updated_at=NOW,
        cancel=None,
        ending=None,
        expires_at=None,
        due_at=NOW + 10_000,
    )
    assert step.also == (Keep(set_apart(settled, rev="rev2", announce=False)),)
    (said,) = step.said
    assert (said.type, bytes(said.data)) == ("resumed", b'{"attempt":2}')
    step = decide_resume(settled, force=False, key=None, rev="rev2", now=NOW, by="t")
    assert step is not None
    (said,) = step.said
    assert bytes(said.data) == b'{"attempt":2,"by":"t"}'


def test_a_resumed_queued_run_waits_for_a_driver_unwatched():
    settled = run_in(
        State.DEAD, mode=Mode.QUEUED, claimed=True, lease=Lease("w", 1), inactivity_timeout_seconds=10
    )
    run = resume(settled, force=True).run
    assert (run.state, run.available_at, run.lease, run.due_at) == (State.PENDING, NOW, None, None)


def test_a_resumed_run_asks_its_drivers_for_their_attempt():
    assert resume(run_in(State.FAILED), force=True).run.fenced


def test_the_request_that_resumed_is_known_by_its_key():
    resumed = resume(run_in(State.FAILED, ending=RESUMABLE), key="key1").run
    assert resumed_by(resumed, "key1", force=False)
    assert not resumed_by(resumed, "key2", force=False)
    assert not resumed_by(resumed, None, force=False)


def test_a_repeated_resume_begins_no_further_attempt_once_its_own_has_settled():
    resumed = resume(run_in(State.FAILED, ending=RESUMABLE), key="key1").run
    again = msgspec.structs.replace(resumed, state=State.FAILED, ending=RESUMABLE)
    assert resume(again, key="key1") is None
    assert resumed_by(again, "key1", force=False)
    assert resume(again, key="key2").run.attempt == 3


def test_the_same_key_with_another_body_is_told_so():
    resumed = resume(run_in(State.FAILED, ending=RESUMABLE), key="key1").run
    settled = msgspec.structs.replace(resumed, state=State.FAILED, ending=RESUMABLE)
    for run in (resumed, settled):
        with pytest.raises(IdempotencyMismatch):
            resume(run, key="key1", force=True)


@pytest.mark.parametrize("state", TERMINAL_STATES)
def test_a_deleted_run_is_gone_from_now_on_also_by_a_clock_that_is_behind(state):
    run = run_in(state)
    step = decide_delete(run, rev="rev2", now=NOW)
    assert step.run == msgspec.structs.replace(run, rev="rev2", expires_at=NOW - 60_000, updated_at=NOW)
    assert step.run.expired(NOW - 5_000)
    assert step.said == ()


@pytest.mark.parametrize("state", OPEN_STATES)
def test_a_run_at_work_is_not_deleted(state):
    with pytest.raises(InFlight) as refused:
        decide_delete(run_in(state), rev="rev2", now=NOW)
    assert refused.value.run.state is state
