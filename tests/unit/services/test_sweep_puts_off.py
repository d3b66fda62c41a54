"""Bad items leave the head of their shard and never keep a good one from its turn; full shards are handed on;
a hint leads to one item."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from baton.bootstrap import Runtime, build
from baton.domain.sweeping import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS
from baton.errors import Unavailable
from baton.services.sweep import MAX_LINKS, Hint, Part, Swept
from baton.store.due import DueStore
from tests.unit.house import NS, House, before_each_call, house_of, start

BAD = "{"


def entry(key: str, at: int, *, sort: str = "run", shard: str = "due0") -> dict[str, Any]:
    """An item that the due index names and that nobody can read."""
    return {
        "k": {"S": f"{NS}#{key}"},
        "s": {"S": sort},
        "rv": {"S": "rev"},
        "st": {"S": BAD},
        "dk": {"S": shard},
        "du": {"N": str(at)},
    }


def put(house: House, *items: dict[str, Any]) -> None:
    for each in items:
        house.client.put_item(TableName=house.settings.runs_table, Item=each)


def item(house: House, key: str, sort: str = "run") -> tuple[int, int]:
    """When an item is due, and how often it has failed."""
    seen = house.container().sweep._context.due.look(f"{NS}#{key}", sort)
    assert seen is not None
    assert seen.due_at is not None
    return seen.due_at, seen.strikes


def sweep(house: House) -> Swept:
    return house.container().sweep.run()


# Backoff


def test_each_failure_doubles_the_pause_up_to_an_hour(house: House):
    put(house, entry("bad", house.clock.now()))
    pauses = []
    for strikes in range(1, 14):
        assert sweep(house) == Swept(failed=1)
        due_at, struck = item(house, "bad")
        assert struck == strikes
        pauses.append((due_at - house.clock.now()) / 1000)
        house.clock.advance(pauses[-1] - 0.001)
        assert sweep(house) == Swept()
        house.clock.advance(0.001)
    assert pauses[:5] == [5, 10, 20, 40, 80]
    assert pauses[-3:] == [LONGEST_PAUSE_SECONDS] * 3


BADLY_MADE = {
    "of a kind that no version knows": ("bad", "mystery"),
    "a settlement without a number": ("bad", "settlement#b#x"),
    "a settlement without a birth": ("bad", "settlement#1"),
    "a purge without its fields": ("bad", "purge"),
    "a window without its fields": ("#window#bad", "open"),
    "an event without its fields": ("#event#bad", "event#e"),
}


@pytest.mark.parametrize(("key", "sort"), BADLY_MADE.values(), ids=BADLY_MADE)
def test_whatever_it_is_it_is_put_off_and_the_others_are_not(house: House, key: str, sort: str):
    put(house, entry(key, house.clock.now(), sort=sort))
    start(house.container(), run_id="good", inactivity_timeout_seconds=1)
    house.clock.advance(1)
    assert sweep(house) == Swept(failed=1, settled=1)
    assert item(house, key, sort) == (house.clock.now() + 5000, 1)


def test_an_item_that_somebody_wrote_while_it_failed_is_put_off_as_it_is_now(house: House):
    put(house, entry("bad", house.clock.now()))
    sweeper = house.container()
    written: list[int] = []

    def write(operation: str, _request: Any) -> None:
        if operation == "UpdateItem" and not written:
            written.append(1)
            put(house, entry("bad", house.clock.now()) | {"rv": {"S": "theirs"}, "new": {"S": "x"}})

    with before_each_call(sweeper, write):
        assert sweeper.sweep.run() == Swept(failed=1)
    assert item(house, "bad") == (house.clock.now() + 5000, 1)
    assert any("new" in raw for raw in house.rows())


def test_an_item_that_somebody_attended_to_while_it_failed_is_left_as_it_is(house: House):
    put(house, entry("bad", house.clock.now()))
    sweeper = house.container()
    later = house.clock.now() + 77_000

    def write(operation: str, _request: Any) -> None:
        if operation == "UpdateItem":
            put(house, entry("bad", later) | {"rv": {"S": "theirs"}})

    with before_each_call(sweeper, write):
        sweeper.sweep.run()
    assert item(house, "bad") == (later, 0)


def test_an_item_that_cannot_be_put_off_stops_nothing(house: House, monkeypatch: pytest.MonkeyPatch):
    put(house, entry("bad", house.clock.now()))
    start(house.container(), run_id="good", inactivity_timeout_seconds=1)
    house.clock.advance(1)
    monkeypatch.setattr(DueStore, "put_off", _unavailable)
    assert sweep(house) == Swept(failed=1, settled=1)


def _unavailable(*_given: Any, **_how: Any) -> None:
    raise Unavailable("the store is busy")


# Starvation


def test_bad_items_never_keep_a_good_one_from_its_turn(house: House):
    """200 bad ones were due before a good one, and a sweep has time for 20 items. However often the bad ones
    come due again, the good one has its turn once what stood before it has had one."""
    house = house_of(house.client, due_shards=1, sweep_seconds=20)
    put(house, *(entry(f"bad{i:03d}", house.clock.now() - 200 + i) for i in range(200)))
    start(house.container(), run_id="good", inactivity_timeout_seconds=1)
    house.clock.advance(1)
    sweeps = 0
    while True:
        sweeper = house.container()
        with before_each_call(sweeper, _a_second_for_each_look(house)):
            swept = sweeper.sweep.run()
        sweeps += 1
        if swept.settled:
            break
        assert swept.failed == 20
        assert sweeps <= 10, "the good one never had its turn"
        house.clock.advance(40)  # by now those that failed first are due again
    assert sweeps == 11


def _a_second_for_each_look(house: House) -> Any:
    def take_time(operation: str, request: Any) -> None:
        if operation == "GetItem" and "bad" in request["Key"]["k"]["S"]:
            house.clock.advance(1)

    return take_time


# Handing on


class Next:
    """Takes on what an invocation leaves."""

    def __init__(self, *, works: bool = True) -> None:
        self.events: list[dict[str, Any]] = []
        self._works = works

    def later(self, function_event: dict[str, Any]) -> None:
        if not self._works:
            raise Unavailable("the function can't be called on")
        self.events.append(function_event)


def handing_on(house: House, to: Next) -> Runtime:
    """A container whose invocations can call for another."""
    runtime = build(house.settings, house.clock, seed=1, onward=to)
    runtime.dynamo.connection._client = house.client
    return runtime


@pytest.fixture
def crowded(house: House, monkeypatch: pytest.MonkeyPatch) -> House:
    """One shard of ten due runs, read three at a time."""
    house = house_of(house.client, due_shards=1)
    true_page = DueStore.page

    def page(self: DueStore, shard: int, until: int, *, start: Any = None) -> Any:
        return true_page(self, shard, until, start=start, limit=3)

    monkeypatch.setattr(DueStore, "page", page)
    for i in range(10):
        start(house.container(), run_id=f"r{i}", inactivity_timeout_seconds=1)
    house.clock.advance(1)
    return house


def test_a_shard_with_more_than_a_page_is_left_to_an_invocation_of_its_own(crowded: House):
    to = Next()
    assert handing_on(crowded, to).sweep.run() == Swept(handed_on=1)
    assert to.events == [{"shard": 0, "start": None, "links": 1}]


def test_each_invocation_does_a_page_and_hands_the_rest_on(crowded: House):
    to = Next()
    settled = [handing_on(crowded, to).sweep.part(Part(0)).settled]
    while to.events:
        event = msgspec.json.decode(msgspec.json.encode(to.events.pop()))  # as it travels
        settled.append(handing_on(crowded, to).sweep.part(msgspec.convert(event, Part)).settled)
    assert settled == [3, 3, 3, 1]
    assert sweep(crowded) == Swept()


def test_nothing_depends_on_an_invocation_that_is_never_made(crowded: House):
    to = Next()
    assert handing_on(crowded, to).sweep.run().settled == 0
    to.events.clear()
    assert sweep(crowded).settled == 10


@pytest.mark.parametrize("part", [None, Part(0)], ids=["the schedule's", "a shard's"])
def test_who_cannot_hand_on_goes_on_alone(crowded: House, part: Part | None):
    sweeper = handing_on(crowded, Next(works=False)).sweep
    swept = sweeper.run() if part is None else sweeper.part(part)
    assert (swept.settled, swept.handed_on) == (10, 0)


def test_a_chain_ends_before_it_is_taken_for_a_loop(crowded: House):
    assert MAX_LINKS < 16
    to = Next()
    assert handing_on(crowded, to).sweep.part(Part(0, None, MAX_LINKS)).settled == 10
    assert to.events == []


def test_a_shards_own_invocation_keeps_its_time_too(crowded: House):
    sweeper = crowded.container()

    def take_time(operation: str, _request: Any) -> None:
        if operation == "TransactWriteItems":
            crowded.clock.advance(crowded.settings.sweep_seconds / 4)

    with before_each_call(sweeper, take_time):
        swept = sweeper.sweep.part(Part(0))
    assert (swept.settled, swept.more) == (4, True)
    assert sweep(crowded).settled == 6


# Hints


def test_a_hint_has_the_one_item_looked_at_if_it_is_due(house: House):
    for run_id in ("r1", "r2"):
        start(house.container(), run_id=run_id, inactivity_timeout_seconds=10)
    hint = Hint(k=f"{NS}#r1", s="run")
    assert house.container().sweep.look(hint)
    assert house.container().runs.get(NS, "r1").run.ending is None
    house.clock.advance(10)
    assert house.container().sweep.look(hint)
    assert house.container().runs.get(NS, "r1").run.ending is not None
    assert house.container().runs.get(NS, "r2").run.ending is None
    assert house.container().sweep.look(hint)


def test_a_hint_at_what_is_gone_is_nothing(house: House):
    assert house.container().sweep.look(Hint(k=f"{NS}#absent", s="run"))


def test_a_hint_whose_item_fails_is_told_back_and_the_item_is_put_off(house: House):
    put(house, entry("bad", house.clock.now()))
    assert not house.container().sweep.look(Hint(k=f"{NS}#bad", s="run"))
    assert item(house, "bad") == (house.clock.now() + 1000 * FIRST_PAUSE_SECONDS, 1)
    assert house.container().sweep.look(Hint(k=f"{NS}#bad", s="run"))
