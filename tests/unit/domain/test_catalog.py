"""A namespace's catalog at one moment: who subscribes to what."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.catalog import (
    Announced,
    Batch,
    BatchMode,
    Link,
    Snapshot,
    Subscription,
    Target,
    TargetKind,
    Workflow,
    check_event,
    ending,
    endings,
    workflow_of,
)
from baton.domain.states import TERMINAL, State
from baton.errors import InvalidRequest

BUILT, BROKEN = endings("build")


def workflow(name: str, *subscribes: Subscription, **given: Any) -> Workflow:
    fields = {"created_at": 1, "updated_at": 1, "rev": "r", **given}
    return Workflow(namespace="ns", name=name, subscribes=subscribes, **fields)


def snapshot(*workflows: Workflow) -> Snapshot:
    return Snapshot(namespace="ns", read_at=1, workflows=workflows)


def test_subscribers_of_an_event_are_sorted_and_named_once():
    catalog = snapshot(
        workflow("b", Subscription(BUILT), Subscription(BUILT, where="x"), Subscription("nightly")),
        workflow("a", Subscription(BUILT)),
        workflow("c", Subscription(BROKEN)),
    )
    assert catalog.subscribers_of(BUILT) == ("a", "b")
    assert catalog.subscribers_of(BROKEN) == ("c",)
    assert catalog.subscribers_of("absent") == ()
    assert list(catalog.workflows) == ["a", "b", "c"]


def test_links_of_a_subscriber_come_in_order_of_declaration():
    first, second = Subscription(BUILT, where="b"), Subscription(BUILT, where="a")
    catalog = snapshot(workflow("a", first, Subscription(BROKEN), second))
    assert catalog.links(BUILT, "a") == (first, second)
    assert catalog.links("absent", "a") == ()
    assert catalog.links(BUILT, "absent") == ()


def test_a_workflow_is_found_by_its_name():
    registered = workflow("a")
    assert snapshot(registered).workflow("a") is registered
    assert snapshot(registered).workflow("b") is None


def test_edges_say_how_a_subscriber_is_started():
    batch = Batch(mode=BatchMode.BATCH, window_seconds=1)
    catalog = snapshot(workflow("a", Subscription(BUILT, "w", "i"), Subscription("nightly"), batch=batch))
    built = Link(workflow="a", event=BUILT, where="w", input="i", batch=batch)
    assert catalog.edges_from(BUILT) == (built,)
    assert catalog.edges_to("a") == (built, Link(workflow="a", event="nightly", batch=batch))
    assert catalog.edges_to("absent") == ()


def test_a_snapshot_can_not_be_changed():
    with pytest.raises(TypeError):
        snapshot().workflows["a"] = workflow("a")  # type: ignore[index]


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_whatever_did_not_complete_failed(state: State):
    name = ending(state, "a:b")
    assert name == ("run.completed:a:b" if state is State.COMPLETED else "run.failed:a:b")
    assert name in endings("a:b")
    assert workflow_of(name) == "a:b"


@pytest.mark.parametrize("event", ["nightly", "run.started:build", "run", "arun.completed:b"])
def test_other_events_are_no_ones_ending(event: str):
    assert workflow_of(event) is None


@pytest.mark.parametrize("event", ["run.completed:__own", "run.failed:", "run.started:a", "run.", "a b", ""])
def test_what_never_happens_can_not_be_waited_for(event: str):
    with pytest.raises(InvalidRequest) as refused:
        check_event(event, ["body", "event"])
    assert refused.value.errors[0]["loc"] == ["body", "event"]


def test_the_default_of_a_windows_longest_wait_is_ten_windows():
    assert Batch(mode=BatchMode.DEBOUNCE, window_seconds=3).settled().max_wait_seconds == 30
    assert (
        Batch(mode=BatchMode.DEBOUNCE, window_seconds=3, max_wait_seconds=4).settled().max_wait_seconds == 4
    )


def test_two_registrations_say_the_same_whenever_they_did():
    one = workflow("a", Subscription(BUILT))
    assert one.says_the_same(workflow("a", Subscription(BUILT), created_at=2, updated_at=3, rev="s"))
    assert not one.says_the_same(workflow("a", Subscription(BUILT), declares=True))
    assert not one.says_the_same(workflow("a", Subscription(BROKEN)))


# What workers announce counts for a while, where nothing registered outranks it.

WISHES = (Subscription(BUILT, where="a"), Subscription("nightly"))
LAMBDA = Target(TargetKind.LAMBDA, "arn")


def announced(name: str, *subscribes: Subscription, until: int = 10, **given: Any) -> Workflow:
    """One that workers alone know of."""
    said = Announced(until, subscribes)
    return workflow(name, **{"registered": False, "announced": said, **given})


def test_an_announced_workflow_is_performed_by_workers_and_started_by_what_they_say():
    row = announced("report", *WISHES)
    counting = row.at(9)
    assert counting is not None
    assert (counting.target, counting.subscribes) == (Target(TargetKind.WORKER), WISHES)
    assert counting.at(9) == counting
    assert row.at(10) is None


def test_what_was_registered_outranks_it_word_by_word():
    said = Announced(10, WISHES)
    declared = workflow("a", Subscription("own"), declares=True, target=LAMBDA, announced=said).at(9)
    assert declared is not None
    assert (declared.target, declared.subscribes) == (LAMBDA, (Subscription("own"),))
    silent = workflow("a", target=LAMBDA, announced=said).at(9)
    assert silent is not None
    assert (silent.target, silent.subscribes) == (LAMBDA, WISHES)
    none = workflow("a", declares=True, announced=said).at(9)
    assert none is not None
    assert (none.target, none.subscribes) == (Target(TargetKind.WORKER), ())


def test_saying_nothing_of_subscriptions_is_having_none_where_none_are_registered():
    counting = workflow("a", announced=Announced(10)).at(9)
    assert counting is not None
    assert counting.subscribes == ()


def test_a_registered_workflow_outlives_what_was_announced_and_was_changed_by_its_end():
    registered = workflow("a", max_attempts=7, announced=Announced(10, WISHES))
    over = registered.at(10)
    assert over == workflow("a", max_attempts=7, updated_at=10)
    assert workflow("a", updated_at=20, announced=Announced(10)).at(30) == workflow("a", updated_at=20)


def test_a_snapshot_has_what_counted_when_it_was_read():
    rows = [announced("a", *WISHES), announced("b", Subscription(BUILT), until=20), workflow("c")]
    catalog = Snapshot(namespace="ns", read_at=10, workflows=rows)
    assert list(catalog.workflows) == ["b", "c"]
    assert catalog.subscribers_of(BUILT) == ("b",)
    assert catalog.links(BUILT, "a") == ()


def test_one_that_is_found_unchanged_loses_what_has_ceased_to_count():
    rows = [announced("a", *WISHES), announced("b", Subscription(BUILT), until=20), workflow("c")]
    catalog = Snapshot(namespace="ns", read_at=8, workflows=rows, revision=3)
    assert catalog.still(9).workflows is catalog.workflows
    later = catalog.still(10)
    assert (later.read_at, later.revision) == (10, 3)
    assert list(later.workflows) == ["b", "c"]
    assert list(later.still(19).workflows) == ["b", "c"]
    assert list(later.still(20).workflows) == ["c"]
    assert list(catalog.workflows) == ["a", "b", "c"]


def test_edges_tell_what_was_announced_from_what_was_registered():
    rows = [announced("a", *WISHES), workflow("b", *WISHES, declares=True, announced=Announced(10, ()))]
    catalog = snapshot(*rows)
    assert [edge.announced for edge in catalog.edges_to("a")] == [True, True]
    assert [edge.announced for edge in catalog.edges_to("b")] == [False, False]
