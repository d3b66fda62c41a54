"""Who waits is told of until somebody claims it; what came of that stands in its row, whoever pushed."""

from __future__ import annotations

from contextlib import contextmanager
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from baton.domain.catalog import Batch, BatchMode, Target, TargetKind
from baton.domain.leasing import Claim, Release
from baton.domain.pushing import MAX_REFUSALS, Hint, Never, NotNow
from baton.domain.registering import Registration
from baton.domain.run import Push
from baton.domain.settling import Finish, Outcome
from baton.domain.starting import Succession
from baton.domain.states import Mode, State
from baton.domain.targets import TAG
from baton.errors import Unavailable
from baton.outbound.timers import Timers
from baton.services.permitting import ALLOWED_MS, REFUSED_MS
from baton.services.pushing import Pushed
from baton.services.sweep import Swept
from tests.unit.house import NS, House, before_each_call, calls_of, names_of, start
from tests.unit.services.acts import finish, replay, row, types_of
from tests.unit.services.endings_at_hand import BUILT, publish, register, settle, started
from tests.unit.services.targets_at_hand import OTHER, QUEUE, TARGET, Answers, at, pushed_run, registered

BUSY = NotNow("the queue is busy")
GONE = Never("the queue is gone")


@pytest.fixture(autouse=True)
def build(house: House):
    registered(house)


@pytest.fixture
def targets():
    return Answers()


def push(house: House, targets: Answers, run_id: str = "r1"):
    return at(house, targets).pusher.push(NS, run_id)


def sweep(house: House, targets: Answers) -> Swept:
    return at(house, targets).sweep.run()


def now_row(house: House, run_id: str = "r1"):
    return row(house.container(), run_id)


def claim(house: House, run_id: str = "r1"):
    return house.container().claims.claim_one(NS, run_id, Claim(worker_id="w1", lease_seconds=60)).run


@contextmanager
def timers():
    told: list[tuple[tuple[str, str], int]] = []
    with patch.object(Timers, "hint", lambda _self, keys, due_at: told.append((keys, due_at))):
        yield told


# A hint


def test_the_target_is_told_once_and_the_run_waits_to_be_claimed(house: House, targets: Answers):
    pushed_run(house)
    assert push(house, targets) is Pushed.TAKEN
    assert targets.told == [(QUEUE, Hint("r1", "build", NS, 1, None))]
    run = now_row(house)
    assert (run.state, run.push, run.announce) == (State.PENDING, Push(1), False)
    assert run.due_at == house.clock.now() + 300_000
    assert push(house, targets) is Pushed.NOTHING
    assert claim(house).attempt == 1
    assert types_of(replay(house.container(), "r1")) == ["start"]


def test_it_says_where_baton_serves(house: House, targets: Answers):
    house.settings = replace(house.settings, public_url="https://baton.example")
    pushed_run(house)
    push(house, targets)
    assert targets.told[0][1].url == "https://baton.example"


def test_it_costs_a_read_and_a_write_of_the_row(house: House, targets: Answers):
    pushed_run(house)
    runtime = at(house, targets)
    runtime.catalog.snapshot(NS)
    with calls_of(runtime) as calls:
        runtime.pusher.push(NS, "r1")
    assert names_of(calls) == ["GetItem", "UpdateItem"]


@pytest.mark.parametrize("run_id", ["absent", "attached", "claimed", "settled", "workers"])
def test_nobody_is_told_of_what_does_not_wait_to_be_pushed(house: House, targets: Answers, run_id: str):
    pushed_run(house, "attached", mode=Mode.ATTACHED)
    pushed_run(house, "claimed")
    claim(house, "claimed")
    pushed_run(house, "settled")
    finish(house.container(), "settled", attempt=1)
    pushed_run(house, "workers", workflow="another", mode=Mode.QUEUED)
    house.clock.advance(3600)
    assert push(house, targets, run_id) is Pushed.NOTHING
    assert targets.told == []


def test_what_nobody_claims_is_told_of_again_and_again_by_the_sweep(house: House, targets: Answers):
    pushed_run(house)
    push(house, targets)
    for minutes in (5, 10, 20, 40, 60, 60):
        told = len(targets.told)
        house.clock.advance(minutes * 60 - 0.001)
        assert sweep(house, targets) == Swept()
        house.clock.advance(0.001)
        assert sweep(house, targets) == Swept(pushed=1)
        assert len(targets.told) == told + 1
    assert now_row(house).state is State.PENDING
    claim(house)
    assert now_row(house).due_at == house.clock.now() + 62_000


