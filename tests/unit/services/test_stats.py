"""What is owed, for how long and why: from the due index alone, and of no other namespace."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from baton.domain.states import State
from baton.services.stats import MAX_LISTED, Owing, Stats
from tests.unit.house import NS, House, start
from tests.unit.services.acts import put_row
from tests.unit.services.endings_at_hand import (
    BROKEN,
    BUILT,
    ending_of,
    operations_of,
    publish,
    register,
    settle,
)

NOTHING = Stats(owed=0, oldest_owed_seconds=None, due=0, owing=(), complete=True)


def stats(house: House, namespace: str = NS) -> Stats:
    return house.container().statistics.read(namespace)


def why(house: House) -> list[str]:
    return [each.why for each in stats(house).owing]


def test_with_nothing_owed_nothing_is_told(house: House):
    settle(house, "r1")
    start(house.container(), run_id="r2", inactivity_timeout_seconds=0)
    assert stats(house) == NOTHING


def test_what_is_owed_is_named_with_since_when(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    at = house.clock.now()
    house.clock.advance(7.5)
    assert stats(house) == Stats(
        owed=1,
        oldest_owed_seconds=7.5,
        due=0,
        owing=(
            Owing(
                run_id="r1",
                workflow="build",
                attempt=1,
                event=BUILT,
                subscribers=("report",),
                since=at,
                why="not published yet",
            ),
        ),
        complete=True,
    )
    publish(house, "r1")
    assert stats(house) == NOTHING


def test_an_earlier_attempts_settlement_is_named_too(house: House):
    register(house, "alert", BROKEN)
    settle(house, "r1", State.FAILED)
    house.container().control.resume(NS, "r1", force=False, key=None)
    [owing] = stats(house).owing
    assert (owing.run_id, owing.workflow, owing.attempt, owing.event) == ("r1", "build", 1, BROKEN)


def test_the_longest_owed_come_first_and_not_all_are_listed(house: House):
    register(house, "report", BUILT)
    for i in range(MAX_LISTED + 3):
        settle(house, f"r{i:02d}")
        house.clock.advance(1)
    told = stats(house)
    assert told.owed == MAX_LISTED + 3
    assert [each.run_id for each in told.owing] == [f"r{i:02d}" for i in range(MAX_LISTED)]
    assert told.oldest_owed_seconds == MAX_LISTED + 3


def test_a_subscriber_that_is_gone_is_named(house: House):
    register(house, "gone", BUILT)
    register(house, "moved", BUILT)
    settle(house, "r1")
    house.container().workflows.delete(NS, "gone")
    register(house, "moved", "released")
    assert why(house) == [
        "subscriber gone is not in the catalog; subscriber moved is not subscribed to this any more"
    ]


def test_what_was_put_off_says_how_often(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    for strikes, said in ((1, "put off after 1 failure"), (4, "put off after 4 failures")):
        put_row(house, "r1", strikes=strikes)
        assert why(house) == [said]


def test_an_ending_that_is_not_known_to_be_anybodys_says_so(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    put_row(house, "r1", settlement=replace(ending_of(house, "r1").settlement, owed=(), unresolved=True))
    assert why(house) == ["not known whom it is owed to"]


@pytest.mark.parametrize(("waiters", "said"), [(1, "1 run waits for it"), (3, "3 runs wait for it")])
def test_who_waits_is_counted(house: House, waiters: int, said: str):
    register(house, "report", BUILT)
    settle(house, "r1")
    put_row(house, "r1", settlement=replace(ending_of(house, "r1").settlement, owed=(), waiters=waiters))
    assert why(house) == [said]


def test_what_is_due_and_not_attended_to_is_counted_also_where_nothing_is_owed(house: House):
    start(house.container(), run_id="r1", inactivity_timeout_seconds=10)
    start(house.container(), run_id="r2", inactivity_timeout_seconds=20)
    assert stats(house).due == 0
    house.clock.advance(10)
    assert (stats(house).due, stats(house).owed) == (1, 0)


def test_another_namespaces_data_is_not_told(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    start(house.container(), run_id="r2", inactivity_timeout_seconds=1)
    house.clock.advance(100)
    assert stats(house, "other") == NOTHING
    assert stats(house, NS[:-1]) == NOTHING
    assert stats(house).due == 2


def test_it_looks_at_so_much_and_says_when_there_was_more(house: House, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("baton.services.stats.MAX_EXAMINED", 4)
    register(house, "report", BUILT)
    for i in range(12):
        settle(house, f"r{i}")
    told = stats(house)
    assert (told.complete, told.owed) == (False, 4)


def test_what_cannot_be_read_keeps_nothing_else_from_being_told(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    settle(house, "r2")
    house.client.update_item(
        TableName=house.settings.runs_table,
        Key={"k": {"S": f"{NS}#r1"}, "s": {"S": "run"}},
        UpdateExpression="SET st = :v",
        ExpressionAttributeValues={":v": {"S": "{"}},
    )
    assert [each.run_id for each in stats(house).owing] == ["r2"]


def test_a_catalog_that_cannot_be_read_leaves_a_reason_out(house: House, monkeypatch: pytest.MonkeyPatch):
    register(house, "report", BUILT)
    settle(house, "r1")

    def nothing(*_given: Any) -> None:
        return None

    monkeypatch.setattr("baton.services.catalog.Catalog.at_hand", nothing)
    assert why(house) == ["not published yet"]


def test_it_costs_one_look_at_each_shard_and_a_batch_of_rows(house: House):
    register(house, "report", BUILT)
    for i in range(30):
        settle(house, f"r{i}")
    container = house.container()
    with operations_of(container) as calls:
        container.statistics.read(NS)
    assert sorted(calls) == ["BatchGetItem", "Query", "Query", "Query"]  # two shards and the catalog


def test_all_that_is_owed_comes_up_within_what_it_looks_ahead(house: House):
    """Whatever failed is looked at again within an hour."""
    register(house, "report", BUILT)
    settle(house, "r1")
    due = house.container().sweep._context.due
    item = due.look(f"{NS}#r1", "run")
    assert item is not None
    assert due.put_off(item, rev="rev", due_at=house.clock.now() + 3_600_000)
    assert why(house) == ["put off after 1 failure"]
