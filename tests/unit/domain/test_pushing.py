"""What a target's answer does to the run that was pushed, and which runs are pushed at all."""

import pytest
from msgspec.structs import replace

from baton.domain.catalog import DEFAULT_BACKOFF, Target, TargetKind, Workflow
from baton.domain.leasing import Release, decide_release
from baton.domain.pushing import MAX_REFUSALS, Hint, Never, NotNow, Taken, answered, hint, to_push, unpushed
from baton.domain.queueing import pushed_to, to_queue
from baton.domain.run import CancelRequest, Lease, Push, Run, Step
from baton.domain.settling import Outcome
from baton.domain.starting import HandOff, Start, Succession, bear, bear_handed, bear_successor
from baton.domain.states import Mode, State
from baton.domain.sweeping import Patience, decide_due, pushers
from tests.unit.domain.runs_at_hand import NOW, T0, run_in, tail_at

GRACE = 60
QUEUE = Target(TargetKind.SQS, "arn:aws:sqs:eu-central-1:123456789012:jobs")
MINUTE = 60_000


def waiting(push=Push(), **change):  # noqa: B008 - it never changes
    given = {"mode": Mode.QUEUED, "push": push, "announce": True, "available_at": T0, "due_at": T0}
    return run_in(State.PENDING, **{**given, **change})


def registered(target=QUEUE):
    return Workflow(namespace="default", name="build", target=target, created_at=T0, updated_at=T0, rev="v")


def after(run, answer, *, chance=0.0):
    return answered(run, run.push, answer, chance=chance, rev="rev2", now=NOW, grace_seconds=GRACE)


def born(target=QUEUE, **wish):
    command = Start(namespace="default", workflow="build", body="b", **wish)
    workflow = None if target is None else registered(target)
    return bear(command, workflow, run_id="r1", birth="b1", rev="v", alias_id=None, now=NOW).run


# Which runs are pushed


@pytest.mark.parametrize("mode", [None, Mode.QUEUED])
def test_a_queued_start_of_a_workflow_with_a_target_is_to_be_pushed_from_its_birth_on(mode):
    run = born(mode=mode)
    assert to_push(run)
    assert (run.state, run.announce, run.available_at, run.due_at) == (State.PENDING, True, NOW, NOW)


def test_one_that_is_available_later_is_due_then():
    run = born(available_at=NOW + MINUTE)
    assert (run.announce, run.available_at, run.due_at) == (True, NOW + MINUTE, NOW + MINUTE)


@pytest.mark.parametrize("target", [None, Target(TargetKind.WORKER)])
def test_a_worker_is_not_pushed_to(target):
    run = born(target, mode=Mode.QUEUED)
    assert (run.state, run.push, run.announce, run.due_at) == (State.PENDING, None, False, None)


def test_an_attached_start_is_its_callers_whatever_the_target():
    run = born(mode=Mode.ATTACHED)
    assert (run.state, run.push, run.announce) == (State.RUNNING, None, False)


@pytest.mark.parametrize("pushed", [True, False])
def test_a_handed_run_is_pushed_where_its_workflow_has_a_target(pushed):
    wish = HandOff(
        namespace="default",
        workflow="build",
        run_id="h~1",
        input=b"1",
        triggered_by=None,
        depth=1,
        pushed=pushed,
    )
    run = bear_handed(wish, birth="b1", rev="v", now=NOW).run
    assert (to_push(run), run.announce, run.due_at) == (pushed, pushed, NOW if pushed else None)


def test_what_continues_a_pushed_run_is_pushed_anew_and_cancelled_in_time():
    running = run_in(State.RUNNING, mode=Mode.QUEUED, push=Push(3, 2), cancel=CancelRequest(at=NOW))
    run = bear_successor(running, Succession(), birth="b2", rev="v", now=NOW, grace_seconds=GRACE).run
    assert (run.push, run.announce, run.due_at) == (Push(), True, NOW)
    attached = replace(running, mode=Mode.ATTACHED, push=None)
    run = bear_successor(attached, Succession(), birth="b2", rev="v", now=NOW, grace_seconds=GRACE).run
    assert (run.push, run.announce, run.due_at) == (None, False, NOW + GRACE * 1000)


def test_whatever_comes_back_to_the_queue_is_pushed_anew_when_it_is_available():
    lease = Lease("w1", NOW + MINUTE, NOW)
    held = run_in(State.RUNNING, mode=Mode.QUEUED, push=Push(3, 2), lease=lease, claimed=True)
    release = Release(worker_id="w1", attempt=1, delay_seconds=60)
    step = decide_release(held, release, DEFAULT_BACKOFF, chance=1, rev="v", now=NOW)
    assert isinstance(step, Step)
    run = step.run
    assert (run.push, run.announce, run.available_at, run.due_at) == (
        Push(),
        True,
        NOW + MINUTE,
        NOW + MINUTE,
    )


