"""What an event of one's own is once it is recorded: whom it reached, whether it is kept, when it is due."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from baton.domain.events import (
    Post,
    Posted,
    check_name,
    check_same,
    event_payload,
    post,
)
from baton.domain.settlement import NOTHING, Delivery, DeliveryState, Settlement
from baton.errors import IdempotencyMismatch, InvalidRequest, PayloadTooLarge
from tests.unit.domain.events_at_hand import posted_at
from tests.unit.domain.runs_at_hand import NOW

LOOK = NOW + 30_000


def recorded(before: Posted, settlement: Settlement = NOTHING, *, looked: bool = True) -> Posted:
    return before.recorded(settlement, looked=looked, rev="rev2", look_at=LOOK)


def delivered(state: DeliveryState, *, buffered: bool = False) -> Settlement:
    return Settlement(deliveries=(Delivery("report", state, NOW, buffered=buffered),))


def wish(payload: bytes = b"1") -> Post:
    return Post(namespace="default", name="paid", payload=payload, traceparent="t")


def test_a_posted_event_is_open_and_pressing_and_the_sweeps_if_its_poster_dies():
    posted = post(wish(), id_="e1", rev="rev1", now=NOW, sweep_after_seconds=30)
    assert (posted.open, posted.pressing, posted.due_at) == (True, True, LOOK)
    assert posted.settlement == Settlement(unresolved=True)
    assert (posted.event, posted.at, posted.depth, posted.trigger) == ("paid", NOW, 0, None)


def test_what_it_starts_is_derived_from_all_that_it_is():
    changes: list[dict[str, Any]] = [{}, {"namespace": "other"}, {"name": "sent"}, {"id": "e2"}]
    ids = {
        posted_at(**change).started_id(subscriber)
        for change in changes
        for subscriber in ("report", "ledger")
    }
    assert len(ids) == 8
    assert posted_at(payload=b"2", rev="r").started_id("report") in ids


def test_one_that_reached_nobody_is_kept_and_done_with():
    after = recorded(posted_at())
    assert (after.kept, after.open, after.pressing, after.due_at) == (True, True, False, None)


@pytest.mark.parametrize(
    ("state", "kept"),
    [
        (DeliveryState.STARTED, False),
        (DeliveryState.COALESCED, False),
        (DeliveryState.FAILED, False),
        (DeliveryState.DECLINED, True),
    ],
)
def test_a_subscriber_has_got_it_unless_it_declined(state, kept):
    after = recorded(posted_at(), delivered(state))
    assert (after.kept, after.open) == (kept, kept)


def test_a_run_that_it_woke_has_got_it():
    after = recorded(posted_at(woken=2))
    assert (after.kept, after.open, after.runs_woken) == (False, False, 2)


def test_a_run_that_took_it_before_it_was_recorded_counts_as_woken():
    after = recorded(posted_at(taken=True, woken=1))
    assert (after.kept, after.open, after.runs_woken) == (False, False, 2)


def test_one_that_is_taken_once_it_was_kept_is_told_of_as_before():
    again = recorded(replace(recorded(posted_at()), taken=True))
    assert (again.kept, again.open, again.runs_woken) == (True, False, 0)


def test_one_that_was_kept_and_then_reaches_a_late_subscriber_is_nobody_elses_any_more():
    kept = recorded(posted_at(), Settlement(owed=("report",)))
    assert (kept.kept, kept.due_at) == (True, LOOK)
    after = recorded(kept, delivered(DeliveryState.STARTED))
    assert (after.kept, after.open, after.due_at) == (False, False, None)


@pytest.mark.parametrize(
    ("settlement", "looked", "due"),
    [
        (NOTHING, False, True),
        (Settlement(owed=("report",)), True, True),
        (delivered(DeliveryState.COALESCED, buffered=True), True, True),
        (delivered(DeliveryState.COALESCED), True, False),
    ],
    ids=["not looked", "owed", "buffered", "fired"],
)
def test_it_is_due_as_long_as_anything_is_left_to_do(settlement, looked, due):
    after = recorded(posted_at(), settlement, looked=looked)
    assert after.due_at == (LOOK if due else None)


def test_it_stays_open_until_somebody_has_looked_who_waits():
    after = recorded(posted_at(), delivered(DeliveryState.STARTED), looked=False)
    assert (after.open, after.kept, after.pressing) == (True, False, True)


def test_what_it_started_is_told_with_the_runs():
    after = recorded(posted_at(), delivered(DeliveryState.STARTED))
    assert after.started == (("report", after.started_id("report")),)
    assert recorded(posted_at(), delivered(DeliveryState.COALESCED, buffered=True)).started == ()


def test_the_same_payload_is_the_same_event_to_the_character():
    posted = post(wish(b"1.0"), id_="e1", rev="rev1", now=NOW, sweep_after_seconds=30)
    check_same(posted, wish(b"1.0"))
    with pytest.raises(IdempotencyMismatch):
        check_same(posted, wish(b"1"))


def test_a_payload_over_its_limit_is_refused():
    text = b'"' + b"x" * 262_142 + b'"'
    post(wish(text), id_="e1", rev="rev1", now=NOW, sweep_after_seconds=30)
    with pytest.raises(PayloadTooLarge, match="payload"):
        post(wish(text + b" "), id_="e1", rev="rev1", now=NOW, sweep_after_seconds=30)


def test_subscribers_get_the_event_around_its_payload():
    assert event_payload(posted_at(payload=b"1.50")) == b'{"event":"paid","id":"e1","payload":1.50}'


@pytest.mark.parametrize("name", ["", "run.completed:w", "run.", "-e", "a b", "e" * 161, "e\n"])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(InvalidRequest):
        check_name(name, ["path", "name"])


@pytest.mark.parametrize("name", ["e", "order/paid", "running", "Run.x", "e" * 160])
def test_a_name_of_ones_own_is_taken(name):
    check_name(name, ["path", "name"])
