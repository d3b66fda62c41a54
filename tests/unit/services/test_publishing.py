"""Publishing one ending: who is started and with what, who is not and why, and what keeps the run."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from baton.domain.catalog import Subscription
from baton.domain.run import Run
from baton.domain.settlement import DeliveryState
from baton.domain.states import Mode, State
from baton.domain.waiting import Suspend
from baton.errors import Busy, NotFound, Unavailable
from baton.services.delivering import ABSENT, MAX_DEPTH
from baton.services.publishing import LEASED
from tests.unit.house import NS, House, before_each_call, house_of, start
from tests.unit.services import acts
from tests.unit.services.acts import finish, put_row
from tests.unit.services.endings_at_hand import (
    BROKEN,
    BUILT,
    delivery_of,
    ending_of,
    is_marked,
    publish,
    register,
    runs_of,
    settle,
    started,
    states_of,
)

HOUR = 3600


def row(house: House, run_id: str) -> Run:
    return acts.row(house.container(), run_id)


def run_of(house: House, workflow: str) -> Run:
    """The one run of a workflow."""
    (run_id,) = started(house, workflow)
    return row(house, run_id)


def input_of(house: House, workflow: str) -> Any:
    (run_id,) = started(house, workflow)
    raw = house.container().runs.get(NS, run_id).input
    assert raw is not None
    return msgspec.json.decode(raw)


# Who is started, and with what


def test_each_subscriber_is_started_once_queued_by_the_ending(house: House):
    register(house, "bill", BUILT)
    register(house, "report", BUILT)
    register(house, "alarm", BROKEN)
    settle(house, "r1", traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    published = publish(house, "r1")
    assert [outcome.created for outcome in published.outcomes] == [True, True]
    assert states_of(house, "r1") == {"bill": "started", "report": "started"}
    run = run_of(house, "report")
    assert (run.state, run.mode, run.depth) == (State.PENDING, Mode.QUEUED, 1)
    assert run.triggered_by == ending_of(house, "r1").trigger
    assert run.traceparent == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert started(house, "alarm") == []


def test_published_again_by_whomever_nothing_more_is_started(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    assert publish(house, "r1").outcomes
    for _ in range(3):
        assert publish(house, "r1").outcomes == ()
    assert len(started(house, "report")) == 1


def test_without_a_mapping_the_input_is_the_payload(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    publish(house, "r1")
    payload = input_of(house, "report")
    assert (payload["event"], payload["run"]["id"], payload["run"]["state"]) == (BUILT, "r1", "completed")


def test_a_mapping_makes_the_input_and_numbers_keep_their_characters(house: House):
    register(house, "report", Subscription(BUILT, input="{n: run.output.n, id: run.id}"))
    runtime = house.container()
    start(runtime, run_id="r1")
    finish(runtime, "r1", output=b'{"n":1.0}')
    publish(house, "r1")
    (run_id,) = started(house, "report")
    assert house.container().runs.get(NS, run_id).input == b'{"id":"r1","n":1.0}'


def test_what_a_started_run_leaves_open_is_as_its_workflow_has_it(house: House):
    register(house, "report", BUILT, max_attempts=7, inactivity_timeout_seconds=120)
    settle(house, "r1")
    publish(house, "r1")
    run = run_of(house, "report")
    assert (run.max_attempts, run.inactivity_timeout_seconds) == (7, 120)


def test_a_large_output_reaches_the_subscriber_whole(house: House):
    register(house, "report", BUILT)
    runtime = house.container()
    start(runtime, run_id="r1")
    finish(runtime, "r1", output=b'"' + b"x" * 200_000 + b'"')
    publish(house, "r1")
    assert len(input_of(house, "report")["run"]["output"]) == 200_000


def test_a_failed_and_a_cancelled_run_publish_the_same_event_and_say_which(house: House):
    register(house, "alarm", Subscription(BROKEN, input="run.state"))
    for status in (State.FAILED, State.CANCELLED):
        settle(house, status.value, status)
        publish(house, status.value)
    states = {house.container().runs.get(NS, run_id).input for run_id in started(house, "alarm")}
    assert states == {b'"failed"', b'"cancelled"'}


# Who is not started, and why


def test_one_that_declines_is_not_offered_it_again(house: House):
    register(house, "report", Subscription(BUILT, where="run.output.ok"))
    settle(house, "r1")
    publish(house, "r1")
    assert states_of(house, "r1") == {"report": "declined"}
    assert publish(house, "r1").outcomes == ()
    assert not is_marked(house, "r1")


def test_the_first_subscription_that_accepts_counts_and_a_failing_one_hides_none(house: House):
    register(
        house,
        "report",
        Subscription(BUILT, where="abs(run.id) > `0`", input="'first'"),
        Subscription(BUILT, where="run.id == 'other'", input="'second'"),
        Subscription(BUILT, where="run.id == 'r1'", input="'third'"),
        Subscription(BUILT, input="'fourth'"),
    )
    settle(house, "r1")
    publish(house, "r1")
    assert input_of(house, "report") == "third"


def test_an_expression_that_fails_is_its_subscribers_trouble_alone(house: House):
    register(house, "bad", Subscription(BUILT, input="abs(run.id)"))
    register(house, "report", BUILT)
    settle(house, "r1")
    publish(house, "r1")
    assert states_of(house, "r1") == {"bad": "failed", "report": "started"}
    assert "abs" in (delivery_of(house, "r1", "bad").error or "")
    assert not is_marked(house, "r1")


def test_a_payload_mapped_over_the_size_limit_fails_and_says_so(house: House):
    register(house, "report", Subscription(BUILT, input="[run.output, run.output]"))
    runtime = house.container()
    start(runtime, run_id="r1")
    finish(runtime, "r1", output=b'"' + b"x" * 200_000 + b'"')
    publish(house, "r1")
    delivery = delivery_of(house, "r1", "report")
    assert delivery.state is DeliveryState.FAILED
    assert "327680" in (delivery.error or "")
    assert started(house, "report") == []


def test_a_strangers_run_at_the_derived_id_fails_the_delivery_and_is_left_alone(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    stranger = ending_of(house, "r1").started_id("report")
    start(house.container(), run_id=stranger, workflow="other")
    publish(house, "r1")
    assert delivery_of(house, "r1", "report").error == "another run stands at the derived id"
    assert row(house, stranger).workflow == "other"


def test_a_cycle_of_subscriptions_ends_at_the_depth_limit_with_a_delivery_that_says_so(house: House):
    register(house, "again", "run.completed:again")
    settle(house, "first", workflow="again")
    run_id, depth = "first", 0
    while publish(house, run_id).outcomes[0].created:
        run_id, depth = ending_of(house, run_id).started_id("again"), depth + 1
        finish(house.container(), run_id, attempt=1)
    assert depth == MAX_DEPTH
    assert delivery_of(house, run_id, "again").state is DeliveryState.FAILED
    assert str(MAX_DEPTH) in (delivery_of(house, run_id, "again").error or "")


def test_reserved_workflows_start_nobody(house: House):
    register(house, "report", BUILT)
    settle(house, "r1", workflow="__internal")
    assert publish(house, "r1").outcomes == ()
    assert not is_marked(house, "r1")


def test_a_publisher_that_finds_another_life_of_the_id_leaves_its_ending_to_others(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    slow = house.container()
    overtaken: list[str] = []

    def overtake(operation: str, request: dict[str, Any]) -> None:
        if operation == "UpdateItem" and not overtaken:
            overtaken.append(operation)
            publish(house, "r1")
            house.container().runs.delete(NS, "r1")
            settle(house, "r1")

    with before_each_call(slow, overtake):
        slow.publisher.publish(NS, "r1")
    assert states_of(house, "r1") == {"report": "owed"}
    publish(house, "r1")
    assert states_of(house, "r1") == {"report": "started"}
    assert len(started(house, "report")) == 2


def test_who_was_started_is_told_so_though_another_publisher_by_another_catalog_said_declined(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    behind, ahead = house.container(), house.container()
    behind.catalog.snapshot(NS)
    register(house, "report", Subscription(BUILT, where="`false`"))
    records: list[dict[str, Any]] = []

    def before_it_records(operation: str, request: dict[str, Any]) -> None:
        if operation == "UpdateItem" and not records:
            records.append(request)
            with before_each_call(behind, once_it_has_started_one):
                behind.publisher.publish(NS, "r1")

    def once_it_has_started_one(operation: str, _request: dict[str, Any]) -> None:
        if operation == "UpdateItem" and len(records) == 1:
            house.client.update_item(**records[0])
            records.append({})
            assert states_of(house, "r1") == {"report": "declined"}

    with before_each_call(ahead, before_it_records):
        ahead.publisher.publish(NS, "r1")
    assert len(records) == 2
    assert len(started(house, "report")) == 1
    assert states_of(house, "r1") == {"report": "started"}


# Trouble that passes


def test_who_cannot_be_started_now_stays_owed_and_the_others_get_theirs(house: House):
    register(house, "bill", BUILT)
    register(house, "report", BUILT)
    settle(house, "r1")
    container = house.container()
    bill = ending_of(house, "r1").started_id("bill")

    def refuse(operation: str, request: dict[str, Any]) -> None:
        if operation == "PutItem" and request["Item"]["k"]["S"].endswith(bill):
            raise Unavailable("the store is busy")

    with before_each_call(container, refuse):
        published = container.publisher.publish(NS, "r1")
    assert [outcome.why for outcome in published.outcomes] == ["the store is busy", None]
    assert states_of(house, "r1") == {"bill": "owed", "report": "started"}
    assert row(house, "r1").expires_at is None
    publish(house, "r1")
    assert states_of(house, "r1") == {"bill": "started", "report": "started"}
    assert row(house, "r1").expires_at is not None


def test_a_run_that_waits_and_can_not_be_woken_keeps_no_subscriber_from_its_own(house: House):
    register(house, "report", BUILT)
    runtime = house.container()
    for run_id in ("r1", "bad", "good"):
        start(runtime, run_id=run_id)
    for run_id in ("bad", "good"):
        runtime.waits.suspend(NS, run_id, Suspend(run_id="r1"))
    finish(runtime, "r1")
    (broken,) = (raw for raw in house.rows() if raw["k"]["S"] == f"{NS}#bad" and "lk" in raw)
    house.client.put_item(TableName=house.settings.runs_table, Item={**broken, "st": {"S": "unheard-of"}})
    publish(house, "r1")
    assert states_of(house, "r1") == {"report": "started"}
    assert row(house, "good").state is State.RUNNING
    assert is_marked(house, "r1")
    house.client.put_item(TableName=house.settings.runs_table, Item=broken)
    publish(house, "r1")
    assert row(house, "bad").state is State.RUNNING
    assert not is_marked(house, "r1")


def test_a_catalog_that_cannot_be_read_delays_no_settle_and_orphans_nobody(house: House):
    register(house, "report", BUILT)
    runtime = house.container()
    start(runtime, run_id="r1")

    def refuse(_namespace: str, **_: Any) -> None:
        raise Unavailable("the catalog is out of reach")

    runtime.catalog._reads.clear()
    store = runs_of(runtime.starts) and runtime.starts._context.catalog
    store.read = refuse  # type: ignore[method-assign]
    assert finish(runtime, "r1").finished
    assert ending_of(house, "r1").settlement.unresolved
    house.clock.advance(2 * HOUR)
    with pytest.raises(Unavailable):
        runtime.publisher.publish(NS, "r1")
    assert ending_of(house, "r1").settlement.unresolved
    publish(house, "r1")
    assert states_of(house, "r1") == {"report": "started"}


def test_a_publisher_whose_catalog_is_older_than_the_settles_reads_it_anew(house: House):
    behind = house.container()
    behind.catalog.snapshot(NS)
    register(house, "report", BUILT)
    settle(house, "r1")
    behind.publisher.publish(NS, "r1")
    assert states_of(house, "r1") == {"report": "started"}


def test_a_subscriber_deleted_midway_stays_owed_for_an_hour_and_is_an_orphan_then(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    house.clock.advance(10)
    house.container().workflows.delete(NS, "report")
    assert publish(house, "r1").outcomes[0].why == ABSENT
    house.clock.advance(HOUR - 1)
    publish(house, "r1")
    assert states_of(house, "r1") == {"report": "owed"}
    house.clock.advance(1)
    publish(house, "r1")
    assert (delivery_of(house, "r1", "report").error or "").startswith("orphaned")
    assert row(house, "r1").expires_at is not None


def test_a_subscription_given_up_midway_is_an_orphan_an_hour_after_that_however_long_it_is_owed(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    house.clock.advance(2 * HOUR)
    register(house, "report", "run.completed:other")
    publish(house, "r1")
    house.clock.advance(HOUR - 1)
    publish(house, "r1")
    assert states_of(house, "r1") == {"report": "owed"}
    house.clock.advance(1)
    publish(house, "r1")
    assert (delivery_of(house, "r1", "report").error or "").startswith("orphaned")


def test_a_subscriber_that_comes_back_while_it_is_looked_for_is_no_orphan(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    house.clock.advance(2 * HOUR)
    house.container().workflows.delete(NS, "report")
    publisher = house.container()
    back: list[str] = []

    def come_back(operation: str, request: dict[str, Any]) -> None:
        sort = request.get("Key", {}).get("s", {}).get("S", "")
        if operation == "GetItem" and sort.startswith("gone#") and not back:
            back.append(operation)
            register(house, "report", BUILT)

    with before_each_call(publisher, come_back):
        publisher.publisher.publish(NS, "r1")
    assert states_of(house, "r1") == {"report": "owed"}
    publish(house, "r1")
    assert states_of(house, "r1") == {"report": "started"}


def test_a_subscriber_that_comes_back_in_time_is_started(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    house.container().workflows.delete(NS, "report")
    publish(house, "r1")
    register(house, "report", BUILT)
    publish(house, "r1")
    assert states_of(house, "r1") == {"report": "started"}


def test_before_it_records_a_failure_a_publisher_looks_for_the_run_another_started(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    container = house.container()

    def die(operation: str, _request: dict[str, Any]) -> None:
        if operation == "UpdateItem":
            raise Unavailable("the process died")

    with before_each_call(container, die), pytest.raises(Unavailable):
        container.publisher.publish(NS, "r1")
    register(house, "report", Subscription(BUILT, where="run.id == 'other'"))
    house.clock.advance(house.settings.catalog_seconds)
    publish(house, "r1")
    assert states_of(house, "r1") == {"report": "started"}
    assert len(started(house, "report")) == 1


# The lease


def test_who_asks_for_the_lease_waits_for_it_and_is_told_busy_in_the_end(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    holder = house.container()
    settled = runs_of(holder.starts).settled(NS, "r1")
    holder.publisher._lease(settled)
    with pytest.raises(Busy):
        house.container().publisher.publish(NS, "r1", None, LEASED)
    assert house.clock.slept[-5:] == [0.05, 0.1, 0.2, 0.4, 0.8]
    assert publish(house, "r1").outcomes  # the live path goes without
    assert ending_of(house, "r1").settlement.lease is None


def test_a_lease_whose_holder_died_runs_out(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    holder = house.container()
    holder.publisher._lease(runs_of(holder.starts).settled(NS, "r1"))
    house.clock.advance(house.settings.publish_lease_seconds)
    assert house.container().publisher.publish(NS, "r1", None, LEASED).outcomes


# What keeps the run


def test_nothing_owed_expires_or_is_deleted(dynamodb: Any, house: House):
    house = house_of(dynamodb, retention_seconds=5)
    register(house, "report", BUILT)
    settle(house, "r1")
    house.clock.advance(HOUR)
    assert house.container().runs.get(NS, "r1").run.expires_at is None
    publish(house, "r1")
    assert len(started(house, "report")) == 1
    with pytest.raises(NotFound):
        row(house, "r1")


def test_a_run_past_its_retention_is_published_no_more(house: House):
    register(house, "report", BUILT)
    settle(house, "r1")
    put_row(house, "r1", expires_at=house.clock.now())
    assert publish(house, "r1").outcomes == ()
    assert started(house, "report") == []


def test_a_run_resumed_before_its_failure_is_published_keeps_both_endings(house: House):
    register(house, "report", BUILT, BROKEN)
    settle(house, "r1", State.FAILED)
    house.container().control.resume(NS, "r1", force=False, key=None)
    publish(house, "r1", 1)
    assert states_of(house, "r1", 1) == {"report": "started"}
    finish(house.container(), "r1", attempt=2)
    publish(house, "r1")
    assert states_of(house, "r1") == {"report": "started"}
    triggers = [row(house, run_id).triggered_by for run_id in started(house, "report")]
    assert sorted(by.attempt for by in triggers if by is not None) == [1, 2]


def test_more_subscribers_than_a_row_holds_are_all_started(house: House):
    for number in range(12):
        register(house, f"subscriber-{number}", BUILT)
    settle(house, "r1")
    assert row(house, "r1").expires_at is None
    publish(house, "r1")
    assert set(states_of(house, "r1").values()) == {"started"}
    assert len(states_of(house, "r1")) == 12
    assert row(house, "r1").expires_at is not None


def test_the_workflows_own_retention_counts(house: House):
    register(house, "build", retention_seconds=86_400)
    register(house, "report", BUILT)
    settle(house, "r1")
    publish(house, "r1")
    ending = ending_of(house, "r1")
    assert row(house, "r1").expires_at == ending.at + 86_400_000
    assert replace(ending.settlement, deliveries=()) == type(ending.settlement)()
