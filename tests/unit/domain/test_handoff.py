"""What an ending owes, where its settlement stands, what subscribers get, and when the run may expire."""

import msgspec
import pytest
from msgspec.structs import replace

from baton.domain.controlling import decide_delete, decide_resume
from baton.domain.handoff import Keep, Settled, ending_payload
from baton.domain.run import Ending
from baton.domain.settlement import Chain, Delivery, DeliveryState, PublishLease, Settlement
from baton.domain.settling import Outcome, settle
from baton.domain.states import State
from baton.errors import StillOwed
from tests.unit.domain.runs_at_hand import NOW, run_in

DONE = Outcome(status=State.COMPLETED)
MANY = tuple(f"subscriber-{number}" for number in range(9))


def settled(run=None, outcome=DONE, owed=("report",)):
    run = run_in(State.RUNNING) if run is None else run
    return settle(
        run,
        outcome,
        seq=1,
        rev="rev2",
        now=NOW,
        owed=owed,
        sweep_after_seconds=30,
        retention_seconds=100,
    )


def started(subscriber="report", **fields):
    return Delivery(subscriber, DeliveryState.STARTED, NOW + 5, **fields)


def record(ending, settlement, *, retention_seconds=100, announce=False):
    return ending.recorded(
        settlement, rev="rev3", look_at=NOW + 9, retention_seconds=retention_seconds, announce=announce
    )


# Settling


def test_a_settle_owes_its_subscribers_and_is_due_and_announced_and_kept():
    run = settled().run
    assert run.settlement == Settlement(owed=("report",))
    assert run.announce
    assert run.due_at == NOW + 30_000
    assert run.expires_at is None


def test_a_settle_that_owes_nobody_expires_and_is_never_due():
    run = settled(owed=()).run
    assert not run.settlement.marked
    assert (run.due_at, run.expires_at) == (None, NOW + 100_000)


def test_a_settle_that_could_not_read_whom_it_owes_says_so():
    run = settled(owed=None).run
    assert run.settlement == Settlement(unresolved=True)
    assert (run.due_at, run.expires_at) == (NOW + 30_000, None)


@pytest.mark.parametrize("owed", [("report",), None])
def test_a_reserved_workflow_and_a_run_that_goes_on_publish_nothing(owed):
    reserved = settled(run_in(State.RUNNING, workflow="__internal"), owed=owed).run
    goes_on = settled(outcome=replace(DONE, continued_as="r2"), owed=owed).run
    assert not reserved.settlement.marked
    assert not goes_on.settlement.marked
    assert goes_on.continued_as == "r2"


def test_waiters_keep_the_marker_of_a_run_that_owes_nobody():
    waited_on = run_in(State.RUNNING, settlement=Settlement(waiters=2))
    run = settled(waited_on, owed=()).run
    assert run.settlement == Settlement(waiters=2)
    assert (run.due_at, run.expires_at) == (NOW + 30_000, None)


def test_more_subscribers_than_a_row_holds_stand_in_an_item_of_their_own():
    step = settled(owed=MANY)
    (keep,) = step.also
    assert isinstance(keep, Keep)
    assert keep.over is None
    assert keep.apart.settlement.owed == MANY
    assert (keep.apart.due_at, keep.apart.announce, keep.apart.attempt) == (NOW + 30_000, True, 1)
    assert (step.run.settlement, step.run.apart, step.run.due_at) == (Settlement(), 1, None)
    assert step.run.ending.apart
    assert step.run.expires_at is None
    assert not step.run.announce


def test_long_names_leave_the_row_sooner():
    assert settled(owed=("a" * 128, "b" * 128)).also == ()
    assert settled(owed=("a" * 128, "b" * 128, "c")).also != ()


# Recording


