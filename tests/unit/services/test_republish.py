"""Republishing: one run or a stretch of time, delivered again by the same path, counted apart, and safe to
repeat."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from baton.domain.catalog import Batch, BatchMode, Subscription, endings
from baton.domain.settlement import PublishLease
from baton.domain.states import Mode, State
from baton.errors import NotFound, Unavailable
from baton.services.publishing import Publisher
from baton.services.republish import UNREADABLE, Refusal, Republish, Republished, RepublishRange
from tests.unit.house import NS, House, calls_of, house_of, names_of, start
from tests.unit.services.acts import put_row
from tests.unit.services.endings_at_hand import (
    BROKEN,
    BUILT,
    delivery_of,
    ending_of,
    garble,
    publish,
    register,
    runs_of,
    settle,
    started,
    states_of,
)

WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"})


def republish(house: House, run_id: str, subscriber: str | None = None) -> Republished:
    wish = Republish(namespace=NS, subscriber=subscriber)
    return house.container().republisher.run(wish, run_id)


def over(house: House, **wish: Any) -> Republished:
    given = {"namespace": NS, "workflow": "build", **wish}
    return house.container().republisher.range(RepublishRange(**given))


def to_the_end(house: House, **wish: Any) -> list[Republished]:
    """Call after call, each going on where the one before stopped."""
    calls = [over(house, **wish)]
    while calls[-1].place is not None:
        assert len(calls) < 100
        calls.append(over(house, **wish, place=calls[-1].place))
    return calls


def total(calls: list[Republished], field: str) -> int:
    return sum(getattr(call, field) for call in calls)


# One run


def test_a_new_subscriber_gets_an_old_run(house: House):
    settle(house, "r1")
    publish(house, "r1")
    register(house, "report", BUILT)
    assert republish(house, "r1", "report") == Republished(runs=1, created=1)
    assert states_of(house, "r1") == {"report": "started"}
    assert republish(house, "r1", "report") == Republished(runs=1, existing=1)
    assert len(started(house, "report")) == 1


def test_without_a_subscriber_all_that_subscribe_now_get_it(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    publish(house, "r1")
    register(house, "audit", BUILT)
    register(house, "alert", BROKEN)
    assert republish(house, "r1") == Republished(runs=1, created=1, existing=1)
    assert states_of(house, "r1") == {"report": "started", "audit": "started"}


def test_what_was_started_is_answered_without_a_write(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    publish(house, "r1")
    container = house.container()
    with calls_of(container) as calls:
        container.republisher.run(Republish(namespace=NS), "r1")
    assert not WRITES & set(names_of(calls))
    assert names_of(calls) == ["Query"]


def test_only_the_subscriber_asked_for_gets_it(house: House):
    register(house, "report", BUILT)
    register(house, "audit", BUILT)
    settle(house, "r1")
    assert republish(house, "r1", "audit") == Republished(runs=1, created=1)
    assert states_of(house, "r1") == {"audit": "started", "report": "owed"}


@pytest.mark.parametrize(
    ("subscriber", "why"),
    [
        ("nobody", "it is not in the catalog"),
        ("deployer", f"it does not subscribe to {BUILT}"),
        ("alert", f"it does not subscribe to {BUILT}"),
    ],
)
def test_who_is_not_subscribed_is_refused_and_nothing_is_marked(house: House, subscriber: str, why: str):
    register(house, "deployer", "released")
    register(house, "alert", BROKEN)
    settle(house, "r1")
    before = house.rows()
    answer = republish(house, "r1", subscriber)
    assert answer == Republished(runs=1, refused=[Refusal("r1", subscriber, why)])
    assert house.rows() == before


def test_a_declined_delivery_is_evaluated_again(house: House):
    register(house, "report", Subscription(BUILT, where="run.state == 'failed'"))
    settle(house, "r1")
    publish(house, "r1")
    assert states_of(house, "r1") == {"report": "declined"}
    assert republish(house, "r1") == Republished(runs=1)
    register(house, "report", Subscription(BUILT, where="run.state == 'completed'"))
    house.clock.advance(house.settings.catalog_seconds)
    assert republish(house, "r1") == Republished(runs=1, created=1)
    assert states_of(house, "r1") == {"report": "started"}


def test_a_failed_delivery_is_tried_again_and_a_success_clears_it(house: House):
    register(house, "report", Subscription(BUILT, input="sum(run.output)"))
    settle(house, "r1")
    publish(house, "r1")
    assert states_of(house, "r1") == {"report": "failed"}
    answer = republish(house, "r1")
    [refusal] = answer.refused
    assert (answer.runs, refusal.run_id, refusal.subscriber) == (1, "r1", "report")
    assert refusal.error == delivery_of(house, "r1", "report").error
    register(house, "report", Subscription(BUILT, input="run.output"))
    house.clock.advance(house.settings.catalog_seconds)
    assert republish(house, "r1") == Republished(runs=1, created=1)
    assert delivery_of(house, "r1", "report").error is None


def test_what_was_coalesced_is_skipped(house: House):
    register(house, "digest", BUILT, batch=Batch(mode=BatchMode.BATCH, window_seconds=10))
    settle(house, "r1")
    publish(house, "r1")
    assert republish(house, "r1") == Republished(runs=1, skipped=1)
    house.clock.advance(10)
    house.container().sweep.run()
    assert republish(house, "r1") == Republished(runs=1, skipped=1)
    assert len(started(house, "digest")) == 1


def test_an_input_that_joins_a_window_counts_as_created(house: House):
    settle(house, "r1")
    publish(house, "r1")
    register(house, "digest", BUILT, batch=Batch(mode=BatchMode.BATCH, window_seconds=10))
    assert republish(house, "r1") == Republished(runs=1, created=1)
    assert states_of(house, "r1") == {"digest": "coalesced"}


def test_the_endings_of_all_attempts_are_gone_over_and_the_run_counts_once(house: House):
    settle(house, "r1", State.FAILED)
    publish(house, "r1")
    house.container().control.resume(NS, "r1", force=False, key=None)
    register(house, "alert", BROKEN)
    register(house, "report", BUILT)
    assert republish(house, "r1") == Republished(runs=1, created=1)
    assert states_of(house, "r1", 1) == {"alert": "started"}


def test_a_run_that_has_not_settled_counts_in_none(house: House):
    register(house, "report", BUILT)
    start(house.container(), run_id="r1")
    assert republish(house, "r1") == Republished()
    start(house.container(), run_id="q1", mode=Mode.QUEUED)
    assert republish(house, "q1", "nobody") == Republished()


def test_a_run_of_a_reserved_workflow_has_no_ending(house: House):
    settle(house, "r1", workflow="__internal")
    assert republish(house, "r1") == Republished()


@pytest.mark.parametrize("expired", [False, True])
def test_a_run_that_is_not_there_is_not_found(house: House, expired: bool):
    if expired:
        settle(house, "r1")
        house.container().runs.delete(NS, "r1")
    with pytest.raises(NotFound):
        republish(house, "r1")


def test_a_run_that_somebody_else_publishes_is_busy(house: House):
    settle(house, "r1")
    publish(house, "r1")
    register(house, "report", BUILT)
    settlement = ending_of(house, "r1").settlement
    lease = PublishLease("somebody", house.clock.now() + 30_000)
    put_row(house, "r1", settlement=replace(settlement, lease=lease))
    assert republish(house, "r1") == Republished(runs=1, busy=["r1"])
    house.clock.advance(30)
    assert republish(house, "r1") == Republished(runs=1, created=1)


def test_what_could_not_be_started_now_is_owed_again(house: House, monkeypatch: pytest.MonkeyPatch):
    settle(house, "r1")
    publish(house, "r1")
    register(house, "report", BUILT)
    with monkeypatch.context() as patched:
        patched.setattr("baton.services.delivering.hand_off", _unavailable)
        assert republish(house, "r1") == Republished(runs=1, re_owed=1)
    assert states_of(house, "r1") == {"report": "owed"}
    assert runs_of(house.container().starts).get(NS, "r1").expires_at is None
    house.clock.advance(house.settings.publish_grace_seconds)
    assert house.container().sweep.run().published == 1
    assert states_of(house, "r1") == {"report": "started"}


def test_what_could_not_even_be_published_is_owed_again(house: House, monkeypatch: pytest.MonkeyPatch):
    settle(house, "r1")
    publish(house, "r1")
    register(house, "report", BUILT)
    with monkeypatch.context() as patched:
        patched.setattr(Publisher, "publish", _unavailable)
        assert republish(house, "r1") == Republished(runs=1, re_owed=1)
        patched.setattr(Publisher, "owe", _unavailable)
        with pytest.raises(Unavailable):
            republish(house, "r1")
    assert runs_of(house.container().starts).get(NS, "r1").announce
    assert republish(house, "r1") == Republished(runs=1, created=1)


def _unavailable(*_given: Any, **_how: Any) -> None:
    raise Unavailable("the store is busy")


# A stretch of time


def test_a_range_over_nothing_answers_zeros(house: House):
    assert over(house) == Republished()
    settle(house, "r1")
    assert over(house, workflow="other", subscriber="nobody") == Republished()
    assert over(house, since=house.clock.now() + 1) == Republished()
    assert over(house, until=house.clock.now() - 1) == Republished()
    assert over(house, since=5, until=4) == Republished()


def test_a_days_runs_go_to_a_new_subscriber(house: House):
    for i in range(5):
        settle(house, f"ok{i}")
    for i in range(3):
        settle(house, f"bad{i}", State.FAILED)
    settle(house, "other", workflow="other")
    register(house, "report", *endings("build"))
    assert over(house, subscriber="report") == Republished(runs=8, created=8)
    assert over(house, subscriber="report") == Republished(runs=8, existing=8)
    assert len(started(house, "report")) == 8


def test_runs_count_subscribed_to_or_not(house: House):
    settle(house, "ok")
    settle(house, "bad", State.FAILED)
    start(house.container(), run_id="going on")
    assert over(house) == Republished(runs=2)
    register(house, "report", BUILT)
    assert over(house) == Republished(runs=2, created=1)
    assert over(house, subscriber="report") == Republished(runs=2, existing=1)


@pytest.mark.parametrize(
    ("ending", "ids"), [((State.COMPLETED,), ["ok"]), ((State.FAILED,), ["bad", "stopped"])]
)
def test_one_ending_of_the_two(house: House, ending: tuple[State, ...], ids: list[str]):
    settle(house, "ok")
    settle(house, "bad", State.FAILED)
    settle(house, "stopped", State.CANCELLED)
    register(house, "report", *endings("build"))
    assert over(house, endings=ending).created == len(ids)
    assert [run_id for run_id in ("bad", "ok", "stopped") if states_of(house, run_id)] == sorted(ids)


def test_who_subscribes_to_neither_ending_is_refused_for_each_run(house: House):
    settle(house, "r1")
    settle(house, "r2", State.FAILED)
    answer = over(house, subscriber="nobody")
    assert (answer.runs, answer.created) == (2, 0)
    assert sorted(answer.refused) == [
        Refusal("r1", "nobody", "it is not in the catalog"),
        Refusal("r2", "nobody", "it is not in the catalog"),
    ]
    assert states_of(house, "r1") == states_of(house, "r2") == {}


def test_since_and_until_are_settle_times_and_included(house: House):
    register(house, "report", BUILT)
    at = []
    for i in range(5):
        settle(house, f"r{i}")
        at.append(house.clock.now())
        house.clock.advance(10)
    assert over(house, since=at[1], until=at[3]) == Republished(runs=3, created=3)
    assert [bool("started" in states_of(house, f"r{i}").values()) for i in range(5)] == [
        False,
        True,
        True,
        True,
        False,
    ]


def test_a_limit_is_of_one_call_and_the_next_goes_on(house: House):
    for i in range(7):
        settle(house, f"r{i}")
    for i in range(4):
        settle(house, f"bad{i}", State.FAILED)
    register(house, "report", *endings("build"))
    calls = to_the_end(house, limit=3)
    assert [call.runs for call in calls][:3] == [3, 3, 3]
    assert (total(calls, "runs"), total(calls, "created"), total(calls, "existing")) == (11, 11, 0)
    assert len(started(house, "report")) == 11


def test_a_page_of_the_index_is_no_limit(house: House, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("baton.services.republish.PAGE", 2)
    house = house_of(house.client, settled_shards=1)
    for i in range(7):
        settle(house, f"r{i}")
    register(house, "report", BUILT)
    assert over(house) == Republished(runs=7, created=7)


def test_a_call_out_of_time_hands_back_where_to_go_on(house: House, monkeypatch: pytest.MonkeyPatch):
    for i in range(7):
        settle(house, f"r{i}")
    register(house, "report", BUILT)
    true_publish = Publisher.publish

    def slowly(self: Publisher, *where: Any, **how: Any) -> Any:
        house.clock.advance(house.settings.republish_seconds / 3)
        return true_publish(self, *where, **how)

    monkeypatch.setattr(Publisher, "publish", slowly)
    calls = to_the_end(house)
    assert [call.runs for call in calls] == [3, 3, 1]
    assert total(calls, "created") == 7


def test_each_call_does_something_however_slow_it_is(house: House, monkeypatch: pytest.MonkeyPatch):
    for i in range(3):
        settle(house, f"r{i}")
    register(house, "report", BUILT)
    true_publish = Publisher.publish

    def slowly(self: Publisher, *where: Any, **how: Any) -> Any:
        house.clock.advance(house.settings.republish_seconds * 2)
        return true_publish(self, *where, **how)

    monkeypatch.setattr(Publisher, "publish", slowly)
    assert [call.created for call in to_the_end(house)] == [1, 1, 1]


def test_one_busy_run_is_told_and_the_others_are_done(house: House):
    for i in range(3):
        settle(house, f"r{i}")
    register(house, "report", BUILT)
    settlement = ending_of(house, "r1").settlement
    lease = PublishLease("somebody", house.clock.now() + 60_000)
    put_row(house, "r1", settlement=replace(settlement, lease=lease))
    assert over(house) == Republished(runs=3, created=2, busy=["r1"])


def test_a_store_that_fails_midway_costs_nothing_that_was_done(house: House, monkeypatch: pytest.MonkeyPatch):
    house = house_of(house.client, settled_shards=1)
    for i in range(3):
        settle(house, f"r{i}")
        house.clock.advance(1)
    register(house, "report", BUILT)
    true_publish = Publisher.publish

    def failing(self: Publisher, namespace: str, run_id: str, *how: Any, birth: str) -> Any:
        if run_id == "r1":
            raise Unavailable("the store is busy")
        return true_publish(self, namespace, run_id, *how, birth=birth)

    with monkeypatch.context() as patched:
        patched.setattr(Publisher, "publish", failing)
        patched.setattr(Publisher, "owe", _unavailable)
        first = over(house)
        assert (first.runs, first.created) == (1, 1)
        assert first.place is not None
        with pytest.raises(Unavailable):
            over(house, place=first.place)
    assert over(house, place=first.place) == Republished(runs=2, created=2)


def test_a_run_that_cannot_be_read_is_told_of_and_the_others_are_done(house: House):
    for i in range(4):
        settle(house, f"r{i}")
        publish(house, f"r{i}")
    garble(house, "r1")
    register(house, "report", BUILT)
    answer = over(house, subscriber="report")
    assert answer == Republished(runs=3, created=3, refused=[Refusal("r1", "report", UNREADABLE)])


def test_the_endings_of_earlier_attempts_are_gone_over_too(house: House):
    settle(house, "r1", State.FAILED)
    house.container().control.resume(NS, "r1", force=False, key=None)
    settle(house, "r2", State.FAILED)
    register(house, "alert", BROKEN)
    assert over(house) == Republished(runs=2, created=2)
    assert states_of(house, "r1", 1) == {"alert": "started"}


def test_an_expired_run_counts_in_none(house: House):
    settle(house, "r1")
    house.container().runs.delete(NS, "r1")
    register(house, "report", BUILT)
    assert over(house) == Republished()


def test_another_namespaces_runs_are_not_gone_over(house: House):
    settle(house, "r1", namespace=NS)
    wish = RepublishRange(namespace="other", workflow="build")
    assert house.container().republisher.range(wish) == Republished()


# Dry runs


def test_a_dry_run_counts_what_would_be_and_changes_nothing(house: House):
    register(house, "report", BUILT)
    register(house, "digest", BUILT, batch=Batch(mode=BatchMode.DEBOUNCE, window_seconds=10))
    register(house, "picky", Subscription(BUILT, where="run.state == 'failed'"))
    register(house, "broken", Subscription(BUILT, input="sum(run.output)"))
    settle(house, "known")
    publish(house, "known")
    house.clock.advance(house.settings.catalog_seconds)
    register(house, "late", BUILT)
    settle(house, "new")
    before, log, catalog = house.rows(), house.log(), house.items(house.settings.catalog_table)
    container = house.container()
    wish = RepublishRange(namespace=NS, workflow="build", dry_run=True)
    with calls_of(container) as calls:
        answer = container.republisher.range(wish)
    assert not WRITES & set(names_of(calls))
    assert (house.rows(), house.log()) == (before, log)
    assert house.items(house.settings.catalog_table) == catalog
    assert (answer.runs, answer.existing, answer.skipped, answer.re_owed) == (2, 1, 1, 0)
    assert answer.created == 1 + 3  # late of the one; report, digest and late of the other
    assert sorted({refusal.subscriber for refusal in answer.refused}) == ["broken"]
    done = over(house)
    assert (done.runs, done.created, done.existing, done.skipped) == (2, 4, 1, 1)
    assert len(done.refused) == len(answer.refused) == 2


@pytest.mark.parametrize("batch", [None, Batch(mode=BatchMode.BATCH, window_seconds=10)], ids=["", "batch"])
def test_a_dry_run_finds_what_a_publisher_started_and_died(
    house: House, monkeypatch: pytest.MonkeyPatch, batch: Batch | None
):
    register(house, "report", BUILT)
    settle(house, "r1")
    with monkeypatch.context() as patched:
        patched.setattr("baton.store.runs.RunStore.change", _unavailable)
        with pytest.raises(Unavailable):
            publish(house, "r1")
    register(house, "report", BUILT, batch=batch)
    assert states_of(house, "r1") == {"report": "owed"}
    wish = Republish(namespace=NS, dry_run=True)
    assert house.container().republisher.run(wish, "r1") == Republished(runs=1, existing=1)
    assert republish(house, "r1") == Republished(runs=1, existing=1)
    assert len(started(house, "report")) == 1
