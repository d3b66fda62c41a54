"""The queue's index, and what is remembered of a claim that came with a key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from baton.domain.queueing import Place
from baton.domain.run import Step
from baton.domain.states import Mode, State
from baton.store.queue import REMEMBERED_SECONDS, ClaimRecord, QueueStore
from baton.store.rows import queue_place
from baton.store.runs import Creation
from tests.unit.house import NS, House, calls_of
from tests.unit.manual_clock import MIDNIGHT

NOW = MIDNIGHT + 1000


@pytest.fixture
def queue(dynamo, house: House) -> QueueStore:
    return QueueStore(dynamo, house.settings.runs_table)


@pytest.fixture
def put(runs, run):
    """Puts a queued run into the one shard that the stores here have."""

    def one(run_id, at=MIDNIGHT, priority=5, **change):
        given = {"state": State.PENDING, "mode": Mode.QUEUED, "due_at": None, **change}
        made = replace(run, id=run_id, birth=f"b-{run_id}", available_at=at, priority=priority, **given)
        assert runs.create(Creation(run=made))
        return made

    return one


def available(queue, *, workflow="build", namespace=NS, now=NOW, limit=16):
    return [place.run_id for place in queue.available(namespace, workflow, 0, now, limit)]


# The index


def test_what_waits_has_a_place_by_priority_and_time(queue, put):
    put("new", MIDNIGHT + 5)
    put("old", MIDNIGHT + 1)
    put("low", MIDNIGHT, priority=0)
    put("high", MIDNIGHT + 9, priority=9)
    assert available(queue) == ["high", "old", "new", "low"]
    assert queue.available(NS, "build", 0, NOW, 1) == [Place("build", 9, MIDNIGHT + 9, "high")]


def test_an_id_with_every_sign_that_it_may_have_comes_back(queue, put):
    put("a.B_c:d~e-f")
    assert available(queue) == ["a.B_c:d~e-f"]


def test_only_pending_queued_runs_of_the_workflow_and_namespace_have_one(queue, put):
    put("mine")
    put("attached", mode=Mode.ATTACHED)
    for state in State:
        if state is not State.PENDING:
            put(state.value, state=state)
    put("others", namespace="other")
    put("elsewhere", workflow="build/2")
    assert available(queue) == ["mine"]
    assert available(queue, namespace="other") == ["others"]
    assert available(queue, workflow="build/2") == ["elsewhere"]


def test_a_run_that_is_claimed_leaves_it_and_comes_back_at_another_place(queue, put, runs):
    waits = put("r1")
    held = replace(waits, rev="rev2", state=State.RUNNING)
    runs.change(waits, Step(held))
    assert available(queue) == []
    back = replace(held, rev="rev3", state=State.PENDING, available_at=NOW + 1)
    runs.change(held, Step(back))
    assert available(queue) == []
    assert available(queue, now=NOW + 1) == ["r1"]


def test_what_is_for_later_is_passed_over_also_in_the_middle_of_a_page(queue, put):
    put("now-9", NOW, priority=9)
    put("later-9", NOW + 1, priority=9)
    put("now-5", NOW, priority=5)
    put("later-5", NOW + 1, priority=5)
    put("now-0", NOW, priority=0)
    assert available(queue) == ["now-9", "now-5", "now-0"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 16])
def test_a_page_full_of_what_is_for_later_hides_nothing_of_lower_priority(queue, put, limit):
    for n in range(2 * 16):
        put(f"later-{n}", NOW + 1 + n, priority=9)
    for n in range(16):
        put(f"later-too-{n}", NOW + 1 + n, priority=3)
    put("now-4", priority=4)
    put("now-0", priority=0)
    assert available(queue, limit=limit) == ["now-4", "now-0"][:limit]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 16])
def test_nor_does_one_that_begins_with_what_may_be_claimed(queue, put, limit):
    put("first", NOW, priority=9)
    for n in range(20):
        put(f"later-{n}", NOW + 1 + n, priority=9)
    put("second", priority=9 - 1)
    assert available(queue, limit=limit) == ["first", "second"][:limit]


def test_many_of_one_millisecond_are_all_found(queue, put):
    for n in range(40):
        put(f"r{n:02}", NOW)
    assert sorted(available(queue, limit=40)) == [f"r{n:02}" for n in range(40)]


def test_a_look_is_one_query_where_nothing_waits_and_where_enough_does(put, house):
    runtime = house.container()
    queue = runtime.claims._context.queue
    with calls_of(runtime) as calls:
        assert available(queue) == []
    assert len(calls) == 1
    for n in range(20):
        put(f"r{n}")
    with calls_of(runtime) as calls:
        assert len(available(queue)) == 16
    assert len(calls) == 1


def test_however_much_is_for_later_it_costs_one_query_more(put, house):
    for n in range(100):
        put(f"later-{n}", NOW + 1 + n, priority=9)
    put("now", priority=4)
    runtime = house.container()
    with calls_of(runtime) as calls:
        assert available(runtime.claims._context.queue) == ["now"]
    assert len(calls) == 2


def test_all_for_later_and_none_behind_them_is_an_end(queue, put):
    for n in range(20):
        put(f"later-{n}", NOW + 1, priority=0)
    assert available(queue, limit=5) == []


places = st.tuples(st.integers(0, 9), st.integers(0, 10**13 - 1))


@given(places, places)
def test_a_place_sorts_by_priority_then_by_time(one, other):
    (p1, at1), (p2, at2) = one, other
    assert (queue_place(p1, at1) < queue_place(p2, at2)) == ((-p1, at1) < (-p2, at2))


def test_a_time_beyond_all_stands_at_the_end_of_its_priority():
    assert queue_place(5, 253_402_300_799_999) < queue_place(4, 0)
    assert queue_place(5, -1) == queue_place(5, 0)
    assert len(str(queue_place(0, 10**14))) <= 38, "more digits than a number may have"


# What is remembered of a claim


RECORD = ClaimRecord(namespace=NS, key="key", body="body", revs={"r1": "rev-1", "r2": "rev-2"}, rev="one")


def test_a_claims_record_comes_back(queue):
    assert queue.record(NS, "key") is None
    assert queue.remember(RECORD, None, NOW)
    assert queue.record(NS, "key") == RECORD
    assert queue.record(NS, "other") is None
    assert queue.record("other", "key") is None


def test_of_two_with_one_key_one_is_remembered_and_the_other_is_told(queue):
    assert queue.remember(RECORD, None, NOW)
    other = replace(RECORD, rev="two", revs={"r3": "rev-3"})
    assert not queue.remember(other, None, NOW)
    assert queue.record(NS, "key") == RECORD
    assert queue.remember(other, RECORD, NOW)
    assert not queue.remember(replace(RECORD, rev="three"), RECORD, NOW)
    assert queue.record(NS, "key") == other


def test_a_write_whose_reply_was_lost_is_its_own(queue):
    assert queue.remember(RECORD, None, NOW)
    assert queue.remember(RECORD, None, NOW)
    other = replace(RECORD, rev="two")
    assert queue.remember(other, RECORD, NOW)
    assert queue.remember(other, RECORD, NOW)


def test_it_is_remembered_for_longer_than_any_lease_and_is_no_run(queue, house, runs):
    queue.remember(RECORD, None, NOW)
    [item] = house.rows()
    assert int(item["ttl"]["N"]) == NOW // 1000 + REMEMBERED_SECONDS
    assert REMEMBERED_SECONDS > 43_200
    assert not {"dk", "lk", "qk", "ek", "ck", "an"} & set(item)


def test_a_record_of_as_many_runs_as_one_claims_comes_back(queue):
    revs = {f"run-{n}": f"{n:016x}" for n in range(25)}
    full = replace(RECORD, revs=revs)
    queue.remember(full, None, NOW)
    assert queue.record(NS, "key") == full
