"""Windows as they are kept: each condition closes its race, and one's own write is known again."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from baton.domain.catalog import BatchMode
from baton.domain.coalescing import Window
from baton.domain.run import Run, TriggeredBy
from baton.domain.starting import Alias, HandOff
from baton.store.dynamo import Dynamo
from baton.store.runs import Creation, RunStore
from baton.store.windows import ALONG, OPEN, SPENT, Joined, StartedAlone, WindowStore, header_key
from tests.unit.house import House
from tests.unit.manual_clock import MIDNIGHT
from tests.unit.store.item_size import item_size

FORGET_AT = MIDNIGHT + 10**9
KEY = "k" * 22


@pytest.fixture
def windows(dynamo: Dynamo, house: House) -> WindowStore:
    return WindowStore(dynamo, house.settings.runs_table, due_shards=2)


def a_window(**given: Any) -> Window:
    wish: dict[str, Any] = {
        "namespace": "default",
        "subscriber": "report",
        "key_mark": KEY,
        "id": "w1",
        "rev": "rev1",
        "mode": BatchMode.BATCH,
        "count": 1,
        "bytes": 1,
        "opened_at": MIDNIGHT,
        "last_at": MIDNIGHT + 1,
        "fires_at": MIDNIGHT + 2,
        "latest_at": MIDNIGHT + 4,
        "due_at": MIDNIGHT + 2,
        "depth": 1,
    }
    return Window(**{**wish, **given})


def a_wish(event_id: str, input_: bytes = b"1") -> HandOff:
    return HandOff(
        namespace="default", workflow="report", run_id=event_id, input=input_, triggered_by=None, depth=1
    )


def join(
    windows: WindowStore, before: Window | None, after: Window, event_id: str, input_: bytes = b"1"
) -> Joined | None:
    place = 0 if before is None else before.kept
    return windows.join(before, after, a_wish(event_id, input_), place, forget_at=FORGET_AT)


def of(window: Window) -> Joined:
    return Joined(window.id, window.key_mark, window.rev)


def creation(runs: RunStore, run: Run, window: Window) -> list[Any]:
    return runs.creation_writes(Creation(run=replace(run, id=window.run_id)))


FIRST = a_window()
SECOND = a_window(rev="rev2", count=2, bytes=2)


# Joining


def test_a_window_is_read_back_whole(windows: WindowStore):
    window = a_window(
        triggered_by=TriggeredBy("r1", "build", "run.completed:build", 2),
        traceparent="00-t-s-01",
        inactivity_timeout_seconds=1.5,
        max_attempts=4,
        pushed=True,
        mode=BatchMode.DEBOUNCE,
    )
    assert join(windows, None, window, "e1") == of(window)
    assert windows.open("default", "report", KEY) == window
    assert windows.at(header_key("default", "report", KEY)) == window


def test_of_two_that_open_a_window_one_does(windows: WindowStore):
    assert join(windows, None, FIRST, "e1") == of(FIRST)
    assert join(windows, None, a_window(id="w2", rev="rev9"), "e2") is None
    assert windows.open("default", "report", KEY) == FIRST
    assert windows.joined("default", "e2") is None


def test_of_two_that_join_by_one_header_one_does(windows: WindowStore):
    join(windows, None, FIRST, "e1")
    assert join(windows, FIRST, SECOND, "e2") == of(SECOND)
    assert join(windows, FIRST, replace(SECOND, rev="rev9"), "e3", b"3") is None
    assert windows.payloads(SECOND) == [b"1", b"1"]


def test_an_event_that_joined_changes_nothing_and_says_where_it_is(windows: WindowStore, house: House):
    join(windows, None, FIRST, "e1")
    before = house.rows()
    assert join(windows, FIRST, SECOND, "e1") == of(FIRST)
    elsewhere = a_window(key_mark="l" * 22, id="w2", rev="rev9")
    assert join(windows, None, elsewhere, "e1") == of(FIRST)
    assert house.rows() == before


def test_ones_own_join_found_standing_is_success_also_after_the_window_went_on(windows: WindowStore):
    join(windows, None, FIRST, "e1")
    assert join(windows, None, FIRST, "e1") == of(FIRST)
    join(windows, FIRST, SECOND, "e2")
    assert join(windows, None, FIRST, "e1") == of(FIRST)


def test_a_payload_that_is_debounced_takes_the_place_of_the_one_before(windows: WindowStore):
    first, second = (replace(each, mode=BatchMode.DEBOUNCE) for each in (FIRST, SECOND))
    windows.join(None, first, a_wish("e1", b"1"), 0, forget_at=FORGET_AT)
    windows.join(first, second, a_wish("e2", b"2"), 0, forget_at=FORGET_AT)
    assert windows.payloads(second) == [b"2"]


@pytest.mark.parametrize("input_", [b'"%s"' % (b"x" * 5000), b"1", b"\xc3\xa4" * 150])
def test_a_payload_comes_back_as_it_was_whether_it_is_compressed_or_not(windows: WindowStore, input_: bytes):
    join(windows, None, FIRST, "e1", input_)
    assert windows.payloads(FIRST) == [input_]


def test_a_join_leaves_alone_what_a_newer_version_keeps_in_a_header(windows: WindowStore, house: House):
    join(windows, None, FIRST, "e1")
    house.client.update_item(
        TableName=house.settings.runs_table,
        Key={"k": {"S": header_key("default", "report", KEY)}, "s": {"S": OPEN}},
        UpdateExpression="SET newer = :newer",
        ExpressionAttributeValues={":newer": {"S": "kept"}},
    )
    assert join(windows, FIRST, SECOND, "e2") == of(SECOND)
    (header,) = [raw for raw in house.rows() if raw["s"]["S"] == OPEN]
    assert header["newer"]["S"] == "kept"


# Putting off


def test_a_window_that_was_joined_since_is_not_put_off(windows: WindowStore):
    join(windows, None, FIRST, "e1")
    later = replace(FIRST, rev="rev8", due_at=MIDNIGHT + 3)
    assert windows.put_off(FIRST, later)
    assert windows.put_off(FIRST, later), "our own write, its reply lost"
    assert windows.open("default", "report", KEY) == later
    assert not windows.put_off(FIRST, replace(later, rev="rev9"))
    assert join(windows, FIRST, SECOND, "e2") is None


# Firing


def test_firing_takes_the_header_and_makes_the_run_at_once(windows: WindowStore, runs: RunStore, run: Run):
    join(windows, None, FIRST, "e1")
    assert windows.fire(FIRST, creation(runs, run, FIRST), now=MIDNIGHT)
    assert windows.open("default", "report", KEY) is None
    assert runs.get("default", FIRST.run_id) is not None
    assert windows.payloads(FIRST) is None
    assert windows.joined("default", "e1") == of(FIRST)


def test_what_was_joined_since_it_was_read_is_not_fired(windows: WindowStore, runs: RunStore, run: Run):
    join(windows, None, FIRST, "e1")
    join(windows, FIRST, SECOND, "e2")
    assert not windows.fire(FIRST, creation(runs, run, FIRST), now=MIDNIGHT)
    assert runs.get("default", FIRST.run_id) is None
    assert windows.payloads(SECOND) == [b"1", b"1"]


def test_what_was_fired_is_not_joined_any_more(windows: WindowStore, runs: RunStore, run: Run):
    join(windows, None, FIRST, "e1")
    windows.fire(FIRST, creation(runs, run, FIRST), now=MIDNIGHT)
    assert join(windows, FIRST, SECOND, "e2") is None
    assert windows.joined("default", "e2") is None


def test_what_was_fired_already_by_whomever_is_fired(windows: WindowStore, runs: RunStore, run: Run):
    join(windows, None, FIRST, "e1")
    windows.fire(FIRST, creation(runs, run, FIRST), now=MIDNIGHT)
    other = creation(runs, replace(run, birth="other"), FIRST)
    assert windows.fire(FIRST, other, now=MIDNIGHT)
    join(windows, None, a_window(id="w2", rev="rev9"), "e2")
    assert windows.fire(FIRST, other, now=MIDNIGHT)
    standing = runs.get("default", FIRST.run_id)
    assert isinstance(standing, Run)
    assert standing.birth == run.birth
    assert windows.open("default", "report", KEY) is not None


def test_a_window_whose_run_can_not_be_made_stays_open(windows: WindowStore, runs: RunStore, run: Run):
    join(windows, None, FIRST, "e1")
    assert runs.create(Creation(run=replace(run, id=FIRST.run_id, birth="a stranger")))
    assert not windows.fire(FIRST, creation(runs, run, FIRST), now=MIDNIGHT)
    assert windows.open("default", "report", KEY) == FIRST


@pytest.mark.parametrize("count", [ALONG, ALONG + 1, 30])
def test_payloads_leave_with_the_firing_or_are_cleared_away_after_it(
    windows: WindowStore, runs: RunStore, run: Run, house: House, count: int
):
    window: Window | None = None
    for number in range(1, count + 1):
        after = a_window(rev=f"rev{number}", count=number, bytes=number)
        join(windows, window, after, f"e{number}")
        window = after
    assert window is not None
    assert windows.keeps("default", window.run_id)
    assert windows.fire(window, creation(runs, run, window), now=MIDNIGHT)
    spent = [raw["k"]["S"] for raw in house.rows() if raw["s"]["S"] == SPENT]
    assert len(spent) == (count > ALONG)
    for key in spent * 2:
        windows.clear(key)
    assert not windows.keeps("default", window.run_id)
    assert {raw["s"]["S"] for raw in house.rows()} == {"run"}


# Items


def test_a_header_costs_one_unit_and_nothing_of_a_window_is_in_an_index_but_what_is_due(
    windows: WindowStore, house: House
):
    long = TriggeredBy("r" * 128, "w" * 128, "run.completed:" + "w" * 128, 1)
    window = a_window(subscriber="s" * 128, namespace="n" * 63, triggered_by=long, traceparent="t" * 55)
    windows.join(None, window, a_wish("e1"), 0, forget_at=FORGET_AT)
    indexed = {"dk", "lk", "ck", "ek", "qk"}
    for raw in house.rows():
        assert item_size(raw) <= 1024
        assert indexed & raw.keys() == ({"dk"} if raw["s"]["S"] == OPEN else set())


def test_other_inputs_and_namespaces_have_joins_of_their_own(windows: WindowStore):
    join(windows, None, FIRST, "e1")
    assert windows.joined("default", "e1") == of(FIRST)
    for namespace, event_id in [("other", "e1"), ("default", "e2")]:
        assert windows.joined(namespace, event_id) is None


def test_an_input_that_has_a_run_of_its_own_joins_no_window(windows: WindowStore, runs: RunStore, run: Run):
    assert runs.create(Creation(run=replace(run, id="e1")))
    with pytest.raises(StartedAlone):
        join(windows, None, FIRST, "e1")
    with pytest.raises(StartedAlone):
        windows.joined("default", "e1")
    assert windows.at(header_key("default", FIRST.subscriber, FIRST.key_mark)) is None


def test_an_input_that_joined_gets_no_run_of_its_own(windows: WindowStore, runs: RunStore, run: Run):
    join(windows, None, FIRST, "e1")
    assert not runs.create(Creation(run=replace(run, id="e1")))
    assert runs.get("default", "e1") == Alias(FIRST.run_id, FIRST.id, FIRST.rev)