def test_once_all_is_delivered_the_run_expires_counted_from_its_settling():
    ending = Settled(settled().run)
    step = record(ending, ending.settlement.delivered([started()]))
    assert step.run.settlement == Settlement(deliveries=(started(),))
    assert not step.run.announce
    assert (step.run.due_at, step.run.expires_at) == (None, NOW + 100_000)
    assert step.also == ()


def test_while_one_is_owed_somebody_looks_again_and_nothing_expires():
    ending = Settled(settled(owed=("bill", "report")).run)
    step = record(ending, ending.settlement.delivered([started()]))
    assert step.run.settlement.owed == ("bill",)
    assert (step.run.due_at, step.run.expires_at) == (NOW + 9, None)


def test_an_input_in_an_open_window_keeps_its_run_without_a_marker():
    ending = Settled(settled().run)
    buffered = Delivery("report", DeliveryState.COALESCED, NOW, run_id="b~1", buffered=True)
    run = record(ending, ending.settlement.delivered([buffered])).run
    assert not run.settlement.marked
    assert (run.due_at, run.expires_at) == (NOW + 9, None)
    fired = record(Settled(run), run.settlement.delivered([replace(buffered, buffered=False)])).run
    assert (fired.due_at, fired.expires_at) == (None, NOW + 100_000)


def test_recording_gives_the_publish_lease_up():
    ending = Settled(settled().run)
    taken = ending.after(ending.leased(PublishLease("me", NOW + 30), rev="rev3"))
    assert taken.settlement.lease == PublishLease("me", NOW + 30)
    assert taken.run.announce
    assert record(taken, taken.settlement.delivered([started()])).run.settlement.lease is None


def test_what_was_deleted_is_not_brought_back_by_a_recording():
    run = replace(settled(owed=()).run, expires_at=NOW - 60_000)
    assert record(Settled(run), run.settlement).run.expires_at == NOW - 60_000


def test_owing_again_takes_the_expiry_back():
    run = settled(owed=()).run
    step = record(Settled(run), run.settlement.owing(["late"]), announce=True)
    assert step.run.settlement.owed == ("late",)
    assert step.run.expires_at is None
    assert step.run.announce


def test_a_settlement_that_outgrows_its_row_moves():
    ending = Settled(settled().run)
    step = record(ending, ending.settlement.owing(MANY))
    (keep,) = step.also
    assert keep.apart.settlement.owed == tuple(sorted({*MANY, "report"}))
    assert step.run.ending.apart
    assert (step.run.apart, step.run.due_at, step.run.expires_at) == (1, None, None)


def test_a_later_success_clears_what_failed_before():
    failed = Delivery("report", DeliveryState.FAILED, NOW, error="no")
    settlement = Settlement(deliveries=(failed,)).delivered([started()])
    assert settlement.deliveries == (started(),)


# Apart


def apart_ending():
    step = settled(owed=MANY)
    return Settled(step.run, step.also[0].apart)


def test_the_run_expires_with_the_last_delivery_of_an_item_of_its_own():
    ending = apart_ending()
    some = record(ending, ending.settlement.delivered([started(MANY[0])]))
    assert some.run is ending.run
    assert some.also[0].over == ending.apart.rev
    assert some.also[0].apart.due_at == NOW + 9
    all_ = record(ending, ending.settlement.delivered([started(name) for name in MANY]))
    assert (all_.run.apart, all_.run.expires_at) == (0, NOW + 100_000)
    assert all_.run.rev == all_.also[0].apart.rev
    assert all_.also[0].apart.due_at is None


def test_an_item_that_owes_again_keeps_the_run_again():
    ending = apart_ending()
    done = ending.after(record(ending, ending.settlement.delivered([started(name) for name in MANY])))
    again = record(done, done.settlement.owing(["late"]))
    assert (again.run.apart, again.run.expires_at) == (1, None)


# Resuming


def failed_and_resumed():
    failed = settled(outcome=Outcome(status=State.FAILED, resumable=True)).run
    step = decide_resume(failed, force=False, key=None, rev="rev3", now=NOW + 50)
    assert step is not None
    (keep,) = step.also
    return failed, step.run, keep.apart