def test_what_no_stream_told_of_is_the_sweeps(house: House, targets: Answers):
    pushed_run(house)
    assert sweep(house, targets) == Swept(pushed=1)
    assert targets.run_ids == ["r1"]
    assert sweep(house, targets) == Swept()


def test_a_run_that_is_available_later_is_pushed_then_to_which_a_timer_is_set(house, targets):
    later = house.clock.now() + 60_000
    pushed_run(house, available_at=later)
    with timers() as told:
        assert push(house, targets) is Pushed.NOTHING
    assert told == [((f"{NS}#r1", "run"), later)]
    house.clock.advance(59.999)
    assert sweep(house, targets) == Swept()
    house.clock.advance(0.001)
    assert sweep(house, targets) == Swept(pushed=1)
    assert targets.run_ids == ["r1"]


def test_each_push_of_a_row_as_it_stands_has_a_mark_of_its_own(house: House, targets: Answers):
    pushed_run(house)
    rev = now_row(house).rev
    push(house, targets)
    house.clock.advance(300)
    sweep(house, targets)
    assert targets.marks[0] == rev
    assert len(set(targets.marks)) == 2


# Refused


def test_refused_for_now_it_is_told_again_soon_to_which_a_timer_is_set(house: House):
    targets = Answers(BUSY, BUSY)
    pushed_run(house)
    with timers() as told:
        assert push(house, targets) is Pushed.PUT_OFF
    run = now_row(house)
    assert (run.state, run.push, run.announce) == (State.PENDING, Push(0, 1), False)
    assert told == [((f"{NS}#r1", "run"), run.due_at)]
    assert 2500 <= run.due_at - house.clock.now() <= 5000
    house.clock.advance(5)
    assert sweep(house, targets) == Swept(postponed=1)
    house.clock.advance(10)
    assert sweep(house, targets) == Swept(pushed=1)
    assert now_row(house).push == Push(1)


def test_refused_ten_times_in_a_row_it_fails_resumable_and_says_why(house: House):
    targets = Answers(*[BUSY] * MAX_REFUSALS)
    pushed_run(house)
    for _ in range(MAX_REFUSALS - 1):
        assert push(house, targets) is Pushed.PUT_OFF
        house.clock.advance(300)
    assert sweep(house, targets) == Swept(settled=1)
    detail = house.container().runs.get(NS, "r1")
    ending = detail.run.ending
    assert (detail.run.state, ending and ending.resumable) == (State.FAILED, True)
    assert detail.error == b'{"message":"the queue is busy (10 times in a row)","type":"target"}'
    assert types_of(replay(house.container(), "r1")) == ["start", "end"]


def test_refused_for_good_it_fails_at_once_and_its_ending_is_owed(house: House):
    register(house, "mend", "run.failed:build")
    pushed_run(house)
    assert push(house, Answers(GONE)) is Pushed.SETTLED
    assert now_row(house).settlement.owed == ("mend",)
    publish(house, "r1")
    assert len(started(house, "mend")) == 1


def test_resumed_after_that_it_is_pushed_anew(house: House, targets: Answers):
    pushed_run(house)
    push(house, Answers(GONE))
    assert house.container().control.resume(NS, "r1", force=False, key=None).resumed
    assert push(house, targets) is Pushed.TAKEN
    assert targets.told == [(QUEUE, Hint("r1", "build", NS, 2, None))]
    assert (claim(house).attempt, now_row(house).state) == (2, State.RUNNING)


def test_a_target_that_is_set_right_counts_at_once(house: House):
    pushed_run(house)
    runtime, targets = house.container(), Answers(GONE)
    vars(runtime._context)["targets"] = targets
    runtime.catalog.snapshot(NS)
    registered(house, arn=OTHER)
    assert runtime.pusher.push(NS, "r1") is Pushed.TAKEN
    assert [arn for arn, _ in targets.told] == [QUEUE, OTHER]


def test_a_container_that_does_not_know_the_workflow_yet_looks_again(house: House, targets: Answers):
    runtime = at(house, targets)
    runtime.catalog.snapshot(NS)
    registered(house, "new")
    pushed_run(house, workflow="new")
    assert runtime.pusher.push(NS, "r1") is Pushed.TAKEN


