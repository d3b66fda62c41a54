"""Seeing a run and its log's end of one moment, and remembering where a log ended."""

import pytest
from msgspec.structs import replace

from baton.domain.log import Header, Tail
from baton.domain.states import State
from baton.errors import NotFound, Unavailable
from baton.services.context import Context
from baton.services.lookup import Lookup
from tests.unit.house import NS, before_each_call, calls_of, names_of, start
from tests.unit.services.acts import append, fail, finish, put_row


@pytest.fixture
def lookup(runtime) -> Lookup:
    return runtime.appends._lookup


@pytest.fixture
def in_turn(runtime, monkeypatch):
    """Two reads at once, always in the same order."""
    monkeypatch.setattr(runtime.dynamo, "together", lambda first, second: (first(), second()))


def tail(next_=1, *, birth="b1", seen_at=0, **header):
    return Tail(birth=birth, next=next_, header=Header(**header), seen_at=seen_at)


# Sight


def test_a_run_and_its_logs_end_are_seen_at_once(runtime, lookup):
    start(runtime, run_id="r1")
    end = append(runtime, "r1", 1, 2).tail
    with calls_of(runtime) as calls:
        run, seen, newest = lookup.sight(NS, "r1")
    assert sorted(names_of(calls)) == ["GetItem", "Query"]
    assert all(request["ConsistentRead"] for _, request in calls)
    assert (run.id, seen.next, newest.slot) == ("r1", end.next, 1)


def test_a_log_without_items_ends_after_its_start(runtime, lookup):
    start(runtime, run_id="r1")
    run, seen, newest = lookup.sight(NS, "r1")
    assert (seen, newest) == (run.initial_tail(seen.seen_at), None)


@pytest.mark.parametrize("begin", ["finish", "resume"])
def test_a_row_and_an_item_of_two_moments_are_looked_at_again(house, runtime, lookup, in_turn, begin):
    start(runtime, run_id="r1")
    rival, overtaken = house.container(), list[str]()
    if begin == "resume":
        fail(rival, "r1")

    def overtake(operation, request):
        if operation == "Query" and not overtaken:
            overtaken.append(operation)
            if begin == "finish":
                finish(rival, "r1")
            else:
                rival.control.resume(NS, "r1", force=False, key=None)

    with before_each_call(runtime, overtake), calls_of(runtime) as calls:
        run, seen, _ = lookup.sight(NS, "r1")
    assert len(calls) == 4
    assert seen.header.closed == run.state.terminal == (begin == "finish")
    assert seen.header.attempt == run.attempt == (1 if begin == "finish" else 2)


def test_a_run_whose_log_never_agrees_with_it_is_unavailable(house, runtime, lookup):
    start(runtime, run_id="r1")
    put_row(house, "r1", state=State.COMPLETED)
    with pytest.raises(Unavailable):
        lookup.sight(NS, "r1")


def test_of_two_lives_this_ones_log_is_seen_whichever_sorts_last(house, runtime, lookup):
    start(runtime, run_id="r1")
    append(runtime, "r1", "past")
    finish(runtime, "r1")
    runtime.runs.delete(NS, "r1")
    start(runtime, run_id="r1")
    assert lookup.sight(NS, "r1").newest is None
    append(runtime, "r1", "present")
    run, seen, newest = lookup.sight(NS, "r1")
    assert (newest.birth, seen.next) == (run.birth, 2)
    finish(runtime, "r1")
    runtime.runs.delete(NS, "r1")
    house.clock.advance(-3600)  # a container whose clock is an hour behind
    start(house.container(), run_id="r1")
    append(house.container(), "r1", "from behind")
    run, seen, newest = lookup.sight(NS, "r1")
    assert (newest.birth, seen.next) == (run.birth, 2)


def test_absent_expired_and_aliases_are_alike_not_found(house, runtime, lookup):
    start(runtime, key="K", run_id="r1")
    finish(runtime, "r1")
    alias = next(item["k"]["S"].split("#")[1] for item in house.rows() if "al" in item)
    house.clock.advance(house.settings.retention_seconds)
    for run_id in ("nobody", "r1", alias):
        for look in (lookup.run, lookup.sight):
            with pytest.raises(NotFound) as refused:
                look(NS, run_id)
            assert str(refused.value) == f"no run {run_id!r} here"


# Memory


def test_the_newest_end_known_is_recalled_wherever_it_comes_from(house, lookup):
    now = house.clock.now()
    older, newer = tail(3, seen_at=now), tail(5, seen_at=now)
    next_life = tail(1, birth="b2", seen_at=now)
    assert lookup.recall(NS, "r1", None) is None
    assert lookup.recall(NS, "r1", older) == older
    lookup.remember(NS, "r1", newer)
    assert lookup.recall(NS, "r1", older) == newer
    assert lookup.recall(NS, "r1", next_life) == next_life
    assert lookup.recall(NS, "r2", None) is None
    assert lookup.recall("other", "r1", None) is None


def test_an_end_is_forgotten_when_told_and_after_its_time(house, lookup):
    seen = tail(seen_at=house.clock.now())
    lookup.remember(NS, "r1", seen)
    house.clock.advance(house.settings.tail_memory_seconds)
    assert lookup.recall(NS, "r1", None) == seen
    house.clock.advance(0.001)
    assert lookup.recall(NS, "r1", seen) is None
    fresh = replace(seen, seen_at=house.clock.now())
    lookup.remember(NS, "r1", fresh)
    lookup.forget(NS, "r1")
    lookup.forget(NS, "r1")
    assert lookup.recall(NS, "r1", None) is None


def test_an_end_seen_by_a_clock_ahead_is_known_and_one_of_a_time_far_to_come_is_not(house, lookup):
    ahead = tail(seen_at=house.clock.now() + 1)
    assert lookup.recall(NS, "r1", ahead) == ahead
    house.clock.set_back(house.settings.tail_memory_seconds)
    assert lookup.recall(NS, "r1", ahead) is None


def test_memory_is_bounded_and_keeps_who_spoke_last(house, lookup, monkeypatch):
    monkeypatch.setattr("baton.services.lookup.REMEMBERED", 2)
    seen = tail(seen_at=house.clock.now())
    for run_id in ("r1", "r2", "r1", "r3"):
        lookup.remember(NS, run_id, seen)
    known = [run_id for run_id in ("r1", "r2", "r3") if lookup.recall(NS, run_id, None)]
    assert known == ["r1", "r3"]


def test_waiting_after_a_lost_race_grows_and_is_bounded(house, runtime):
    context: Context = runtime.appends._context
    for round_ in range(30):
        context.stand_back(round_)
    assert house.clock.slept[0] == 0
    assert all(0 <= pause <= min(0.02 * i, 0.2) for i, pause in enumerate(house.clock.slept))