def test_the_target_of_whoever_claims_is_none_to_push_to():
    assert pushed_to(registered()) == QUEUE
    assert pushed_to(registered(Target(TargetKind.WORKER))) is None
    assert pushed_to(registered(None)) is None
    assert pushed_to(None) is None


@pytest.mark.parametrize("state", [state for state in State if state is not State.PENDING])
def test_only_what_waits_is_pushed(state):
    assert not to_push(run_in(state, mode=Mode.QUEUED, push=Push()))


def test_a_target_is_told_what_it_needs_to_claim_the_run():
    told = hint(waiting(attempt=3), "https://baton.example")
    assert told == Hint("r1", "build", "default", 3, "https://baton.example")


# What an answer does


@pytest.mark.parametrize(
    ("taken", "minutes"), [(0, 5), (1, 10), (2, 20), (3, 40), (4, 60), (5, 60), (10**9, 60)]
)
def test_a_hint_that_was_taken_is_sent_again_if_nobody_claims_less_and_less_often(taken, minutes):
    step = after(waiting(Push(taken, 4)), Taken())
    run = step.run
    assert (run.push, run.announce, run.due_at) == (Push(taken + 1), False, NOW + minutes * MINUTE)
    assert (run.state, run.rev, step.said) == (State.PENDING, "rev2", ())


@pytest.mark.parametrize(
    ("refused", "seconds"), [(0, 5), (1, 10), (2, 20), (5, 160), (6, 300), (MAX_REFUSALS - 2, 300)]
)
@pytest.mark.parametrize(("chance", "part"), [(0.0, 1.0), (0.5, 0.75), (1.0, 0.5)])
def test_one_that_was_refused_is_sent_again_after_twice_as_long_each_time(refused, seconds, chance, part):
    run = after(waiting(Push(2, refused)), NotNow("busy"), chance=chance).run
    assert (run.push, run.announce) == (Push(2, refused + 1), False)
    assert run.due_at == NOW + round(seconds * part * 1000)


def test_refused_ten_times_in_a_row_the_run_fails_resumable_with_the_reason():
    assert after(waiting(Push(2, MAX_REFUSALS - 1)), NotNow("the queue is busy")) == Outcome(
        status=State.FAILED,
        error={"message": "the queue is busy (10 times in a row)", "type": "target"},
        resumable=True,
    )


@pytest.mark.parametrize("push", [Push(), Push(3), Push(0, 5)])
def test_refused_for_good_it_fails_at_once(push):
    assert after(waiting(push), Never("no such queue")) == Outcome(
        status=State.FAILED, error={"message": "no such queue", "type": "target"}, resumable=True
    )


def test_a_run_that_is_told_to_end_is_cancelled_rather_than_failed():
    told = CancelRequest(at=NOW - MINUTE, reason="enough")
    outcome = after(waiting(cancel=told), Never("no such queue"))
    assert isinstance(outcome, Outcome)
    assert (outcome.status, outcome.cancel) == (State.CANCELLED, told)


@pytest.mark.parametrize("answer", [Taken(), NotNow("busy")])
def test_and_is_looked_at_when_its_grace_is_over(answer):
    run = waiting(Push(0, 3), cancel=CancelRequest(at=NOW - GRACE * 1000 + 7))
    assert after(run, answer).run.due_at == NOW + 7


def test_without_a_target_it_waits_for_whoever_claims_it():
    run = unpushed(waiting(Push(3, 2)), rev="rev2", grace_seconds=GRACE).run
    assert (run.push, run.announce, run.due_at, run.queued) == (None, False, None, True)
    told = waiting(cancel=CancelRequest(at=NOW))
    assert unpushed(told, rev="rev2", grace_seconds=GRACE).run.due_at == NOW + GRACE * 1000


# Beside the sweep's other words


def due(run: Run):
    patience = Patience(grace_seconds=GRACE, skew_seconds=2)
    return decide_due(run, tail_at(), patience, rev="rev2", now=NOW)


def test_the_due_time_of_a_run_that_is_to_be_pushed_is_the_pushers():
    assert pushers(waiting(), GRACE, NOW)
    assert due(waiting()) is None
    assert not pushers(waiting(None), GRACE, NOW)
    assert not pushers(run_in(State.RUNNING, mode=Mode.QUEUED, push=Push()), GRACE, NOW)


def test_but_one_whose_cancel_is_over_is_cancelled_and_not_pushed():
    late = CancelRequest(at=NOW - GRACE * 1000)
    assert not pushers(waiting(cancel=late), GRACE, NOW)
    assert isinstance(due(waiting(cancel=late)), Outcome)
    assert pushers(waiting(cancel=replace(late, at=late.at + 1)), GRACE, NOW)


def test_coming_back_keeps_the_sooner_of_the_push_and_the_end_of_its_grace():
    told = run_in(State.RUNNING, mode=Mode.QUEUED, push=Push(), cancel=CancelRequest(at=T0), due_at=NOW + 5)
    assert to_queue(told, NOW).due_at == NOW
    assert to_queue(told, NOW + 10).due_at == NOW + 5