@pytest.mark.parametrize("left", ["unregistered", "a worker's"])
def test_a_workflow_without_a_target_any_more_leaves_its_runs_to_whoever_claims(house, targets, left):
    pushed_run(house)
    if left == "unregistered":
        house.container().workflows.delete(NS, "build")
    else:
        wish = Target(TargetKind.WORKER)
        register(house, "build", target=wish)
    assert push(house, targets) is Pushed.PUT_OFF
    run = now_row(house)
    assert (run.push, run.announce, run.due_at, run.state) == (None, False, None, State.PENDING)
    assert targets.told == []
    assert claim(house).state is State.RUNNING


# Meanwhile


def test_a_run_that_is_claimed_while_its_target_is_told_stays_claimed(house: House, targets: Answers):
    pushed_run(house)
    targets.then = lambda _hint: claim(house)
    assert push(house, targets) is Pushed.NOTHING
    run = now_row(house)
    assert (run.state, run.announce, run.due_at) == (State.RUNNING, False, house.clock.now() + 62_000)


@pytest.mark.parametrize("answer", [BUSY, GONE])
def test_also_where_the_target_says_no(house: House, answer: NotNow | Never):
    targets = Answers(*[answer] * 2)
    pushed_run(house)
    targets.then = lambda _hint: claim(house) if len(targets.told) == 1 else None
    assert push(house, targets) is Pushed.NOTHING
    assert now_row(house).state is State.RUNNING


def test_two_pushers_at_once_tell_it_twice_and_one_of_them_records_it(house: House, targets: Answers):
    pushed_run(house)
    other, done = Answers(), []
    targets.then = lambda _hint: done.append(push(house, other))
    assert push(house, targets) is Pushed.NOTHING
    assert done == [Pushed.TAKEN]
    assert now_row(house).push == Push(1)
    assert targets.marks == other.marks


def test_a_store_that_fails_leaves_the_run_to_whoever_comes_next(house: House, targets: Answers):
    pushed_run(house)
    runtime = at(house, targets)

    def fail(operation, _request):
        if operation == "UpdateItem":
            raise Unavailable("not now")

    with before_each_call(runtime, fail), pytest.raises(Unavailable):
        runtime.pusher.push(NS, "r1")
    assert sweep(house, targets) == Swept(pushed=1)
    assert targets.run_ids == ["r1", "r1"]


# However it comes to wait


def test_what_a_hand_off_starts_is_pushed(house: House, targets: Answers):
    registered(house, "report", subscribes=())
    register(house, "report", BUILT, target=TARGET)
    settle(house, "r1", mode=Mode.ATTACHED)
    publish(house, "r1")
    [run_id] = started(house, "report")
    assert push(house, targets, run_id) is Pushed.TAKEN


@pytest.mark.parametrize("mode", BatchMode)
def test_what_a_window_becomes_is_pushed(house: House, targets: Answers, mode: BatchMode):
    register(house, "digest", BUILT, target=TARGET, batch=Batch(mode=mode, window_seconds=10))
    settle(house, "r1", mode=Mode.ATTACHED)
    publish(house, "r1")
    house.clock.advance(10)
    at(house, targets).sweep.run()  # which may push it itself
    [run_id] = started(house, "digest")
    push(house, targets, run_id)
    assert targets.run_ids == [run_id]


def test_what_a_run_goes_on_as_is_pushed(house: House, targets: Answers):
    pushed_run(house)
    push(house, targets)
    claim(house)
    wish = Finish(outcome=Outcome(status=State.COMPLETED), attempt=1, succession=Succession(run_id="r2"))
    house.container().finishes.finish(NS, "r1", wish)
    assert push(house, targets, "r2") is Pushed.TAKEN


def test_what_its_worker_releases_is_pushed_anew(house: House, targets: Answers):
    pushed_run(house)
    push(house, targets)
    claim(house)
    house.container().leases.release(NS, "r1", Release(worker_id="w1", attempt=1))
    assert push(house, targets) is Pushed.TAKEN
    assert now_row(house).push == Push(1)


