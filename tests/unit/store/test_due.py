"""What is due, of whatever kind: told by its keys, looked at, and put off without being understood."""

import msgspec
import pytest
from msgspec.structs import replace

from baton.domain.run import Step
from baton.store.due import (
    DueClearing,
    DuePurge,
    DueRun,
    DueSettlement,
    DueWindow,
    Unknown,
    named,
)
from baton.store.events import EventKey
from baton.store.runs import Changed, Creation
from tests.unit.manual_clock import MIDNIGHT

KINDS = {
    ("ns#r1", "run"): DueRun("ns", "r1"),
    ("ns#r1", "settlement#b1#000002"): DueSettlement("ns", "r1", "b1", 2),
    ("ns#r1#b1", "purge"): DuePurge("ns#r1#b1"),
    ("ns##window#digest#mark", "open"): DueWindow("ns##window#digest#mark"),
    ("ns##window#b~1", "spent"): DueClearing("ns##window#b~1"),
    ("ns##event#deploy", "event#e#1"): EventKey("ns", "deploy", "e#1"),
}


@pytest.mark.parametrize(("keys", "kind"), KINDS.items(), ids=lambda each: str(each))
def test_an_item_is_told_by_its_keys(keys, kind):
    assert named(*keys) == kind


@pytest.mark.parametrize("sort", ["", "runs", "member#00000001", "waiter#r#w", "joined"])
def test_what_is_never_due_is_nothing_that_is_known(sort):
    with pytest.raises(Unknown):
        named("ns#r1", sort)


@pytest.fixture
def item(runs, due, run):
    assert runs.create(Creation(run=run))
    return due.look("default#r1", "run")


def test_a_look_shows_what_every_kind_has(item, run):
    assert (item.key, item.sort, item.rev) == ("default#r1", "run", run.rev)
    assert (item.due_at, item.strikes) == (run.due_at, 0)
    assert item.run() == run


def test_what_is_gone_is_not_there_to_look_at(due):
    assert due.look("default#r1", "run") is None


def test_putting_off_moves_the_due_time_and_counts_and_touches_nothing_else(runs, due, item, run):
    assert due.put_off(item, rev="rev2", due_at=MIDNIGHT + 9)
    assert runs.get("default", "r1") == replace(run, rev="rev2", due_at=MIDNIGHT + 9, strikes=1)


def test_an_item_that_cannot_be_understood_is_put_off_all_the_same(house, due, item):
    house.client.update_item(
        TableName=house.settings.runs_table,
        Key={"k": {"S": item.key}, "s": {"S": item.sort}},
        UpdateExpression="SET st = :v, en = :v REMOVE ua, rv",
        ExpressionAttributeValues={":v": {"S": "{"}},
    )
    seen = due.look(item.key, item.sort)
    assert seen.rev is None
    with pytest.raises(msgspec.MsgspecError):
        seen.run()
    assert due.put_off(seen, rev="rev2", due_at=MIDNIGHT + 9)
    put_off = due.look(item.key, item.sort)
    assert (put_off.due_at, put_off.strikes, put_off.rev) == (MIDNIGHT + 9, 1, "rev2")


def test_whoever_wrote_it_since_knows_better_when_it_is_due(runs, due, item, run):
    written = replace(run, rev="theirs", due_at=MIDNIGHT + 5)
    assert runs.change(run, Step(written)) is Changed.APPLIED
    assert not due.put_off(item, rev="rev2", due_at=MIDNIGHT + 9)
    assert runs.get("default", "r1") == written


def test_what_went_since_does_not_come_back(house, due, item):
    house.client.delete_item(
        TableName=house.settings.runs_table, Key={"k": {"S": item.key}, "s": {"S": item.sort}}
    )
    assert not due.put_off(item, rev="rev2", due_at=MIDNIGHT + 9)
    assert due.look(item.key, item.sort) is None


def test_a_putting_off_whose_reply_was_lost_knows_itself(due, item):
    assert due.put_off(item, rev="rev2", due_at=MIDNIGHT + 9)
    assert due.put_off(item, rev="rev2", due_at=MIDNIGHT + 9)
    assert due.look(item.key, item.sort).strikes == 1


def test_a_change_of_the_due_time_forgets_the_failures_before_it(runs, due, item):
    assert due.put_off(item, rev="rev2", due_at=MIDNIGHT + 9)
    struck = runs.get("default", "r1")
    named_only = replace(struck, rev="rev3", agent_id="a")
    assert runs.change(struck, Step(named_only)) is Changed.APPLIED
    assert runs.get("default", "r1").strikes == 1
    assert runs.change(named_only, Step(replace(named_only, rev="rev4", due_at=MIDNIGHT))) is Changed.APPLIED
    assert runs.get("default", "r1").strikes == 0
