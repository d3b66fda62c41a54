"""Healing: a subscription that came a moment late gets the runs that settled meanwhile, and a catalog that
does not change costs one query."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from baton.domain.catalog import HealWork
from baton.domain.states import State
from baton.errors import Unavailable
from baton.services.heal import Heal, Healed
from baton.services.publishing import Publisher
from baton.store.runs import RunStore
from tests.unit.house import NS, House, before_each_call, house_of
from tests.unit.services.acts import put_row
from tests.unit.services.endings_at_hand import (
    BROKEN,
    BUILT,
    garble,
    is_marked,
    operations_of,
    publish,
    register,
    runs_of,
    settle,
    started,
    states_of,
)


def heal(house: House):
    return house.container().heal.run()


def works(house: House) -> list[HealWork]:
    return house.container().starts._context.catalog.heals()


def wait_out(house: House) -> None:
    """Until no container can settle by an older catalog."""
    house.clock.advance(house.settings.heal_grace_seconds)


# What it costs


def test_a_catalog_that_does_not_change_costs_one_query_however_many_runs_settled(house: House):
    register(house, "report", BUILT)
    wait_out(house)
    heal(house)
    for i in range(20):
        settle(house, f"r{i}")
    container = house.container()
    with operations_of(container) as calls:
        healed = container.heal.run()
    assert calls == ["Query"]
    assert healed.works == 0


def test_runs_that_know_of_every_subscriber_cost_no_read_of_their_own(house: House):
    register(house, "report", BUILT)
    for i in range(30):
        settle(house, f"r{i}")
        publish(house, f"r{i}")
    container = house.container()
    with operations_of(container) as calls:
        healed = container.heal.run()
    assert (healed.endings, healed.delivered) == (30, 0)
    shards = house.settings.settled_shards
    assert calls.count("BatchGetItem") <= shards
    assert len(calls) <= 2 + 2 * shards  # the works, the catalog, and for each shard a page and its rows


# What it heals


def test_a_run_that_settled_just_before_its_subscriber_was_registered_starts_it(house: House):
    settle(house, "r1")
    publish(house, "r1")
    register(house, "report", BUILT)
    assert started(house, "report") == []
    healed = heal(house)
    assert (healed.delivered, healed.failed) == (1, 0)
    assert states_of(house, "r1") == {"report": "started"}
    assert len(started(house, "report")) == 1
    assert heal(house).delivered == 0
    assert len(started(house, "report")) == 1


def test_only_the_endings_that_are_subscribed_to_and_only_those_of_the_window_are_healed(house: House):
    settle(house, "long ago")
    house.clock.advance(house.settings.heal_window_seconds + 1)
    settle(house, "failed", State.FAILED)
    settle(house, "elsewhere", workflow="other")
    settle(house, "late")
    register(house, "report", BUILT)
    assert heal(house).endings == 1
    assert states_of(house, "late") == {"report": "started"}
    assert states_of(house, "long ago") == states_of(house, "failed") == states_of(house, "elsewhere") == {}


def test_a_run_settled_after_the_change_by_an_older_catalog_is_healed(house: House):
    behind = house.container()
    behind.catalog.snapshot(NS)
    register(house, "report", BUILT)
    heal(house)
    house.clock.advance(house.settings.catalog_seconds - 0.001)
    settle(house, "r1", by=behind)
    publish(house, "r1")
    assert states_of(house, "r1") == {}
    assert heal(house).delivered == 1
    assert states_of(house, "r1") == {"report": "started"}


def test_a_run_that_was_resumed_meanwhile_has_its_first_ending_healed(house: House):
    settle(house, "r1", State.FAILED)
    publish(house, "r1")
    house.container().control.resume(NS, "r1", force=False, key=None)
    register(house, "alert", BROKEN)
    assert heal(house).delivered == 1
    assert states_of(house, "r1", 1) == {"alert": "started"}
    assert not is_marked(house, "r1", 1)


def test_an_ending_that_moved_between_the_index_and_the_rows_is_not_missed(house: House):
    settle(house, "r1", State.FAILED)
    publish(house, "r1")
    register(house, "alert", BROKEN)
    healer, other = house.container(), house.container()
    resumed: list[object] = []

    def resume(operation, _request):
        if operation == "BatchGetItem" and not resumed:
            resumed.append(other.control.resume(NS, "r1", force=False, key=None))

    with before_each_call(healer, resume):
        assert healer.heal.run().delivered == 1
    assert states_of(house, "r1", 1) == {"alert": "started"}


def test_another_life_of_the_id_that_ended_otherwise_meanwhile_owes_nothing_of_it(house: House):
    settle(house, "r1")
    publish(house, "r1")
    register(house, "report", BUILT)
    container = house.container()
    again: list[str] = []

    def begin_again(operation: str, request: dict[str, Any]) -> None:
        if operation == "GetItem" and request["Key"]["k"]["S"] == f"{NS}#r1" and not again:
            again.append(operation)
            house.container().runs.delete(NS, "r1")
            settle(house, "r1", workflow="other")

    with before_each_call(container, begin_again):
        container.heal.run()
    assert again
    assert states_of(house, "r1") == {}


def test_whom_an_ending_is_owed_to_already_is_left_to_its_publisher(house: House):
    register(house, "report", BUILT)
    settle(house, "owed")
    settle(house, "unresolved")
    put_row(
        house,
        "unresolved",
        settlement=replace(
            runs_of(house.container().starts).get(NS, "unresolved").settlement, owed=(), unresolved=True
        ),
    )
    healed = heal(house)
    assert (healed.endings, healed.delivered) == (2, 0)
    assert started(house, "report") == []


def test_an_expired_run_is_not_healed(house: House):
    settle(house, "r1")
    publish(house, "r1")
    house.container().runs.delete(NS, "r1")
    register(house, "report", BUILT)
    healed = heal(house)
    assert (healed.endings, healed.failed) == (0, 0)


def test_a_custom_event_is_not_healed(house: House):
    register(house, "report", "deployed")
    container = house.container()
    with operations_of(container) as calls:
        container.heal.run()
    assert calls == ["Query", "Query"]
    wait_out(house)
    assert heal(house).done == 1
    assert works(house) == []


# Until when


def test_it_goes_on_until_a_pass_begun_late_enough_has_finished(house: House):
    register(house, "report", BUILT)
    for _ in range(3):
        assert heal(house).done == 0
        house.clock.advance(30)
    house.clock.advance(house.settings.heal_grace_seconds - 90 - 0.001)
    assert heal(house).done == 0
    house.clock.advance(0.001)
    assert heal(house).done == 1
    assert works(house) == []


def test_a_pass_begun_too_early_does_not_count_though_it_ends_late(house: House, monkeypatch):
    monkeypatch.setattr("baton.services.endings.PAGE", 2)
    for i in range(5):
        settle(house, f"r{i}")
    register(house, "report", BUILT)
    cut_short(house, after=3)
    wait_out(house)
    assert heal(house).done == 0
    assert len(started(house, "report")) == 5
    assert heal(house).done == 1


def test_a_change_of_the_catalog_begins_it_anew(house: House):
    register(house, "report", BUILT)
    house.clock.advance(100)
    register(house, "audit", BUILT)
    house.clock.advance(100)
    assert heal(house).done == 0
    house.clock.advance(20)
    assert heal(house).done == 1


def test_a_change_during_a_pass_is_not_taken_for_healed(house: House):
    register(house, "report", BUILT)
    wait_out(house)
    healer = house.container()
    changed: list[int] = []

    def change(operation, _request):
        if operation == "DeleteItem" and not changed:
            changed.append(1)
            register(house, "audit", BUILT)

    with before_each_call(healer, change):
        assert healer.heal.run().done == 0
    assert [work.event for work in works(house)] == [BUILT]


# Many, and out of time


def cut_short(house: House, *, after: int) -> None:
    """A healing whose time is up once it has delivered some."""
    healer = house.container()
    made = []

    def count(operation, _request):
        if operation == "PutItem":
            made.append(1)
            if len(made) == after:
                house.clock.advance(house.settings.sweep_seconds)

    with before_each_call(healer, count):
        assert healer.heal.run().more


def test_a_healing_out_of_time_goes_on_where_it_stood(house: House, monkeypatch):
    for i in range(9):
        settle(house, f"r{i}")
    register(house, "report", BUILT)
    seen = []
    true_endings = RunStore.endings

    def endings(self, *where, start, **how):
        seen.append(start)
        return true_endings(self, *where, start=start, **how)

    monkeypatch.setattr(RunStore, "endings", endings)
    cut_short(house, after=4)
    assert len(started(house, "report")) == 4
    before = len(seen)
    healed = heal(house)
    assert (healed.delivered, healed.more) == (5, False)
    assert seen[before] is not None  # not from the beginning


def test_the_hundred_and_first_run_of_a_shard_is_not_missed(house: House):
    house = one_shard(house)
    driver = house.container()
    for i in range(101):
        settle(house, f"r{i}", by=driver)
    register(house, "report", BUILT)
    healed = heal(house)
    assert healed.delivered == 101
    assert len(started(house, "report")) == 101
    assert heal(house).delivered == 0


def one_shard(house: House) -> House:
    return house_of(house.client, settled_shards=1)


def test_two_healings_at_once_start_each_subscriber_once(house: House):
    for i in range(5):
        settle(house, f"r{i}")
    register(house, "report", BUILT)
    one, other = house.container(), house.container()
    overlapping: list[Healed] = []

    def overlap(operation, _request):
        if operation == "PutItem" and not overlapping:
            overlapping.append(Healed())
            overlapping[0] = other.heal.run()

    with before_each_call(one, overlap):
        mine = one.heal.run()
    assert (mine.failed, overlapping[0].failed) == (0, 0)
    assert len(started(house, "report")) == 5
    assert all(states_of(house, f"r{i}") == {"report": "started"} for i in range(5))


# Trouble


def test_an_ending_that_cannot_be_delivered_now_is_owed_and_the_pass_counts(house: House, monkeypatch):
    settle(house, "r1")
    settle(house, "r2")
    register(house, "report", BUILT)
    wait_out(house)
    true_publish = Publisher.publish

    def trouble(self, namespace, run_id, *how, birth):
        if run_id == "r1":
            raise Unavailable("the store is busy")
        return true_publish(self, namespace, run_id, *how, birth=birth)

    monkeypatch.setattr(Publisher, "publish", trouble)
    healed = heal(house)
    assert (healed.delivered, healed.re_owed, healed.failed, healed.done) == (1, 1, 0, 1)
    assert states_of(house, "r1") == {"report": "owed"}
    row = runs_of(house.container().starts).get(NS, "r1")
    assert row.announce
    assert row.due_at == house.clock.now() + 1000 * house.settings.publish_grace_seconds
    assert row.expires_at is None


def test_what_can_not_even_be_owed_keeps_the_pass_from_counting(house: House, monkeypatch):
    for i in range(3):
        settle(house, f"r{i}")
    register(house, "report", BUILT)
    wait_out(house)

    with monkeypatch.context() as patched:
        patched.setattr(Publisher, "publish", _unavailable)
        patched.setattr(Publisher, "owe", _unavailable)
        healed = heal(house)
        assert (healed.failed, healed.done) == (3, 0)
    healed = heal(house)
    assert (healed.delivered, healed.done) == (3, 1)


def test_an_ending_that_only_ever_fails_does_not_keep_the_catalog_young_for_ever(house: House, monkeypatch):
    settle(house, "r1")
    register(house, "report", BUILT)
    wait_out(house)
    monkeypatch.setattr(Publisher, "publish", _fault)
    healed = heal(house)
    assert (healed.failed, healed.done) == (1, 0)
    house.clock.advance(3600)
    healed = heal(house)
    assert (healed.failed, healed.done) == (1, 1)


def test_a_run_that_cannot_be_read_keeps_no_other_from_being_healed(house: House):
    for i in range(5):
        settle(house, f"r{i}")
        publish(house, f"r{i}")
    garble(house, "r2")
    register(house, "report", BUILT)
    wait_out(house)
    healed = heal(house)
    assert (healed.delivered, healed.failed, healed.done) == (4, 1, 0)
    assert len(started(house, "report")) == 4
    house.clock.advance(3600)
    healed = heal(house)
    assert (healed.failed, healed.done) == (1, 1)


def test_one_works_trouble_is_not_anothers(house: House, monkeypatch):
    settle(house, "r1")
    settle(house, "r2", State.FAILED)
    register(house, "report", BUILT)
    register(house, "alert", BROKEN)
    true_work = Heal._work

    def trouble(self, work, *how):
        if work.event == BUILT:
            raise Unavailable("the store is busy")
        return true_work(self, work, *how)

    with monkeypatch.context() as patched:
        patched.setattr(Heal, "_work", trouble)
        healed = heal(house)
    assert (healed.works, healed.failed, healed.delivered) == (2, 1, 1)
    assert heal(house).delivered == 1


def _unavailable(*_given, **_how):
    raise Unavailable("the store is busy")


def _fault(*_given, **_how):
    raise ValueError("nobody foresaw this")