def test_what_is_taken_back_from_a_worker_that_is_gone_is_pushed_anew_once_it_may_be_claimed(house, targets):
    pushed_run(house)
    push(house, targets)
    claim(house)
    house.clock.advance(62)
    assert sweep(house, targets) == Swept(postponed=1)
    run = now_row(house)
    assert (run.state, run.push, run.due_at) == (State.PENDING, Push(), run.available_at)
    house.clock.advance(1)
    assert sweep(house, targets) == Swept(pushed=1)
    assert targets.run_ids == ["r1", "r1"]


# Who may


@pytest.fixture
def strict(house: House):
    house.settings = replace(house.settings, events_bus="events", timers_queue_url="http://x/1/ticks")
    return house


@pytest.mark.parametrize("name", ["baton-work", "ticks"])
def test_batons_own_are_never_pushed_to_whatever_is_allowed(strict: House, targets: Answers, name: str):
    strict.settings = replace(strict.settings, targets_allowed=("*",))
    registered(strict, arn=f"arn:aws:sqs:eu-central-1:123456789012:{name}")
    pushed_run(strict)
    assert push(strict, targets) is Pushed.SETTLED
    assert (targets.told, targets.looks) == ([], [])
    error = strict.container().runs.get(NS, "r1").error
    assert error is not None and b"Baton's own" in error


def test_nor_is_its_bus(strict: House, targets: Answers):
    bus = Target(TargetKind.EVENTBRIDGE, "arn:aws:events:eu-central-1:123456789012:event-bus/events")
    register(strict, "build", target=bus)
    pushed_run(strict)
    assert push(strict, targets) is Pushed.SETTLED
    assert targets.told == []


@pytest.mark.parametrize("tags", [{}, {TAG: "another"}, {TAG.upper(): NS}])
def test_a_target_without_the_namespaces_tag_is_not_pushed_to_and_it_is_said_why(house, targets, tags):
    targets.tags_are = tags
    pushed_run(house)
    assert push(house, targets) is Pushed.SETTLED
    assert targets.told == []
    assert f"{TAG}={NS}".encode() in house.container().runs.get(NS, "r1").error


def test_tags_that_can_not_be_read_now_refuse_for_now(house: House, targets: Answers):
    targets.tags_are = NotNow("throttled")
    pushed_run(house)
    assert push(house, targets) is Pushed.PUT_OFF
    assert (targets.told, now_row(house).push) == ([], Push(0, 1))


def test_what_the_deployment_lists_needs_no_tag(house: House, targets: Answers):
    house.settings = replace(house.settings, targets_allowed=("arn:aws:sqs:*:123456789012:jobs",))
    targets.tags_are = {}
    pushed_run(house)
    assert push(house, targets) is Pushed.TAKEN
    assert targets.looks == []


def test_a_look_at_the_right_tag_serves_five_minutes(house: House, targets: Answers):
    runtime = at(house, targets)

    def pushed(run_id):
        pushed_run(house, run_id)
        return runtime.pusher.push(NS, run_id)

    assert pushed("r1") is Pushed.TAKEN
    targets.tags_are = {}
    house.clock.advance((ALLOWED_MS - 1) / 1000)
    assert pushed("r2") is Pushed.TAKEN
    house.clock.advance(0.001)
    assert pushed("r3") is Pushed.SETTLED
    assert len(targets.looks) == 2
    targets.tags_are = {TAG: NS}
    house.clock.advance(REFUSED_MS / 1000)
    assert pushed("r4") is Pushed.TAKEN


def test_a_clock_that_is_set_back_makes_no_look_serve_longer(house: House, targets: Answers):
    runtime = at(house, targets)
    pushed_run(house, "r1")
    assert runtime.pusher.push(NS, "r1") is Pushed.TAKEN
    targets.tags_are = {}
    house.clock.set_back(3600)
    pushed_run(house, "r2")
    assert runtime.pusher.push(NS, "r2") is Pushed.SETTLED


def test_a_look_for_one_namespace_says_nothing_of_another(house: House, targets: Answers):
    wish = Registration(namespace="another", name="build", target=TARGET)
    house.container().workflows.put(wish)
    pushed_run(house)
    start(house.container(), run_id="r1", namespace="another")
    runtime = at(house, targets)
    assert runtime.pusher.push(NS, "r1") is Pushed.TAKEN
    assert runtime.pusher.push("another", "r1") is Pushed.SETTLED
    assert len(targets.told) == 1
