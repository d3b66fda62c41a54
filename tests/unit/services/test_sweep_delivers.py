"""The sweep delivers what no live publisher did, fires the windows that are over, and leaves nothing due for
ever."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from baton.domain.catalog import Batch, BatchMode
from baton.domain.events import Post
from baton.domain.states import State
from baton.domain.sweeping import FIRST_PAUSE_SECONDS
from baton.errors import Busy
from baton.services.publishing import Publisher
from baton.services.sweep import Swept
from baton.store.due import DueStore
from tests.unit.house import NS, House, before_each_call, calls_of, names_of
from tests.unit.services.acts import put_row
from tests.unit.services.endings_at_hand import (
    BROKEN,
    BUILT,
    ending_of,
    is_marked,
    publish,
    register,
    runs_of,
    settle,
    started,
    states_of,
)


def sweep(house: House) -> Swept:
    return house.container().sweep.run()


def due(house: House) -> list[tuple[str, str]]:
    """What the due index names, whenever it is due."""
    return [(raw["k"]["S"], raw["s"]["S"]) for raw in house.rows() if "dk" in raw]


def after_grace(house: House) -> None:
    house.clock.advance(house.settings.publish_grace_seconds)


# What is owed


def test_what_nobody_published_is_published_after_the_grace_time(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    house.clock.advance(house.settings.publish_grace_seconds - 0.001)
    assert sweep(house) == Swept()
    house.clock.advance(0.001)
    assert sweep(house) == Swept(published=1)
    assert states_of(house, "r1") == {"report": "started"}
    assert len(started(house, "report")) == 1
    assert due(house) == []
    assert sweep(house) == Swept()


def test_what_was_published_is_due_no_more(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    publish(house, "r1")
    after_grace(house)
    assert sweep(house) == Swept()


def test_an_ending_without_subscribers_is_never_due(house: House):
    settle(house, "r1")
    assert due(house) == []


def test_the_settlement_of_an_earlier_attempt_is_published_on_its_own(house: House):
    register(house, "alert", BROKEN)
    settle(house, "r1", State.FAILED, inactivity_timeout_seconds=0)
    house.container().control.resume(NS, "r1", force=False, key=None)
    after_grace(house)
    assert sweep(house) == Swept(published=1)
    assert states_of(house, "r1", 1) == {"alert": "started"}
    assert ending_of(house, "r1", 1).run.state is State.RUNNING
    assert due(house) == []


def test_a_settlement_too_large_for_its_row_is_published_too(house: House):
    for i in range(9):
        register(house, f"s{i}", BUILT)
    settle(house, "r1")
    assert ending_of(house, "r1").apart is not None
    after_grace(house)
    assert sweep(house) == Swept(published=1)
    assert set(states_of(house, "r1").values()) == {"started"}
    assert due(house) == []


def test_an_ending_whose_subscribers_could_not_be_read_is_resolved(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    settlement = ending_of(house, "r1").settlement
    put_row(house, "r1", settlement=replace(settlement, owed=(), unresolved=True))
    after_grace(house)
    assert sweep(house) == Swept(published=1)
    assert states_of(house, "r1") == {"report": "started"}


def test_an_ending_that_turns_out_to_be_nobodys_is_done(house: House):
    settle(house, "r1")
    settlement = replace(ending_of(house, "r1").settlement, unresolved=True)
    put_row(house, "r1", settlement=settlement, due_at=house.clock.now(), expires_at=None)
    assert sweep(house) == Swept(published=1)
    assert not is_marked(house, "r1")
    assert runs_of(house.container().starts).get(NS, "r1").expires_at is not None
    assert due(house) == []


def test_a_subscriber_that_is_gone_keeps_the_rest_from_nothing_and_is_looked_at_again(house: House):
    register(house, "report", BUILT)
    register(house, "gone", BUILT)
    settle(house, "r1")
    house.container().workflows.delete(NS, "gone")
    after_grace(house)
    house.clock.advance(house.settings.catalog_seconds)
    assert sweep(house) == Swept(postponed=1, owed_seconds=35)
    assert states_of(house, "r1") == {"report": "started", "gone": "owed"}
    assert sweep(house) == Swept()
    house.clock.advance(house.settings.orphan_seconds)
    assert sweep(house) == Swept(published=1)
    assert states_of(house, "r1") == {"report": "started", "gone": "failed"}
    assert due(house) == []


def test_a_lease_held_by_another_puts_it_off(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    after_grace(house)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Publisher, "publish", _busy)
        assert sweep(house) == Swept(failed=1, owed_seconds=30)
        assert sweep(house) == Swept()
    house.clock.advance(FIRST_PAUSE_SECONDS)
    assert sweep(house) == Swept(published=1)
    assert runs_of(house.container().starts).get(NS, "r1").strikes == 0


def _busy(*_given, **_how):
    raise Busy("somebody else publishes it")


def test_two_sweeps_at_once_start_a_subscriber_once(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    after_grace(house)
    one, other = house.container(), house.container()
    overlapping: list[Swept] = []

    def overlap(operation, _request):
        if operation == "PutItem" and not overlapping:
            overlapping.append(Swept())
            overlapping[0] = other.sweep.run()

    with before_each_call(one, overlap):
        assert one.sweep.run().failed == 0
    assert states_of(house, "r1") == {"report": "started"}
    assert len(started(house, "report")) == 1
    assert due(house) == []


# What is buffered


def window(house: House, seconds: float = 10) -> None:
    """A run whose ending has joined a window that is open."""
    batch = Batch(mode=BatchMode.BATCH, window_seconds=seconds)
    register(house, "digest", BUILT, batch=batch)
    settle(house, "r1")
    publish(house, "r1")
    assert states_of(house, "r1") == {"digest": "coalesced"}
    assert runs_of(house.container().starts).get(NS, "r1").expires_at is None


def test_a_window_that_is_over_is_fired_and_the_run_kept_for_it_is_let_go(house: House):
    window(house, seconds=10)
    house.clock.advance(10)
    assert sweep(house).fired == 1
    assert len(started(house, "digest")) == 1
    after_grace(house)
    sweep(house)
    row = runs_of(house.container().starts).get(NS, "r1")
    assert (row.due_at, row.settlement.holding) == (None, False)
    assert row.expires_at is not None
    assert due(house) == []


def test_a_run_whose_input_waits_in_an_open_window_is_looked_at_ever_less_often(house: House):
    window(house, seconds=1000)
    pause = house.settings.publish_grace_seconds
    for turn in range(5):
        house.clock.advance(pause * 2 ** max(0, turn - 1) - 0.001)
        assert sweep(house) == Swept()
        house.clock.advance(0.001)
        assert sweep(house) == Swept(published=1)
        assert runs_of(house.container().starts).get(NS, "r1").expires_at is None
    assert started(house, "digest") == []


def test_a_window_put_off_after_a_failure_fires_in_the_end(house: House):
    window(house, seconds=10)
    house.clock.advance(10)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("baton.services.coalescing.Coalescer.fire", _busy)
        assert sweep(house).failed == 1
    house.clock.advance(FIRST_PAUSE_SECONDS)
    assert sweep(house).fired == 1
    assert len(started(house, "digest")) == 1


def test_who_joins_a_window_that_was_put_off_forgets_its_failures(house: House):
    window(house, seconds=10)
    header = next((raw["k"]["S"], "open") for raw in house.rows() if raw["s"]["S"] == "open")
    index = _index(house)
    item = index.look(*header)
    assert item is not None
    assert index.put_off(item, rev="rev", due_at=house.clock.now() + 1000)
    settle(house, "r2")
    publish(house, "r2")
    joined = index.look(*header)
    assert joined is not None
    assert joined.strikes == 0


# Events


def test_an_event_that_nobody_finished_is_finished(house: House):
    register(house, "deployer", "released")
    house.clock.advance(house.settings.catalog_seconds)
    container = house.container()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("baton.services.delivering.Deliverer.deliver", _unforeseen)
        with pytest.raises(ValueError, match="unforeseen"):
            container.events.publish(Post(namespace=NS, name="released", id="e1", payload=b"{}"))
    assert started(house, "deployer") == []
    after_grace(house)
    assert sweep(house) == Swept(published=1)
    assert len(started(house, "deployer")) == 1
    assert due(house) == []


def _unforeseen(*_given, **_how):
    raise ValueError("unforeseen")


# Nothing stands there for ever


def test_a_settled_run_that_owes_nothing_loses_a_due_time_that_was_left(house: House):
    settle(house, "r1")
    put_row(house, "r1", due_at=house.clock.now())
    assert sweep(house) == Swept(postponed=1)
    assert due(house) == []


@pytest.mark.parametrize("expired", [False, True])
def test_an_item_that_is_due_and_that_nobody_moves_does_not_stay_at_the_head(house: House, expired: bool):
    """A row that reads as gone; a settlement of a life that is none any more."""
    settle(house, "r1", State.FAILED)
    if expired:
        put_row(house, "r1", due_at=house.clock.now(), expires_at=house.clock.now() - 1)
    else:
        key = {"k": {"S": f"{NS}#r1"}, "s": {"S": "settlement#past#000001"}}
        entry = {"dk": {"S": "due0"}, "du": {"N": str(house.clock.now())}, "rv": {"S": "rev"}}
        house.client.put_item(TableName=house.settings.runs_table, Item=key | entry)
    assert sweep(house) == Swept(stale=1)
    assert sweep(house) == Swept()
    house.clock.advance(FIRST_PAUSE_SECONDS)
    assert sweep(house) == Swept(stale=1)


def test_entries_that_are_not_due_any_more_cost_a_read_and_nothing_else(house: House, monkeypatch):
    register(house, "report", BUILT)
    for i in range(3):
        settle(house, f"r{i}")
    after_grace(house)
    behind = [raw for shard in range(2) for raw in _index(house).page(shard, house.clock.now()).items]
    assert len(behind) == 3
    for i in range(2):
        publish(house, f"r{i}")
    house.client.delete_item(
        TableName=house.settings.runs_table, Key={"k": {"S": f"{NS}#r2"}, "s": {"S": "run"}}
    )

    def lagging(self, shard, *_given, **_how):
        page = true_page(self, shard, 0)
        return page._replace(items=behind if shard == 0 else [])

    true_page = DueStore.page
    monkeypatch.setattr(DueStore, "page", lagging)
    container = house.container()
    with calls_of(container) as calls:
        assert container.sweep.run() == Swept(stale=3)
    assert sorted(names_of(calls)) == ["GetItem"] * 3 + ["Query"] * 2


def _index(house: House) -> DueStore:
    return house.container().sweep._context.due
