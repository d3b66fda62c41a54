"""An ending that is owed to a batching subscriber: into one window, or one run, and never into both."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from baton.domain.catalog import Batch, BatchMode, Subscription
from baton.errors import StillOwed, Unavailable
from baton.store.runs import RunStore
from tests.unit.house import NS, House
from tests.unit.services.endings_at_hand import (
    BUILT,
    delivery_of,
    publish,
    register,
    settle,
    started,
    states_of,
)

BATCH = Batch(mode=BatchMode.BATCH, window_seconds=10)
DEBOUNCE = Batch(mode=BatchMode.DEBOUNCE, window_seconds=10)


def die_once_delivered(house: House, run_id: str) -> None:
    """A publisher delivers, and dies before he could record it."""
    with patch.object(RunStore, "change", side_effect=Unavailable("gone")), pytest.raises(Unavailable):
        publish(house, run_id)


def fire(house: House) -> None:
    house.clock.advance(BATCH.window_seconds)
    house.container().sweep.run()


@pytest.mark.parametrize("batch", [BATCH, DEBOUNCE], ids=["batch", "debounce"])
def test_an_ending_joins_the_subscribers_window_and_says_which_run_that_becomes(house: House, batch: Batch):
    register(house, "digest", BUILT, batch=batch)
    settle(house, "r1")
    publish(house, "r1")
    delivery = delivery_of(house, "r1", "digest")
    assert (delivery.state.value, delivery.buffered) == ("coalesced", True)
    fire(house)
    assert started(house, "digest") == [delivery.run_id]


def test_what_had_joined_when_its_publisher_died_joins_no_second_time(house: House):
    register(house, "digest", BUILT, batch=BATCH)
    settle(house, "r1")
    die_once_delivered(house, "r1")
    fire(house)
    publish(house, "r1")
    assert states_of(house, "r1") == {"digest": "coalesced"}
    assert not delivery_of(house, "r1", "digest").buffered
    fire(house)
    assert started(house, "digest") == [delivery_of(house, "r1", "digest").run_id]


@pytest.mark.parametrize(
    ("subscription", "batch"),
    [
        (Subscription(BUILT), None),
        (Subscription(BUILT, where="`false`"), BATCH),
        (Subscription(BUILT, where="`false`"), None),
        (Subscription("run.failed:build"), None),
    ],
    ids=["starts at once", "declines", "starts at once and declines", "wants another ending"],
)
def test_what_had_joined_stays_coalesced_however_the_subscriber_is_registered_since(
    house: House, subscription: Subscription, batch: Batch | None
):
    register(house, "digest", BUILT, batch=BATCH)
    settle(house, "r1")
    die_once_delivered(house, "r1")
    house.clock.advance(3700)
    register(house, "digest", subscription, batch=batch)
    house.clock.advance(3700)
    publish(house, "r1")
    assert states_of(house, "r1") == {"digest": "coalesced"}
    fire(house)
    assert started(house, "digest") == [delivery_of(house, "r1", "digest").run_id]


def test_what_was_started_stays_started_though_the_subscriber_coalesces_since(house: House):
    register(house, "digest", BUILT)
    settle(house, "r1")
    die_once_delivered(house, "r1")
    register(house, "digest", BUILT, batch=BATCH)
    house.clock.advance(60)
    publish(house, "r1")
    assert states_of(house, "r1") == {"digest": "started"}
    fire(house)
    assert len(started(house, "digest")) == 1


def test_what_is_buffered_is_kept_until_its_window_has_fired(house: House):
    register(house, "digest", BUILT, batch=BATCH)
    settle(house, "r1")
    publish(house, "r1")
    with pytest.raises(StillOwed):
        house.container().runs.delete(NS, "r1")
    fire(house)
    house.clock.advance(house.settings.publish_grace_seconds)
    house.container().sweep.run()
    house.container().runs.delete(NS, "r1")


def test_what_was_buffered_is_let_go_though_the_run_that_got_it_is_gone(house: House):
    register(house, "digest", BUILT, batch=BATCH)
    settle(house, "r1")
    publish(house, "r1")
    fire(house)
    for raw in house.rows():
        if raw["k"]["S"] == f"{NS}#{delivery_of(house, 'r1', 'digest').run_id}":
            key = {name: raw[name] for name in ("k", "s")}
            house.client.delete_item(TableName=house.settings.runs_table, Key=key)
    house.clock.advance(house.settings.publish_grace_seconds)
    house.container().sweep.run()
    assert not delivery_of(house, "r1", "digest").buffered
