"""Waits and events where something is in the way: left-overs, a store in trouble, a chain without an end."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from baton.bootstrap import Runtime
from baton.domain.events import Post, Posted
from baton.domain.states import State
from baton.domain.waiting import Suspend
from baton.errors import NotFound, Unavailable
from baton.outbound.timers import Timers
from baton.services import waits
from baton.store.events import EventKey
from baton.store.rows import ROW
from tests.unit.house import NS, House, before_each_call, calls_of, names_of, start
from tests.unit.services.acts import finish, replay, row, types_of

EVENT = "paid"


def suspend(runtime: Runtime, who: str, **what: Any) -> Any:
    return runtime.waits.suspend(NS, who, Suspend(**what)).run


def post(runtime: Runtime, id_: str = "e1") -> Posted:
    return runtime.events.publish(Post(namespace=NS, name=EVENT, payload=b"1", id=id_))


def waiters(house: House) -> list[str]:
    return [raw["s"]["S"].split("#")[1] for raw in house.rows() if raw["s"]["S"].startswith("waiter#")]


def trouble_at(*run_ids: str) -> Any:
    """A store that fails whatever writes to the rows of these runs."""
    keys = {f"{NS}#{run_id}" for run_id in run_ids}

    def fail(operation: str, request: dict[str, Any]) -> None:
        for item in request.get("TransactItems", []):
            (part,) = item.values()
            if part.get("Key", {}).get("k", {}).get("S") in keys and "UpdateExpression" in part:
                raise Unavailable("the store is in trouble")

    return fail


def test_whoever_waits_for_a_time_hints_at_it(runtime: Runtime):
    start(runtime, run_id="r")
    with patch.object(Timers, "hint") as hint:
        suspend(runtime, "r", until=runtime.clock.now() + 5_000)
    hint.assert_called_once_with((f"{NS}#r", ROW), runtime.clock.now() + 5_000)


def test_who_is_in_trouble_is_woken_by_the_next_publisher_and_the_others_at_once(
    runtime: Runtime, house: House
):
    for run_id in ("target", "one", "two"):
        start(runtime, run_id=run_id)
    for run_id in ("one", "two"):
        suspend(runtime, run_id, run_id="target")
    finish(runtime, "target")
    publisher = house.container()
    with before_each_call(publisher, trouble_at("one")):
        publisher.publisher.publish(NS, "target")
    assert [row(runtime, run_id).state for run_id in ("one", "two")] == [State.SUSPENDED, State.RUNNING]
    assert row(runtime, "target").settlement.waiters == 2
    assert row(runtime, "target").expires_at is None
    publisher.publisher.publish(NS, "target")
    assert row(runtime, "one").state is State.RUNNING
    assert not row(runtime, "target").kept
    assert row(runtime, "target").expires_at is not None


def test_who_settles_waits_for_no_event_any_more_and_a_left_over_at_a_run_is_dropped_by_whoever_finds_it(
    runtime: Runtime, house: House
):
    for run_id in ("target", "one", "two"):
        start(runtime, run_id=run_id)
    suspend(runtime, "one", run_id="target")
    suspend(runtime, "two", event=EVENT)
    for run_id in ("one", "two"):
        finish(runtime, run_id)
    assert waiters(house) == ["one"]
    finish(runtime, "target")
    runtime.publisher.publish(NS, "target")
    assert post(runtime).kept
    assert waiters(house) == []
    assert types_of(replay(runtime, "one")) == ["start", "suspended", "end"]


def test_a_left_over_of_a_past_life_wakes_nobody(runtime: Runtime, house: House):
    start(runtime, run_id="r")
    suspend(runtime, "r", event=EVENT)
    finish(runtime, "r")
    runtime.publisher.publish(NS, "r")
    runtime.runs.delete(NS, "r")
    start(runtime, run_id="r")
    suspend(runtime, "r", event="another")
    assert post(runtime).kept
    assert row(runtime, "r").state is State.SUSPENDED
    assert waiters(house) == ["r"]


def test_an_event_stays_due_and_open_until_everyone_is_awake(runtime: Runtime, house: House):
    for run_id in ("one", "two"):
        start(runtime, run_id=run_id)
        suspend(runtime, run_id, event=EVENT)
    poster = house.container()
    with before_each_call(poster, trouble_at("one")):
        posted = post(poster)
    assert (posted.woken, posted.kept, posted.looked, posted.open) == (1, False, False, True)
    assert posted.due_at is not None
    house.clock.advance(30)
    done = house.container().events.tend(EventKey(NS, EVENT, "e1"))
    assert done is not None
    assert (done.woken, done.open, done.due_at) == (2, False, None)
    assert row(runtime, "one").state is State.RUNNING
    assert post(runtime).runs_woken == 2


def test_there_is_nothing_to_tend_of_what_is_done_or_gone(runtime: Runtime):
    post(runtime)
    assert runtime.events.tend(EventKey(NS, EVENT, "e1")) is None
    assert runtime.events.tend(EventKey(NS, EVENT, "absent")) is None


def test_a_chain_that_does_not_end_is_not_gone_over_for_ever(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(waits, "MAX_LINKS", 1)
    start(runtime, run_id="r")
    start(runtime, run_id="target")
    assert suspend(runtime, "r", run_id="target").state is State.SUSPENDED
    monkeypatch.setattr(waits, "MAX_LINKS", 0)
    start(runtime, run_id="other")
    with pytest.raises(NotFound, match="target"):
        suspend(runtime, "other", run_id="target")


def test_what_a_wait_asks_of_the_store(runtime: Runtime, house: House):
    """One look and one transaction; for an event, a look more for what may be kept."""
    for run_id in ("target", "one", "two", "three"):
        start(runtime, run_id=run_id)
    with calls_of(runtime) as calls:
        suspend(runtime, "one", until=runtime.clock.now() + 1)
    assert names_of(calls) == ["GetItem", "TransactWriteItems"]
    with calls_of(runtime) as calls:
        suspend(runtime, "two", run_id="target")
    assert names_of(calls) == ["GetItem", "GetItem", "TransactWriteItems"]
    with calls_of(runtime) as calls:
        suspend(runtime, "three", event=EVENT)
    assert names_of(calls) == ["GetItem", "TransactWriteItems", "Query"]


def test_the_ending_that_a_run_waited_for_wakes_it_though_a_later_one_is_published_first(runtime: Runtime):
    for run_id in ("target", "waiting"):
        start(runtime, run_id=run_id)
    suspend(runtime, "waiting", run_id="target")
    finish(runtime, "target", State.FAILED, resumable=True)
    runtime.control.resume(NS, "target", force=False, key=None)
    finish(runtime, "target", attempt=2)
    runtime.publisher.publish(NS, "target", 2)
    assert row(runtime, "waiting").state is State.SUSPENDED
    runtime.publisher.publish(NS, "target", 1)
    woken = replay(runtime, "waiting")[-1]
    assert woken.type == "woken"
    assert b'"run_state":"failed"' in bytes(woken.data)


def test_more_than_one_publisher_wakes_are_left_to_the_next(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(waits, "MOST_AT_ONCE", 2)
    start(runtime, run_id="target")
    for number in range(3):
        start(runtime, run_id=f"r{number}")
        suspend(runtime, f"r{number}", run_id="target")
    finish(runtime, "target")
    runtime.publisher.publish(NS, "target")
    assert sorted(row(runtime, f"r{number}").state for number in range(3))[-1] is State.SUSPENDED
    assert row(runtime, "target").due_at is not None
    runtime.publisher.publish(NS, "target")
    assert {row(runtime, f"r{number}").state for number in range(3)} == {State.RUNNING}
    assert not row(runtime, "target").kept
