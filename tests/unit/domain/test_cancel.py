"""What a cancel does in every state: latch, settle, or leave the truth as it is."""

import msgspec
import pytest

from baton.domain.controlling import Cancel, decide_cancel
from baton.domain.run import CancelRequest, Lease, Step
from baton.domain.settling import Outcome, end_entry
from baton.domain.states import Mode, State
from baton.errors import IdempotencyMismatch
from tests.unit.domain.runs_at_hand import NOW, OPEN_STATES, T0, TERMINAL_STATES, run_in

LEASED = {"mode": Mode.QUEUED, "claimed": True, "lease": Lease("w", NOW + 1)}
LATCHED = CancelRequest(at=T0, reason="first")


def cancel(run, *, reason="why", force=False):
    return decide_cancel(run, Cancel(reason=reason, force=force), rev="rev2", now=NOW, grace_seconds=60)


@pytest.mark.parametrize("driven", [{}, LEASED])
def test_a_driven_run_latches_the_intent_and_says_it_in_its_log(driven):
    run = run_in(State.RUNNING, **driven)
    step = cancel(run)
    assert isinstance(step, Step)
    assert step.run == msgspec.structs.replace(
        run, rev="rev2", cancel=CancelRequest(at=NOW, reason="why"), updated_at=NOW, due_at=NOW + 60_000
    )
    (said,) = step.said
    assert (said.type, bytes(said.data)) == ("cancel", b'{"force":false,"reason":"why"}')


def test_the_sweep_is_called_for_the_end_of_the_grace_time_unless_it_looks_sooner():
    assert cancel(run_in(State.RUNNING, due_at=NOW + 60_001)).run.due_at == NOW + 60_000
    assert cancel(run_in(State.RUNNING, due_at=NOW + 59_999)).run.due_at == NOW + 59_999


def test_the_first_intent_stands():
    assert cancel(run_in(State.RUNNING, cancel=LATCHED), reason="second") is None


@pytest.mark.parametrize(
    "undriven",
    [
        run_in(State.PENDING, mode=Mode.QUEUED),
        run_in(State.SUSPENDED),
        run_in(State.SUSPENDED, mode=Mode.QUEUED, claimed=True),
        run_in(State.RUNNING, **{**LEASED, "lease": Lease("w", NOW)}),
        run_in(State.RUNNING, mode=Mode.QUEUED, claimed=True),
    ],
    ids=["pending", "suspended", "suspended queued", "lease ran out", "no lease"],
)
def test_a_run_that_nobody_drives_settles_at_once(undriven):
    outcome = cancel(undriven)
    assert outcome == Outcome(
        status=State.CANCELLED,
        error={"message": "why", "type": "cancelled"},
        cancel=CancelRequest(at=NOW, reason="why"),
    )


def test_the_log_tells_who_had_it_latched_and_who_had_it_settled():
    def told(run, force):
        done = decide_cancel(run, Cancel(force=force, by="t"), rev="r", now=NOW, grace_seconds=60)
        assert done is not None
        (said,) = (end_entry(done),) if isinstance(done, Outcome) else done.said
        return said.type, msgspec.json.decode(said.data)["by"]

    assert told(run_in(State.RUNNING), force=False) == ("cancel", "t")
    assert told(run_in(State.RUNNING, cancel=LATCHED), force=True) == ("end", "t")
    assert told(run_in(State.SUSPENDED), force=False) == ("end", "t")


@pytest.mark.parametrize("state", OPEN_STATES)
@pytest.mark.parametrize("driven", [{}, LEASED])
def test_force_settles_every_open_run(state, driven):
    outcome = cancel(run_in(state, **driven), force=True)
    assert isinstance(outcome, Outcome)
    assert outcome.status is State.CANCELLED


def test_force_settles_under_the_first_reason():
    outcome = cancel(run_in(State.RUNNING, cancel=LATCHED), reason="second", force=True)
    assert outcome.error == {"message": "first", "type": "cancelled"}


def test_without_a_reason_the_error_still_says_what_happened():
    assert cancel(run_in(State.PENDING), reason=None).error == {"message": "cancelled", "type": "cancelled"}


def test_a_cancelled_run_that_nobody_drove_is_not_resumable_unforced():
    assert cancel(run_in(State.PENDING)).resumable is False


@pytest.mark.parametrize("state", TERMINAL_STATES)
@pytest.mark.parametrize("force", [False, True])
def test_on_a_terminal_run_a_cancel_is_a_no_op(state, force):
    assert cancel(run_in(state), force=force) is None


def test_the_first_one_s_key_with_another_body_is_told_so_in_every_state():
    first = CancelRequest(at=T0, reason="first", key="K", body="B")
    for state in State:
        with pytest.raises(IdempotencyMismatch):
            decide_cancel(
                run_in(state, cancel=first), Cancel(key="K", body="other"), rev="r", now=NOW, grace_seconds=60
            )


def test_a_repeat_under_the_first_one_s_key_changes_nothing():
    first = CancelRequest(at=T0, reason="first", key="K", body="B")
    repeat = Cancel(reason="first", key="K", body="B")
    assert (
        decide_cancel(run_in(State.RUNNING, cancel=first), repeat, rev="r", now=NOW, grace_seconds=60) is None
    )
