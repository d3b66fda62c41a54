"""Claims: whose turn it is, what a worker gets, and that it waits for what is not there yet."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from baton.domain.controlling import Cancel
from baton.domain.payload import canonical
from baton.domain.states import Mode, State
from baton.errors import InFlight, NotFound, RunTerminal, StreamConflict, Unavailable
from tests.unit.domain.runs_at_hand import lease_of
from tests.unit.house import NS, before_each_call, calls_of, names_of, start
from tests.unit.services.acts import (
    append,
    claim,
    claim_one,
    finish,
    release,
    replay,
    row,
    types_of,
)


def queue(runtime, *run_ids, **wish) -> None:
    """Start queued runs, a millisecond after each other."""
    for run_id in run_ids:
        start(runtime, run_id=run_id, **{"mode": Mode.QUEUED, **wish})
        runtime.clock.advance(0.001)


def ids(claimed) -> list[str]:
    return [detail.run.id for detail in claimed]


def claimed_one_by_one(runtime, *workflows, times) -> list[str]:
    return [run_id for _ in range(times) for run_id in ids(claim(runtime, *workflows))]


# What a worker gets


def test_a_claimed_run_is_held_by_its_worker_and_everyone_sees_it(house, runtime):
    queue(runtime, "r1", input=canonical({"page": 7}))
    [detail] = claim(house.container(), worker="w9", seconds=30)
    run = detail.run
    assert (run.state, run.attempt, run.claimed) == (State.RUNNING, 1, True)
    assert lease_of(run).worker_id == "w9"
    assert lease_of(run).expires_at == house.clock.now() + 30_000
    assert detail == house.container().runs.get(NS, "r1")
    assert detail.input == b'{"page":7}'
    assert types_of(replay(runtime, "r1")) == ["start"]


def test_a_large_input_comes_with_it(house, runtime):
    queue(runtime, "r1", input=canonical("x" * 5000))
    [detail] = claim(house.container())
    assert detail.input == canonical("x" * 5000)
    assert detail == house.container().runs.get(NS, "r1")


def test_it_is_driven_under_its_attempt_from_then_on(house, runtime):
    queue(runtime, "r1")
    driver = house.container()
    claim(driver)
    with calls_of(driver) as calls:
        append(driver, "r1", 1, attempt=1)
    assert names_of(calls) == ["PutItem"], "it knows where a log ends in which nothing was said"
    append(house.container(), "r1", 2, attempt=1)
    assert finish(house.container(), "r1", attempt=1).finished
    assert types_of(replay(runtime, "r1")) == ["start", "note", "note", "end"]


def test_the_second_claim_begins_an_attempt_that_the_log_tells_of(house, runtime):
    queue(runtime, "r1")
    claim(runtime)
    append(runtime, "r1", 1, attempt=1)
    release(runtime, "r1")
    other = house.container()
    [detail] = claim(other, worker="w2")
    assert detail.run.attempt == 2
    assert detail == house.container().runs.get(NS, "r1")
    append(other, "r1", 2, attempt=2)
    messages = replay(runtime, "r1")
    assert types_of(messages) == ["start", "note", "claimed", "note"]
    assert [message.attempt for message in messages] == [1, 1, 2, 2]
    after = {"attempt": 1, "error": None, "worker_id": "w1"}
    assert msgspec.json.decode(messages[2].data) == {"attempt": 2, "worker_id": "w2", "after": after}


def test_what_it_says_of_the_past_is_no_other_life_of_its_id(house, runtime):
    queue(runtime, "r1")
    claim(runtime)
    append(runtime, "r1", "of the past", attempt=1)
    finish(runtime, "r1", attempt=1)
    runtime.runs.delete(NS, "r1")
    house.clock.advance(1)
    queue(runtime, "r1")
    [detail] = claim(runtime)
    assert detail.run.attempt == 1
    assert detail == house.container().runs.get(NS, "r1")
    append(runtime, "r1", 1, attempt=1)
    assert types_of(replay(runtime, "r1")) == ["start", "note"]


# Whose turn it is


def test_by_priority_then_by_who_has_been_available_longest(house, runtime):
    queue(runtime, "old", "new")
    queue(runtime, "low", priority=0)
    queue(runtime, "high", priority=9)
    assert claimed_one_by_one(house.container(), times=5) == ["high", "old", "new", "low"]


def test_several_come_in_the_same_order(house, runtime):
    queue(runtime, "a", "b", "c")
    queue(runtime, "high", priority=9)
    assert ids(claim(house.container(), most=3)) == ["high", "a", "b"]
    assert ids(claim(house.container(), most=3)) == ["c"]
    assert claim(house.container(), most=3) == []


def test_a_run_for_later_is_passed_over_until_its_time_has_come(house, runtime):
    now = house.clock.now()
    queue(runtime, "later", priority=9, available_at=now + 60_000)
    queue(runtime, "now")
    container = house.container()
    assert ids(claim(container, most=2)) == ["now"]
    house.clock.advance(60)
    assert ids(claim(container)) == ["later"]


def test_however_many_are_for_later_they_hide_none_of_lower_priority(house, runtime):
    later = house.clock.now() + 3_600_000
    queue(runtime, *(f"later-{n}" for n in range(80)), priority=7, available_at=later)
    queue(runtime, "now", priority=2)
    assert ids(claim(house.container())) == ["now"]


def test_only_the_workflows_named_are_served(house, runtime):
    queue(runtime, "r1", workflow="build")
    assert claim(runtime, "test", "build/x", "buil") == []
    assert ids(claim(runtime, "test", "build")) == ["r1"]


def test_no_flood_of_one_workflow_starves_another(house, runtime):
    queue(runtime, *(f"flood-{n}" for n in range(60)), workflow="flood")
    queue(runtime, "rare-1", "rare-2", workflow="rare")
    served = claimed_one_by_one(house.container(), "flood", "rare", times=4)
    assert sorted(served[:2]) == ["flood-0", "rare-1"]
    assert sorted(served[2:]) == ["flood-1", "rare-2"]


def test_one_answer_is_shared_between_workflows_as_well(house, runtime):
    queue(runtime, *(f"flood-{n}" for n in range(30)), workflow="flood")
    queue(runtime, "rare-1", "rare-2", workflow="rare")
    assert {"rare-1", "rare-2"} <= set(ids(claim(runtime, "flood", "rare", most=4)))


def test_a_workflow_that_comes_late_is_served_before_one_that_was_served(house, runtime):
    queue(runtime, "a1", "a2", "a3", workflow="a")
    container = house.container()
    assert claimed_one_by_one(container, "a", "b", times=2) == ["a1", "a2"]
    queue(runtime, "b1", workflow="b")
    assert claimed_one_by_one(container, "a", "b", times=2) == ["b1", "a3"]


# Never one to two


def test_more_claimers_than_runs_get_each_run_once(house, runtime):
    queue(runtime, *(f"r{n}" for n in range(5)))
    got = [ids(claim(house.container(), worker=f"w{n}")) for n in range(9)]
    assert sorted(run_id for each in got for run_id in each) == [f"r{n}" for n in range(5)]
    assert got.count([]) == 4


@pytest.mark.parametrize("most", [1, 3])
def test_eight_at_once_get_each_run_once_per_attempt(house, runtime, most):
    run_ids = [f"r{n:02}" for n in range(40)]
    queue(runtime, *run_ids)
    containers = [house.container() for _ in range(8)]

    def drain(container):
        mine = []
        while got := claim(container, most=most):
            mine += [(detail.run.id, detail.run.attempt) for detail in got]
            for run_id, attempt in mine[-len(got) :]:
                if attempt == 1 and run_id in run_ids[::4]:
                    release(container, run_id)
        return mine

    with ThreadPoolExecutor(len(containers)) as threads:
        claimed = sorted(pair for mine in threads.map(drain, containers) for pair in mine)
    assert claimed == sorted([(run_id, 1) for run_id in run_ids] + [(run_id, 2) for run_id in run_ids[::4]])


def test_whoever_is_beaten_to_a_run_takes_another(house, runtime):
    queue(runtime, "r1", "r2")
    slow, fast = house.container(), house.container()
    first: list[list[str]] = []

    def be_faster(operation, request):
        if operation == "UpdateItem" and not first:
            first.append(ids(claim(fast, worker="fast")))

    with before_each_call(slow, be_faster):
        got = claim(slow, worker="slow")
    assert (first, ids(got)) == ([["r1"]], ["r2"])
    assert lease_of(row(runtime, "r1")).worker_id == "fast"

    # A crowd in one namespace is none in another, where the first still comes first.
    apart = [f"r{number}" for number in range(9)]
    queue(runtime, *apart, namespace="apart")
    assert [ids(claim(slow, namespace="apart"))[0] for _ in apart] == apart


def test_whoever_is_beaten_to_the_last_has_none(house, runtime):
    queue(runtime, "r1")
    slow = house.container()
    before = iter([lambda: claim_one(house.container(), "r1", worker="fast")])

    def be_faster(operation, request):
        if operation == "UpdateItem":
            next(before, lambda: None)()

    with before_each_call(slow, be_faster):
        assert claim(slow, worker="slow", most=3) == []
    assert lease_of(row(runtime, "r1")).worker_id == "fast"


def test_a_run_that_was_driven_before_is_claimed_though_its_old_driver_goes_on_speaking(house, runtime):
    """He takes slot after slot of the log, until the claim has the log wait for it: then he has to look, and
    is refused."""
    queue(runtime, "r1")
    old, new = house.container(), house.container()
    claim(old)
    append(old, "r1", "still here", attempt=1)
    release(house.container(), "r1")
    spoke, refused = [], []

    def speak_again(operation, request):
        if operation == "TransactWriteItems":
            try:
                spoke.append(append(old, "r1", "and still here", attempt=1))
            except StreamConflict as trouble:
                refused.append(trouble)

    with before_each_call(new, speak_again):
        [detail] = claim(new, worker="w2")
    assert detail.run.attempt == 2
    assert (len(spoke), len(refused)) == (3, 1)


def test_a_run_that_is_gone_or_settled_by_the_time_is_no_ones(house, runtime):
    queue(runtime, "gone", "settled", "left")
    claimer = house.container()
    done: list[object] = []

    def settle(operation, request):
        if operation == "BatchGetItem" and not done:
            done.append(runtime.control.cancel(NS, "settled", Cancel(force=True)))
            runtime.control.cancel(NS, "gone", Cancel(force=True))
            runtime.runs.delete(NS, "gone")

    with before_each_call(claimer, settle):
        assert ids(claim(claimer, most=3)) == ["left"]
    assert row(runtime, "settled").state is State.CANCELLED


def test_an_id_that_was_started_again_for_another_workflow_is_not_given_to_who_asked_for_the_first(
    house, runtime
):
    queue(runtime, "r1")
    claim(runtime)
    release(runtime, "r1")
    claimer = house.container()
    done: list[object] = []

    def start_again(operation, request):
        if operation == "GetItem" and request["TableName"] == "runs" and not done:
            done.append(True)
            runtime.control.cancel(NS, "r1", Cancel(force=True))
            runtime.runs.delete(NS, "r1")
            house.clock.advance(1)
            start(runtime, run_id="r1", workflow="other", mode=Mode.QUEUED)

    with before_each_call(claimer, start_again):
        assert claim(claimer) == []
    assert done
    assert row(runtime, "r1").state is State.PENDING


# Waiting


def test_nothing_there_is_an_answer_at_once_unless_one_waits(house, runtime):
    at = house.clock.now()
    assert claim(runtime) == []
    assert house.clock.now() == at


def test_a_claim_that_waits_ends_at_its_time(house, runtime):
    at = house.clock.now()
    assert claim(runtime, wait_seconds=20) == []
    assert house.clock.now() == at + 20_000


def test_it_ends_as_soon_as_there_is_something(house, runtime):
    at = house.clock.now()
    house.clock.plan(7, lambda: start(house.container(), run_id="r1", mode=Mode.QUEUED))
    assert ids(claim(runtime, wait_seconds=20)) == ["r1"]
    longest = runtime.settings.claim_poll_longest_seconds
    assert at + 7000 <= house.clock.now() <= at + 7000 + longest * 1000


def test_it_looks_less_often_the_longer_it_waits(house, runtime):
    with calls_of(runtime) as calls:
        claim(runtime, wait_seconds=20)
    looks = len(calls) / runtime.settings.queue_shards
    assert 10 <= looks <= 20
    assert set(names_of(calls)) == {"Query"}
    assert house.clock.slept[0] <= 0.1
    assert max(house.clock.slept) <= runtime.settings.claim_poll_longest_seconds


def test_a_run_that_becomes_available_meanwhile_is_found(house, runtime):
    queue(runtime, "r1", available_at=house.clock.now() + 5000)
    assert ids(claim(runtime, wait_seconds=20)) == ["r1"]


# How much


def test_an_answer_ends_early_rather_than_be_too_large(house, runtime):
    large = canonical("x" * (250 * 1024))
    queue(runtime, *(f"r{n:02}" for n in range(16)), input=large)
    first = claim(house.container(), most=25)
    assert 10 <= len(first) < 16
    assert sum(len(detail.input or b"") for detail in first) < 4 * 1024 * 1024
    assert len(claim(house.container(), most=25)) == 16 - len(first)


def test_small_inputs_do_not_end_it(house, runtime):
    queue(runtime, *(f"r{n:02}" for n in range(30)))
    assert len(claim(house.container(), most=25)) == 25


# A store in trouble


def test_a_trouble_with_one_of_several_keeps_no_others_from_their_worker(house, runtime):
    queue(runtime, "r1", "r2", "r3")
    claimer = house.container()

    def refuse_one(operation, request):
        if operation == "UpdateItem" and request["Key"]["k"]["S"].endswith("#r2"):
            raise Unavailable("the store is busy")

    with before_each_call(claimer, refuse_one):
        assert ids(claim(claimer, most=3)) == ["r1", "r3"]
    assert row(runtime, "r2").state is State.PENDING


def test_who_can_ask_again_is_told_of_it_and_then_gets_them_all(house, runtime):
    queue(runtime, "r1", "r2", "r3")
    claimer = house.container()

    def refuse_one(operation, request):
        if operation == "UpdateItem" and request["Key"]["k"]["S"].endswith("#r2"):
            raise Unavailable("the store is busy")

    with before_each_call(claimer, refuse_one), pytest.raises(Unavailable):
        claim(claimer, most=3, key="k")
    assert ids(claim(house.container(), most=3, key="k")) == ["r1", "r2", "r3"]


def test_a_store_that_is_busy_altogether_is_told(house, runtime):
    queue(runtime, "r1")

    def refuse(operation, request):
        if operation == "UpdateItem":
            raise Unavailable("the store is busy")

    claimer = house.container()
    with before_each_call(claimer, refuse), pytest.raises(Unavailable):
        claim(claimer)


# One run


def test_one_run_is_claimed_by_its_id(house, runtime):
    queue(runtime, "r1", "r2")
    detail = claim_one(house.container(), "r2", worker="w2")
    assert detail == house.container().runs.get(NS, "r2")
    assert (lease_of(detail.run).worker_id, row(runtime, "r1").state) == ("w2", State.PENDING)


@pytest.mark.parametrize(
    ("bring", "refusal"),
    [
        (lambda runtime: claim(runtime), InFlight),
        (lambda runtime: runtime.control.cancel(NS, "r1", Cancel()), RunTerminal),
    ],
    ids=["claimed", "settled"],
)
def test_what_does_not_wait_is_refused_with_the_truth(house, runtime, bring, refusal):
    queue(runtime, "r1")
    bring(runtime)
    with pytest.raises(refusal) as refused:
        claim_one(house.container(), "r1", worker="w2")
    assert refused.value.run == row(runtime, "r1")


def test_what_is_attached_or_not_available_yet_or_not_there_is_refused(house, runtime):
    start(runtime, run_id="attached")
    queue(runtime, "later", available_at=house.clock.now() + 1000)
    for run_id, refusal in [("attached", InFlight), ("later", InFlight), ("nothing", NotFound)]:
        with pytest.raises(refusal):
            claim_one(runtime, run_id)
