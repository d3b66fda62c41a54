"""Creating and changing runs: each condition closes its race, and one's own write is known again."""

import pytest
from msgspec.structs import replace

from baton.domain.log import Header
from baton.domain.run import Step
from baton.domain.starting import Alias
from baton.domain.states import State
from baton.store.log import LogItem
from baton.store.rows import Purge
from baton.store.runs import Changed, Creation


def item(slot=1, nonce="n1", birth="birth1"):
    return LogItem(
        birth=birth, slot=slot, count=1, header=Header(), ts=1, nonce=nonce, body=b'[["note",null]]'
    )


# Creating


def test_a_created_run_is_read_back_whole(runs, run):
    assert runs.create(Creation(run=run))
    assert runs.get("default", "r1") == run


def test_nothing_stands_where_nothing_was_created(runs):
    assert runs.get("default", "r1") is None


def test_a_second_start_of_an_id_finds_it_taken(runs, run):
    assert runs.create(Creation(run=run))
    assert not runs.create(Creation(run=replace(run, birth="birth2", rev="rev2")))
    assert runs.get("default", "r1") == run


def test_the_same_id_in_another_namespace_is_another_run(runs, run):
    assert runs.create(Creation(run=run))
    assert runs.create(Creation(run=replace(run, namespace="other", birth="birth2")))
    assert runs.get("other", "r1").birth == "birth2"
    assert runs.get("default", "r1") == run


def test_ones_own_creation_found_standing_is_success(runs, run):
    assert runs.create(Creation(run=run))
    assert runs.create(Creation(run=run))


def test_ones_own_creation_is_known_also_after_the_row_went_on(runs, run):
    assert runs.create(Creation(run=run))
    assert runs.change(run, Step(replace(run, rev="rev2", attempt=2))) is Changed.APPLIED
    assert runs.create(Creation(run=run))
    assert runs.get("default", "r1").attempt == 2


def test_a_key_with_an_id_leaves_an_alias(runs, run):
    made = replace(run, alias_id="k~1")
    assert runs.create(Creation(run=made, alias_id="k~1"))
    assert runs.get("default", "k~1") == Alias("r1", "birth1", "rev1")


def test_a_taken_alias_stops_the_whole_start(runs, run):
    assert runs.create(Creation(run=run, alias_id="k~1"))
    other = replace(run, id="r2", birth="birth2", rev="rev2")
    assert not runs.create(Creation(run=other, alias_id="k~1"))
    assert runs.get("default", "r2") is None


def test_the_first_log_item_is_written_with_the_row_or_not_at_all(runs, logs, run):
    put = logs.put("default", "r1", item(slot=0))
    assert runs.create(Creation(run=run, first_item=put))
    assert logs.newest("default", "r1", consistent=True).slot == 0
    other = replace(run, birth="birth2", rev="rev2")
    refused = logs.put("default", "r1", item(slot=0, birth="birth2"))
    assert not runs.create(Creation(run=other, first_item=refused))
    assert logs.newest_of("default", "r1", "birth2", consistent=True) is None


def test_a_start_over_an_old_life_replaces_it_and_leaves_a_purge(runs, due, run):
    old = replace(run, state=State.COMPLETED, due_at=None)
    assert runs.create(Creation(run=old))
    purge = Purge(namespace="default", run_id="r1", birth="birth1", rev="rev2", due_at=5)
    new = replace(run, birth="birth2", rev="rev2", due_at=None)
    assert runs.create(Creation(run=new, over_row=old, purges=(purge,)))
    assert runs.get("default", "r1") == new
    (entry,) = [raw for shard in range(2) for raw in due.page(shard, 10).items]
    assert entry["k"]["S"] == "default#r1#birth1"


def test_a_start_over_what_has_moved_since_is_lost(runs, run):
    assert runs.create(Creation(run=run))
    assert runs.change(run, Step(replace(run, rev="rev2"))) is Changed.APPLIED
    assert not runs.create(Creation(run=replace(run, birth="b2", rev="r"), over_row=run))


def test_a_start_over_what_is_gone_is_lost(runs, run):
    assert not runs.create(Creation(run=replace(run, birth="b2", rev="r"), over_row=run))


def test_a_row_may_take_the_place_of_an_alias_and_an_alias_that_of_a_row(runs, run):
    assert runs.create(Creation(run=run, alias_id="k~1"))
    alias = runs.get("default", "k~1")
    over_alias = replace(run, id="k~1", birth="birth2", rev="rev2")
    assert runs.create(Creation(run=over_alias, over_row=alias))
    assert runs.get("default", "k~1") == over_alias
    again = replace(run, id="r2", birth="birth3", rev="rev3")
    assert runs.create(Creation(run=again, alias_id="k~1", over_alias=over_alias))
    assert runs.get("default", "k~1") == Alias("r2", "birth3", "rev3")


# Changing


