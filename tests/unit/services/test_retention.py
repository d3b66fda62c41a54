"""A row that was removed takes its log, its settlements and its alias along, and nothing of a later life."""

from itertools import count

import pytest

from baton.domain.states import State
from baton.services.changes import Change
from baton.services.retention import PURGE_BATCHES
from baton.store.log import PURGE_BATCH
from tests.unit.house import NS, before_each_call, calls_of, names_of, start
from tests.unit.services.acts import append, fail, finish, replay, types_of

TTL_MARGIN = 3600


def removed(house, run_id="r1"):
    """The change that the stream tells of once the row has been removed."""
    key = {"k": {"S": f"{NS}#{run_id}"}, "s": {"S": "run"}}
    gone = house.client.delete_item(TableName=house.settings.runs_table, Key=key, ReturnValues="ALL_OLD")
    return Change(keys=(key["k"]["S"], "run"), old=gone["Attributes"], new=None, sequence="1")


def take(house, *changes):
    return house.container().changes.take(changes, time_left=lambda: True)


def life(house, run_id="r1", items=3, **wish):
    """A run that ended, with some items in its log."""
    container = house.container()
    start(container, run_id=run_id, **wish)
    for number in range(items - 1):
        append(container, run_id, number)
    finish(container, run_id)


def outlive(house):
    """Let a run's retention, and what DynamoDB adds to it, pass."""
    house.clock.advance(house.settings.retention_seconds + TTL_MARGIN)


def test_nothing_is_left_of_a_run_whose_row_was_removed(house):
    life(house, key="k")
    outlive(house)
    assert take(house, removed(house)) == []
    assert (house.rows(), house.log()) == ([], [])


def test_settlements_in_items_of_their_own_go_along(house):
    container = house.container()
    start(container, run_id="r1")
    fail(container, "r1")
    container.control.resume(NS, "r1", force=False, key=None)
    finish(container, "r1", State.COMPLETED, attempt=2)
    sorts = {item["s"]["S"].split("#")[0] for item in house.rows()}
    assert sorts == {"run", "settlement"}
    outlive(house)
    assert take(house, removed(house)) == []
    assert house.rows() == []


def test_the_removal_told_twice_is_one(house):
    life(house)
    outlive(house)
    change = removed(house)
    assert take(house, change, change) == []
    assert take(house, change) == []
    assert (house.rows(), house.log()) == ([], [])


def test_a_life_that_began_since_loses_nothing(house):
    life(house, key="k")
    outlive(house)
    change = removed(house)
    container = house.container()
    start(container, run_id="r1", key="k")
    append(container, "r1", "present")
    rows = house.rows()
    assert take(house, change) == []
    assert house.rows() == rows
    assert types_of(replay(house.container(), "r1")) == ["start", "note"]


def test_a_long_log_is_purged_bit_by_bit_the_rest_by_the_sweep(house, monkeypatch):
    monkeypatch.setattr("baton.services.retention.PURGE_BATCHES", 1)
    monkeypatch.setattr("baton.store.log.PURGE_BATCH", 2)
    assert PURGE_BATCHES * PURGE_BATCH == 1000
    life(house, items=5)
    outlive(house)
    assert take(house, removed(house)) == []
    assert len(house.log()) == 3
    for _ in range(3):
        house.container().sweep.run()
    assert (house.rows(), house.log()) == ([], [])


@pytest.mark.parametrize("deleted", [False, True])
def test_a_row_removed_before_its_tails_are_forgotten_is_purged_later(house, deleted):
    life(house)
    if deleted:
        house.container().runs.delete(NS, "r1")
        house.clock.advance(house.settings.purge_delay_seconds - 1)
    assert take(house, removed(house)) == []
    assert len(house.log()) == 3
    assert house.container().sweep.run().purged == 0
    outlive(house)
    assert house.container().sweep.run().purged == 1
    assert (house.rows(), house.log()) == ([], [])


def test_an_alias_that_was_removed_takes_nothing_along(house):
    life(house, key="k")
    alias = next(item for item in house.rows() if "al" in item)
    change = Change(keys=(alias["k"]["S"], "run"), old=alias, new=None, sequence="1")
    runtime = house.container()
    with calls_of(runtime) as calls:
        assert runtime.changes.take([change], time_left=lambda: True) == []
    assert names_of(calls) == []


def test_wherever_the_process_dies_the_change_told_again_leaves_nothing(house, monkeypatch):
    """A death after a call is the same as one before the next."""
    monkeypatch.setattr("baton.store.log.PURGE_BATCH", 2)
    deaths = 0
    for at in range(100):
        resumed(house)
        outlive(house)
        change, runtime = removed(house), house.container()
        if died(runtime, change, at):
            deaths += 1
            assert take(house, change) == []
        assert (house.rows(), house.log()) == ([], [])
        if deaths == at:
            break
    assert deaths > 5


def resumed(house):
    """A run that ended twice, with a settlement of its own for each, and an alias."""
    container = house.container()
    start(container, run_id="r1", key="k")
    fail(container, "r1")
    container.control.resume(NS, "r1", force=False, key=None)
    finish(container, "r1", State.COMPLETED, attempt=2)


class Death(BaseException):
    """The process is gone: no `except Exception` lives to see it."""


def died(runtime, change, at):
    """Whether the process died before its ``at``-th call."""
    seen = count()

    def strike(operation, request):
        if next(seen) == at:
            raise Death

    try:
        with before_each_call(runtime, strike):
            runtime.changes.take([change], time_left=lambda: True)
    except Death:
        return True
    return False
