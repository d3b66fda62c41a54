"""A namespace's catalog at one moment: who subscribes to what."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.catalog import (
    Batch,
    BatchMode,
    Link,
    Snapshot,
    Subscription,
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