def test_a_change_is_read_back_whole(runs, run):
    runs.create(Creation(run=run))
    after = replace(run, rev="rev2", state=State.SUSPENDED, due_at=None, agent_id="a")
    assert runs.change(run, Step(after)) is Changed.APPLIED
    assert runs.get("default", "r1") == after


def test_of_two_who_read_the_same_row_one_changes_it(runs, run):
    runs.create(Creation(run=run))
    assert runs.change(run, Step(replace(run, rev="mine"))) is Changed.APPLIED
    assert runs.change(run, Step(replace(run, rev="theirs"))) is Changed.ROW_MOVED
    assert runs.get("default", "r1").rev == "mine"


def test_a_row_that_is_gone_is_not_brought_back(runs, run):
    assert runs.change(run, Step(replace(run, rev="rev2"))) is Changed.ROW_MOVED
    assert runs.get("default", "r1") is None


def test_a_change_with_an_item_writes_both(runs, logs, run):
    runs.create(Creation(run=run))
    after = replace(run, rev="rev2", attempt=2)
    assert runs.change(run, Step(after), logs.put("default", "r1", item())) is Changed.APPLIED
    assert runs.get("default", "r1") == after
    assert logs.newest("default", "r1", consistent=True) == item()


def test_a_taken_slot_stops_the_row_too(runs, logs, run):
    runs.create(Creation(run=run))
    assert logs.append(logs.put("default", "r1", item(nonce="theirs")))
    put = logs.put("default", "r1", item(nonce="mine"))
    assert runs.change(run, Step(replace(run, rev="rev2")), put) is Changed.SLOT_TAKEN
    assert runs.get("default", "r1") == run


def test_a_moved_row_stops_the_item_too(runs, logs, run):
    runs.create(Creation(run=run))
    runs.change(run, Step(replace(run, rev="theirs")))
    put = logs.put("default", "r1", item())
    assert runs.change(run, Step(replace(run, rev="mine")), put) is Changed.ROW_MOVED
    assert logs.newest("default", "r1", consistent=True) is None


def test_when_both_have_moved_the_row_is_what_counts(runs, logs, run):
    runs.create(Creation(run=run))
    runs.change(run, Step(replace(run, rev="theirs")))
    logs.append(logs.put("default", "r1", item(nonce="theirs")))
    put = logs.put("default", "r1", item(nonce="mine"))
    assert runs.change(run, Step(replace(run, rev="mine")), put) is Changed.ROW_MOVED


def test_ones_own_change_found_standing_is_success(runs, run):
    runs.create(Creation(run=run))
    after = replace(run, rev="rev2", attempt=2)
    assert runs.change(run, Step(after)) is Changed.APPLIED
    assert runs.change(run, Step(after)) is Changed.APPLIED


def test_ones_own_change_is_known_by_its_item_when_the_row_went_on(runs, logs, run):
    runs.create(Creation(run=run))
    after, put = replace(run, rev="rev2", attempt=2), logs.put("default", "r1", item())
    assert runs.change(run, Step(after), put) is Changed.APPLIED
    assert runs.change(after, Step(replace(after, rev="rev3"))) is Changed.APPLIED
    assert runs.change(run, Step(after), put) is Changed.APPLIED
    assert runs.get("default", "r1").rev == "rev3"


def test_a_change_writes_what_changed_and_keeps_what_it_does_not_know(runs, run, house):
    runs.create(Creation(run=run))
    key = {"k": {"S": "default#r1"}, "s": {"S": "run"}}
    house.client.update_item(
        TableName=house.settings.runs_table,
        Key=key,
        UpdateExpression="SET newer = :v, md = :v",
        ExpressionAttributeValues={":v": {"S": "queued"}},
    )
    assert runs.change(run, Step(replace(run, rev="rev2", failures=1, due_at=None))) is Changed.APPLIED
    standing = house.client.get_item(TableName=house.settings.runs_table, Key=key)["Item"]
    assert standing["newer"] == {"S": "queued"}
    assert standing["md"] == {"S": "queued"}  # not changed by this write, so not written
    assert standing["fa"] == {"N": "1"}
    assert not {"du", "dk"} & set(standing)


@pytest.mark.parametrize("number", [0, 1, 100])
def test_many_runs_are_read_by_id(runs, run, number):
    for i in range(number):
        runs.create(Creation(run=replace(run, id=f"r{i}", birth=f"b{i}")))
    wanted = [f"r{i}" for i in range(number)]
    found = runs.get_many("default", wanted)
    assert set(found) == set(wanted)
    assert all(found[id_].id == id_ for id_ in wanted)


def test_of_many_ids_those_that_are_no_runs_are_left_out(runs, run):
    runs.create(Creation(run=run, alias_id="k~1"))
    assert set(runs.get_many("default", ["r1", "k~1", "absent"])) == {"r1"}
    assert runs.get_many("other", ["r1"]) == {}
