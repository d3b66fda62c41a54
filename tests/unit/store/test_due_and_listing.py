"""The indexes: what is due, by shard and time; what is listed, by creation; and purges."""

import pytest
from msgspec.structs import replace

from baton.domain.run import Step
from baton.store.due import DuePurge, named
from baton.store.rows import Purge, place_at
from baton.store.runs import Creation
from tests.unit.manual_clock import MIDNIGHT


def create(runs, run, id_, **change):
    made = replace(run, id=id_, birth=f"b-{id_}", **change)
    assert runs.create(Creation(run=made))
    return made


def due_ids(due, until):
    found = [[raw["k"]["S"] for raw in due.page(shard, until).items] for shard in range(2)]
    return found[0] + found[1]


def test_what_is_due_is_in_exactly_one_shard_once_its_time_has_come(runs, due, run):
    for i in range(20):
        create(runs, run, f"r{i}", due_at=MIDNIGHT + i)
    assert sorted(due_ids(due, MIDNIGHT + 9)) == sorted(f"default#r{i}" for i in range(10))


def test_the_earliest_is_first_in_its_shard(runs, due, run):
    for i in (3, 1, 2, 0):
        create(runs, run, f"r{i}", due_at=MIDNIGHT + i)
    for shard in range(2):
        ids = [raw["k"]["S"] for raw in due.page(shard, MIDNIGHT + 9).items]
        assert ids == sorted(ids)


def test_a_run_without_a_due_time_is_in_no_shard(runs, due, run):
    made = create(runs, run, "r1", due_at=MIDNIGHT)
    runs.change(made, Step(replace(made, rev="rev2", due_at=None)))
    assert due_ids(due, MIDNIGHT + 10**9) == []


def test_a_shard_is_read_page_by_page(runs, due, run):
    for i in range(7):
        create(runs, run, f"r{i}", due_at=MIDNIGHT + i)
    seen = []
    for shard in range(2):
        start = None
        while True:
            page = due.page(shard, MIDNIGHT + 9, start=start, limit=2)
            seen += [raw["k"]["S"] for raw in page.items]
            if page.more is None:
                break
            start = page.more
    assert sorted(seen) == [f"default#r{i}" for i in range(7)]


@pytest.fixture
def purge(runs, run):
    purge = Purge(namespace="default", run_id="r1", birth="old", rev="v", due_at=MIDNIGHT, alias="k~1")
    runs.create(Creation(run=run, purges=(purge,)))
    return purge


def pending(due, until):
    """The purges that are due by ``until``, each looked at as the sweep does."""
    entries = [raw for shard in range(2) for raw in due.page(shard, until).items]
    found = [due.look(raw["k"]["S"], raw["s"]["S"]) for raw in entries]
    return [item.purge() for item in found if isinstance(named(item.key, item.sort), DuePurge)]


def test_a_purge_is_found_by_its_index_entry(due, purge):
    assert pending(due, MIDNIGHT) == [purge]


def test_a_purge_put_back_is_due_later(due, purge):
    due.put_back(purge, MIDNIGHT + 5)
    assert pending(due, MIDNIGHT) == []
    assert pending(due, MIDNIGHT + 5) == [replace(purge, due_at=MIDNIGHT + 5)]


def test_a_purge_that_is_done_is_gone_with_its_alias(runs, due, run, purge):
    old = replace(run, id="r0", birth="old", rev="old")
    runs.create(Creation(run=old, alias_id="k~1"))
    due.purged(purge)
    assert pending(due, MIDNIGHT) == []
    assert runs.get("default", "k~1") is None


def test_a_purge_leaves_an_alias_of_a_newer_life_alone(runs, due, run, purge):
    newer = replace(run, id="r0", birth="newer", rev="newer")
    runs.create(Creation(run=newer, alias_id="k~1"))
    due.purged(purge)
    assert runs.get("default", "k~1").birth == "newer"


def test_a_purge_leaves_a_run_that_its_key_made_since_alone(runs, due, run, purge):
    made_by_key = replace(run, id="k~1", birth="old", rev="new")
    runs.create(Creation(run=made_by_key))
    due.purged(purge)
    assert runs.get("default", "k~1") == made_by_key


def test_forgetting_a_purge_twice_is_once(due, purge):
    due.purged(purge)
    due.purged(purge)
    assert pending(due, MIDNIGHT) == []


# Listing


def listed(runs, *, workflow="build", context_ref=None, since=None, before="~", limit=100):
    found, start = [], None
    while True:
        page, start = runs.listing(
            "default",
            workflow=workflow,
            context_ref=context_ref,
            since=place_at(0) if since is None else since,
            before=before,
            start=start,
            limit=limit,
        )
        found += [place.run_id for place in page]
        if start is None:
            return found


@pytest.fixture
def five(runs, run):
    return [create(runs, run, f"r{i}", created_at=MIDNIGHT + i) for i in range(5)]


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_a_listing_is_newest_first_however_it_is_paged(runs, five, limit):
    assert listed(runs, limit=limit) == ["r4", "r3", "r2", "r1", "r0"]


def test_runs_of_one_moment_are_listed_by_id(runs, run):
    for id_ in ("b", "a", "c"):
        create(runs, run, id_)
    assert listed(runs) == ["c", "b", "a"]


def test_a_listing_begins_after_a_place_and_ends_with_the_first_within_its_time(runs, five):
    place = f"{place_at(MIDNIGHT + 3)}#r3"
    assert listed(runs, before=place) == ["r2", "r1", "r0"]
    assert listed(runs, since=place_at(MIDNIGHT + 3)) == ["r4", "r3"]


def test_a_listing_is_of_one_workflow_or_one_context(runs, run, five):
    create(runs, run, "x", workflow="test")
    create(runs, run, "y", context_ref="ticket", created_at=MIDNIGHT + 9)
    create(runs, run, "z", context_ref="ticket", workflow="test", created_at=MIDNIGHT + 8)
    assert listed(runs, workflow="test") == ["z", "x"]
    assert listed(runs, workflow=None, context_ref="ticket") == ["y", "z"]
    assert listed(runs, workflow="absent") == []


def test_later_writes_of_a_run_do_not_move_it(runs, five):
    runs.change(five[0], Step(replace(five[0], rev="rev2", updated_at=MIDNIGHT + 99, attempt=7)))
    assert listed(runs)[-1] == "r0"


def test_a_key_alias_is_in_no_listing(runs, run):
    runs.create(Creation(run=run, alias_id="k~1"))
    assert listed(runs) == ["r1"]
