"""Registering workflows, one after the other and at once; and who starts whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest

from baton.bootstrap import Runtime
from baton.domain.catalog import (
    MAX_SUBSCRIPTIONS,
    Batch,
    BatchMode,
    HealWork,
    Subscription,
    Target,
    TargetKind,
)
from baton.domain.registering import Registration
from baton.errors import InvalidRequest, NotFound, PayloadTooLarge, Unavailable
from baton.services.workflows import Registered
from tests.unit.house import NS, House, before_each_call
from tests.unit.manual_clock import MIDNIGHT

BUILT = "run.completed:build"
BROKEN = "run.failed:build"


def put(runtime: Runtime, name: str, *subscribes: Subscription | str, **wish: Any) -> Registered:
    """Register a workflow; a plain event is a subscription to it."""
    wishes = tuple(Subscription(each) if isinstance(each, str) else each for each in subscribes)
    given = {"namespace": NS, "name": name, "subscribes": wishes, **wish}
    return runtime.workflows.put(Registration(**given))


@contextmanager
def operations_of(runtime: Runtime) -> Iterator[Callable[[], list[str]]]:
    """Every DynamoDB call that a container makes meanwhile."""
    connection = runtime.dynamo.connection
    with patch.object(connection, "dispatch", wraps=connection.dispatch) as dispatch:
        yield lambda: [call.args[0] for call in dispatch.call_args_list]


def catalog_of(house: House) -> dict[tuple[str, str], dict[str, Any]]:
    items = house.items(house.settings.catalog_table)
    return {(item["k"]["S"], item["s"]["S"]): item for item in items}


def revision_of(house: House) -> int:
    item = catalog_of(house).get((NS, "revision"))
    return 0 if item is None else int(item["n"]["N"])


def heals_of(runtime: Runtime) -> list[HealWork]:
    return runtime.workflows._context.catalog.heals()


def test_a_workflow_is_registered_in_one_transaction_with_all_that_follows_from_it(
    house: House, runtime: Runtime
):
    with operations_of(runtime) as asked:
        done = put(runtime, "report", BUILT, "nightly", description="d")
    assert done.created and done.workflow.rev
    assert asked() == ["Query", "TransactWriteItems"]
    assert set(catalog_of(house)) == {
        (NS, "wf#report"),
        (NS, "name#report"),
        (NS, "revision"),
        ("#heal", f"{NS}#{BUILT}"),
        ("#heal", f"{NS}#nightly"),
    }
    assert runtime.workflows.get(NS, "report").workflow == done.workflow


def test_what_says_the_same_again_writes_nothing(house: House, runtime: Runtime):
    first = put(runtime, "report", BUILT, batch=Batch(mode=BatchMode.BATCH, window_seconds=2))
    house.clock.advance(5)
    with operations_of(runtime) as asked:
        again = put(runtime, "report", BUILT, batch=Batch(mode=BatchMode.BATCH, window_seconds=2))
    assert again == Registered(first.workflow, created=False)
    assert asked() == ["Query"]


def test_what_says_something_else_replaces_it_and_keeps_its_birthday(house: House, runtime: Runtime):
    put(runtime, "report", BUILT, description="d")
    house.clock.advance(5)
    done = put(runtime, "report", max_attempts=7)
    assert not done.created
    assert (done.workflow.description, done.workflow.subscribes, done.workflow.max_attempts) == (None, (), 7)
    assert (done.workflow.created_at, done.workflow.updated_at) == (MIDNIGHT, MIDNIGHT + 5000)
    assert revision_of(house) == 2


def test_saying_nothing_about_subscriptions_is_another_thing_than_saying_none(runtime: Runtime):
    assert put(runtime, "report").workflow.declares
    assert not put(runtime, "report", subscribes=None).workflow.declares


def test_a_batch_says_how_long_it_waits_at_most(runtime: Runtime):
    made = put(runtime, "a", batch=Batch(mode=BatchMode.DEBOUNCE, window_seconds=3)).workflow
    assert made.batch == Batch(mode=BatchMode.DEBOUNCE, window_seconds=3, max_size=100, max_wait_seconds=30)
    given = Batch(mode=BatchMode.DEBOUNCE, window_seconds=3, max_wait_seconds=4)
    assert put(runtime, "a", batch=given).workflow.batch == given


# Healing: what settled shortly before, by an older catalog, is gone over.


def test_a_new_subscription_is_healed_from_a_while_before_it_was_registered(house: House, runtime: Runtime):
    made = put(runtime, "report", BUILT).workflow
    window = round(house.settings.heal_window_seconds * 1000)
    assert heals_of(runtime) == [
        HealWork(namespace=NS, event=BUILT, since=MIDNIGHT - window, changed_at=MIDNIGHT, rev=made.rev)
    ]


def test_only_events_subscribed_to_anew_or_otherwise_are_healed(house: House, runtime: Runtime):
    put(runtime, "report", BUILT, Subscription("nightly", where="a"))
    for work in heals_of(runtime):
        assert runtime.workflows._context.catalog.heal_done(work)
    put(runtime, "report", BUILT, Subscription("nightly", where="b"), BROKEN)
    assert [work.event for work in heals_of(runtime)] == ["nightly", BROKEN]


def test_what_says_other_things_only_is_not_healed(runtime: Runtime):
    put(runtime, "report", BUILT)
    (work,) = heals_of(runtime)
    put(runtime, "report", BUILT, description="d")
    put(runtime, "report")
    assert heals_of(runtime) == [work]


def test_a_change_during_healing_begins_it_anew_and_goes_as_far_back_as_the_first(
    house: House, runtime: Runtime
):
    store = runtime.workflows._context.catalog
    put(runtime, "report", BUILT)
    (work,) = heals_of(runtime)
    begun = HealWork(
        namespace=NS,
        event=BUILT,
        since=work.since,
        changed_at=work.changed_at,
        pass_began=MIDNIGHT,
        cursor="c",
        rev="heal",
    )
    assert store.heal_saved(work, begun)
    assert heals_of(runtime) == [begun]
    house.clock.advance(60)
    other = put(runtime, "other", BUILT).workflow
    (now,) = heals_of(runtime)
    assert now == HealWork(
        namespace=NS, event=BUILT, since=work.since, changed_at=MIDNIGHT + 60_000, rev=other.rev
    )
    assert not store.heal_done(begun)
    assert not store.heal_saved(begun, work)
    assert store.heal_done(now)
    assert heals_of(runtime) == []
    assert not store.heal_done(now)


def test_of_two_healers_at_one_work_one_keeps_its_place(house: House, runtime: Runtime):
    store = runtime.workflows._context.catalog
    put(runtime, "report", BUILT)
    (work,) = heals_of(runtime)
    mine = HealWork(**{**_fields(work), "rev": "mine", "cursor": "1"})
    other = HealWork(**{**_fields(work), "rev": "other", "cursor": "2"})
    assert store.heal_saved(work, mine)
    assert store.heal_saved(work, mine)  # its reply was lost
    assert not store.heal_saved(work, other)
    assert heals_of(runtime) == [mine]


def test_as_many_subscriptions_as_may_be_fit_into_one_transaction(house: House, runtime: Runtime):
    events = [f"event-{number:02}" for number in range(MAX_SUBSCRIPTIONS)]
    large = [Subscription(event, where="a" * 1000, input="b" * 1000) for event in events]
    assert put(runtime, "report", *large).workflow.events == tuple(events)
    assert [work.event for work in heals_of(runtime)] == events


def test_heals_of_all_namespaces_are_one_query(house: House, runtime: Runtime):
    put(runtime, "report", BUILT)
    put(runtime, "report", BUILT, namespace="other")
    with operations_of(runtime) as asked:
        found = heals_of(runtime)
    assert [(work.namespace, work.event) for work in found] == [(NS, BUILT), ("other", BUILT)]
    assert asked() == ["Query"]


def _fields(work: HealWork) -> dict[str, Any]:
    return {name: getattr(work, name) for name in work.__struct_fields__}


# At once.


def test_of_two_registrations_at_once_both_are_made(house: House, runtime: Runtime):
    other = house.container()
    acted: list[Registered] = []

    def meanwhile(operation: str, _request: dict[str, Any]) -> None:
        if operation == "TransactWriteItems" and not acted:
            acted.append(put(other, "b", BUILT))

    with before_each_call(runtime, meanwhile):
        done = put(runtime, "a", BUILT)
    assert done.created and acted[0].created
    assert [each.name for each in runtime.workflows.graph(NS).workflows] == ["a", "b"]
    assert revision_of(house) == 2


def test_of_two_registrations_of_one_name_the_later_stands_and_says_what_it_replaced(
    house: House, runtime: Runtime
):
    other = house.container()
    acted: list[Registered] = []

    def meanwhile(operation: str, _request: dict[str, Any]) -> None:
        if operation == "TransactWriteItems" and not acted:
            acted.append(put(other, "a", description="theirs"))

    with before_each_call(runtime, meanwhile):
        done = put(runtime, "a", description="mine")
    assert acted[0].created and not done.created
    assert runtime.workflows.get(NS, "a").workflow.description == "mine"


def test_of_two_last_places_at_an_event_one_is_taken(
    house: House, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("baton.domain.registering.MAX_SUBSCRIBERS", 2)
    put(runtime, "first", BUILT)
    other = house.container()
    acted: list[Registered] = []

    def meanwhile(operation: str, _request: dict[str, Any]) -> None:
        if operation == "TransactWriteItems" and not acted:
            acted.append(put(other, "second", BUILT))

    with before_each_call(runtime, meanwhile), pytest.raises(InvalidRequest, match="2 subscribers already"):
        put(runtime, "third", BUILT)
    assert runtime.catalog.snapshot(NS, fresh=True).subscribers_of(BUILT) == ("first", "second")
    assert put(runtime, "first", BUILT, description="it keeps its place").workflow.description


def test_a_catalog_that_changes_all_the_time_is_given_up(house: House, runtime: Runtime):
    other = house.container()
    numbers = iter(range(1000))

    def meanwhile(operation: str, _request: dict[str, Any]) -> None:
        if operation == "TransactWriteItems":
            put(other, "b", description=str(next(numbers)))

    with before_each_call(runtime, meanwhile), pytest.raises(Unavailable):
        put(runtime, "a")


# Deleting.


def test_a_deleted_workflow_is_gone_and_its_end_is_remembered(house: House, runtime: Runtime):
    put(runtime, "report", BUILT)
    house.clock.advance(3)
    runtime.workflows.delete(NS, "report")
    with pytest.raises(NotFound):
        runtime.workflows.get(NS, "report")
    assert runtime.catalog.snapshot(NS).subscribers_of(BUILT) == ()
    assert runtime.catalog.gone_since(NS, "report") == MIDNIGHT + 3000
    tombstone = catalog_of(house)[NS, "gone#report"]
    assert int(tombstone["ttl"]["N"]) == MIDNIGHT // 1000 + 3 + 7 * 24 * 3600
    assert revision_of(house) == 2
    with pytest.raises(NotFound):
        runtime.workflows.delete(NS, "report")


def test_one_that_is_registered_again_was_never_gone(runtime: Runtime):
    put(runtime, "report", BUILT)
    runtime.workflows.delete(NS, "report")
    assert put(runtime, "report", BUILT).created
    assert runtime.catalog.gone_since(NS, "report") is None


def test_a_deletion_and_a_registration_at_once_are_both_decided_on_what_stands(
    house: House, runtime: Runtime
):
    put(runtime, "report", BUILT)
    other = house.container()
    acted: list[Registered] = []

    def meanwhile(operation: str, _request: dict[str, Any]) -> None:
        if operation == "TransactWriteItems" and not acted:
            acted.append(put(other, "report", description="new"))

    with before_each_call(runtime, meanwhile):
        runtime.workflows.delete(NS, "report")
    assert (NS, "wf#report") not in catalog_of(house)
    assert not acted[0].created
    assert revision_of(house) == 3


# Reading.


def test_a_workflow_comes_with_what_it_starts_and_what_starts_it(runtime: Runtime):
    batch = Batch(mode=BatchMode.BATCH, window_seconds=1, max_wait_seconds=10)
    put(runtime, "build", "nightly", "run.failed:build")
    put(runtime, "report", Subscription(BUILT, where="run.output", input="run"), batch=batch)
    put(runtime, "alarm", BROKEN, BUILT)
    detail = runtime.workflows.get(NS, "build")
    assert [(link.event, link.workflow) for link in detail.starts_on_settle] == [
        (BUILT, "alarm"),
        (BUILT, "report"),
        (BROKEN, "alarm"),
        (BROKEN, "build"),
    ]
    assert [(link.event, link.workflow) for link in detail.started_by] == [
        ("nightly", "build"),
        (BROKEN, "build"),
    ]
    (link,) = [link for link in detail.starts_on_settle if link.workflow == "report"]
    assert (link.where, link.input, link.batch, link.announced) == ("run.output", "run", batch, False)


def test_workflows_are_listed_by_name_page_by_page(runtime: Runtime):
    for name in ("b", "a/b", "a", "c"):
        put(runtime, name)
    put(runtime, "d", namespace="other")
    first = runtime.workflows.list(NS, limit=3, after=None)
    assert ([each.name for each in first.workflows], first.after) == (["a", "a/b", "b"], "b")
    last = runtime.workflows.list(NS, limit=3, after=first.after)
    assert ([each.name for each in last.workflows], last.after) == (["c"], None)


# What can't be right.


@pytest.mark.parametrize("name", ["__own", "", "a b", "a" * 129, "a\n", ".a"])
def test_a_name_that_is_none_can_not_be_registered(house: House, runtime: Runtime, name: str):
    with pytest.raises(InvalidRequest, match=r"path\.name"):
        put(runtime, name)
    assert catalog_of(house) == {}


@pytest.mark.parametrize(
    "event",
    [
        "run.completed:",
        "run.completed:__own",
        "run.failed:a b",
        "run.started:build",
        "run.completed",
        "run.",
        "",
        "a b",
        "x" * 161,
        "run.completed:" + "x" * 129,
    ],
)
def test_an_event_that_never_happens_can_not_be_subscribed_to(runtime: Runtime, event: str):
    with pytest.raises(InvalidRequest, match=r"body\.subscribes\.1\.event"):
        put(runtime, "report", BUILT, event)


@pytest.mark.parametrize("event", ["run.completed:a/b:c", "run.failed:" + "x" * 128, "runs.all", "x" * 160])
def test_endings_and_events_of_ones_own_can_be(runtime: Runtime, event: str):
    assert put(runtime, "report", event).workflow.events == (event,)


def test_expressions_are_checked_where_they_stand(runtime: Runtime):
    for wish, where in (
        ({"subscribes": (Subscription(BUILT, where="a["),)}, "body.subscribes.0.where"),
        ({"subscribes": (Subscription(BUILT, input="a["),)}, "body.subscribes.0.input"),
        ({"batch": Batch(mode=BatchMode.BATCH, window_seconds=1, key="a[")}, "body.batch.key"),
    ):
        with pytest.raises(InvalidRequest, match=f"{where}: not a JMESPath expression.* at character 3"):
            put(runtime, "report", **wish)
    with pytest.raises(PayloadTooLarge, match=r"body\.subscribes\.0\.where"):
        put(runtime, "report", Subscription(BUILT, where="a" * 1023))


LAMBDA = "arn:aws:lambda:eu-central-1:123456789012:function:build"
QUEUE = "arn:aws:sqs:eu-central-1:123456789012:build"
BUS = "arn:aws-cn:events:eu-central-1:123456789012:event-bus/build"


@pytest.mark.parametrize(
    ("kind", "arn"),
    [
        (TargetKind.WORKER, None),
        (TargetKind.LAMBDA, LAMBDA),
        (TargetKind.LAMBDA, f"{LAMBDA}:live"),
        (TargetKind.SQS, QUEUE),
        (TargetKind.SQS, f"{QUEUE}.fifo"),
        (TargetKind.EVENTBRIDGE, BUS),
    ],
)
def test_a_target_is_found_by_its_arn(runtime: Runtime, kind: TargetKind, arn: str | None):
    assert put(runtime, "build", target=Target(kind, arn)).workflow.target == Target(kind, arn)


@pytest.mark.parametrize(
    ("kind", "arn", "why"),
    [
        (TargetKind.WORKER, LAMBDA, "has none"),
        (TargetKind.LAMBDA, None, "required"),
        (TargetKind.LAMBDA, QUEUE, "not the ARN of a Lambda function"),
        (TargetKind.SQS, LAMBDA, "not the ARN of an SQS queue"),
        (TargetKind.SQS, f"{QUEUE}\n", "not the ARN of an SQS queue"),
        (TargetKind.EVENTBRIDGE, "build", "not the ARN of an EventBridge bus"),
    ],
)
def test_a_target_that_can_not_be_found_is_refused(
    runtime: Runtime, kind: TargetKind, arn: str | None, why: str
):
    with pytest.raises(InvalidRequest, match=rf"body\.target\.arn: .*{why}"):
        put(runtime, "build", target=Target(kind, arn))


def test_runs_can_not_be_kept_for_less_than_the_deployment_says(house: House, runtime: Runtime):
    least = house.settings.least_retention_seconds
    assert put(runtime, "build", retention_seconds=least).workflow.retention_seconds == least
    with pytest.raises(InvalidRequest, match=r"body\.retention_seconds: must be at least 86400"):
        put(runtime, "build", retention_seconds=least - 1)