def test_a_resume_moves_what_the_attempt_before_owes_out_of_the_new_ones_way():
    failed, resumed, apart = failed_and_resumed()
    assert (resumed.settlement, resumed.apart, resumed.announce) == (Settlement(), 1, False)
    assert apart.settlement == failed.settlement
    assert (apart.attempt, apart.state, apart.due_at) == (1, State.FAILED, failed.due_at)
    assert apart.announce
    assert apart.ending == replace(failed.ending, apart=True)


def test_both_endings_of_a_resumed_run_are_told_apart():
    _, resumed, apart = failed_and_resumed()
    first = Settled(resumed, apart)
    second = Settled(settled(resumed).run)
    assert (first.event, first.attempt) == ("run.failed:build", 1)
    assert (second.event, second.attempt) == ("run.completed:build", 2)
    assert first.event_id != second.event_id
    assert first.started_id("report") != second.started_id("report")


def test_a_run_that_owes_for_an_earlier_attempt_does_not_expire():
    _, resumed, apart = failed_and_resumed()
    completed = settled(resumed, owed=()).run
    assert completed.expires_at is None
    step = record(Settled(completed, apart), apart.settlement.delivered([started()]))
    assert step.run.expires_at == NOW + 100_000


# Deleting


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"settlement": Settlement(owed=("report",))}, "owed to report"),
        ({"settlement": Settlement(unresolved=True)}, "not known yet"),
        ({"settlement": Settlement(waiters=1)}, "wait for it"),
        (
            {"settlement": Settlement(deliveries=(started(buffered=True),))},
            "open window",
        ),
        ({"apart": 1}, "item of its own"),
    ],
)
def test_what_must_be_kept_is_not_deleted_and_the_refusal_says_why(change, said):
    run = run_in(State.COMPLETED, **change)
    with pytest.raises(StillOwed, match=said) as refused:
        decide_delete(run, rev="rev2", now=NOW)
    assert refused.value.run is run


# What subscribers get


def test_subscribers_get_the_ending_as_the_contract_has_it():
    run = run_in(
        State.FAILED,
        context_ref="ticket",
        tags=("a",),
        traceparent="00-x",
        attempt=3,
        chain=Chain("r0", 2),
        ending=Ending(seq=7, at=NOW, error=True, code=3, signal="SIGKILL"),
    )
    payload = ending_payload(Settled(run), b'{"n":0.10}', b'{"message":"no"}')
    assert b'"output":{"n":0.10}' in payload
    assert msgspec.json.decode(payload) == {
        "event": "run.failed:build",
        "id": "birth1.3",
        "run": {
            "id": "r1",
            "workflow": "build",
            "namespace": "default",
            "attempt": 3,
            "state": "failed",
            "context_ref": "ticket",
            "tags": ["a"],
            "output": {"n": 0.1},
            "error": {"message": "no"},
            "code": 3,
            "signal": "SIGKILL",
            "started_at": "1970-01-01T00:16:40.000Z",
            "ended_at": "1970-01-01T00:17:40.000Z",
            "traceparent": "00-x",
        },
        "chain": {"first_run_id": "r0", "length": 2},
    }


def test_a_run_alone_is_a_chain_of_one():
    payload = msgspec.json.decode(ending_payload(Settled(run_in(State.COMPLETED)), b"null", None))
    assert payload["chain"] == {"first_run_id": "r1", "length": 1}
    assert payload["run"]["error"] is None


def test_the_derived_id_is_the_same_length_at_any_depth():
    deep = Settled(run_in(State.COMPLETED, id="h~" + "a" * 32, depth=63, workflow="w" * 128))
    assert len(deep.started_id("s" * 128)) == len(Settled(run_in(State.COMPLETED)).started_id("s")) == 34
