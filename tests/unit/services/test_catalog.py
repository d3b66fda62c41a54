"""The catalog as a container sees it: at most seconds old, read by one for all, never in a settle's way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Event
from typing import Any
from unittest.mock import patch

import pytest

from baton.bootstrap import Runtime
from baton.domain.catalog import Snapshot, Subscription
from baton.domain.registering import Registration
from baton.errors import Unavailable
from tests.unit.house import NS, House, house_of
from tests.unit.manual_clock import MIDNIGHT

BUILT = "run.completed:build"


@pytest.fixture
def house(house: House) -> House:
    """One that waits for a catalog as long as a test may have to."""
    return house_of(house.client, catalog_patience_seconds=30)


@pytest.fixture
def queries(runtime: Runtime) -> Iterator[list[dict[str, Any]]]:
    """The queries that the container makes."""
    made: list[dict[str, Any]] = []
    connection = runtime.dynamo.connection
    dispatch = connection.dispatch

    def noted(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        made.append(request)
        return dispatch(operation, request)

    with patch.object(connection, "dispatch", noted):
        yield made


def register(runtime: Runtime, name: str) -> None:
    runtime.workflows.put(Registration(namespace=NS, name=name, subscribes=(Subscription(BUILT),)))


def test_it_is_read_once_in_five_seconds(house: House, runtime: Runtime, queries: list[Any]):
    first = runtime.catalog.snapshot(NS)
    house.clock.advance(4.999)
    assert runtime.catalog.snapshot(NS) is first
    assert runtime.catalog.at_hand(NS) is first
    assert len(queries) == 1
    house.clock.advance(0.001)
    second = runtime.catalog.snapshot(NS)
    assert (first.read_at, second.read_at) == (MIDNIGHT, MIDNIGHT + 5000)
    assert len(queries) == 2


def test_a_clock_that_is_set_back_keeps_no_old_one(house: House, runtime: Runtime):
    assert runtime.catalog.snapshot(NS).workflows == {}
    house.clock.set_back(3600)
    register(house.container(), "report")
    assert list(runtime.catalog.snapshot(NS).workflows) == ["report"]


def test_one_that_has_not_changed_costs_the_reading_of_its_revision(
    house: House, runtime: Runtime, queries: list[Any]
):
    register(house.container(), "report")
    first = runtime.catalog.snapshot(NS)
    house.clock.advance(5)
    assert runtime.catalog.snapshot(NS).workflows is first.workflows
    assert runtime.catalog.snapshot(NS, fresh=True).workflows is first.workflows
    assert [(call["Key"]["s"]["S"], call["ConsistentRead"]) for call in queries[1:]] == [
        ("revision", False),
        ("revision", True),
    ]


def test_a_change_that_comes_while_it_is_read_is_seen_by_the_next_reading(house: House, runtime: Runtime):
    register(house.container(), "report")
    snapshot = runtime.catalog.snapshot(NS)
    assert snapshot.revision == 1
    register(house.container(), "bill")
    house.container().workflows.delete(NS, "report")
    fresh = runtime.catalog.snapshot(NS, fresh=True)
    assert (fresh.revision, fresh.subscribers_of(BUILT)) == (3, ("bill",))


def test_each_namespace_has_its_own(runtime: Runtime, queries: list[Any]):
    assert runtime.catalog.snapshot(NS).namespace == NS
    assert runtime.catalog.snapshot("other").namespace == "other"
    assert len(queries) == 2


def test_a_change_elsewhere_is_seen_within_five_seconds(house: House, runtime: Runtime):
    runtime.catalog.snapshot(NS)
    register(house.container(), "report")
    assert runtime.catalog.snapshot(NS).subscribers_of(BUILT) == ()
    house.clock.advance(5)
    assert runtime.catalog.snapshot(NS).subscribers_of(BUILT) == ("report",)


def test_a_change_of_ones_own_is_seen_at_once(runtime: Runtime):
    runtime.catalog.snapshot(NS)
    register(runtime, "report")
    assert runtime.catalog.snapshot(NS).subscribers_of(BUILT) == ("report",)
    runtime.workflows.delete(NS, "report")
    assert runtime.catalog.snapshot(NS).subscribers_of(BUILT) == ()


def test_a_fresh_one_is_read_consistently_and_serves_from_then_on(
    house: House, runtime: Runtime, queries: list[dict[str, Any]]
):
    runtime.catalog.snapshot(NS)
    register(house.container(), "report")
    fresh = runtime.catalog.snapshot(NS, fresh=True)
    assert fresh.subscribers_of(BUILT) == ("report",)
    assert runtime.catalog.snapshot(NS) is fresh
    # All of it, its revision when it was asked for fresh, and all of it again, as that had changed.
    assert [request.get("ConsistentRead", False) for request in queries] == [True, True, True]


def test_what_was_prepared_is_at_hand_without_another_read(runtime: Runtime, queries: list[Any]):
    runtime.catalog.prepare(NS)
    assert runtime.catalog.at_hand(NS) is runtime.catalog.snapshot(NS)
    assert len(queries) == 1


def test_all_who_ask_at_once_share_one_read(runtime: Runtime):
    begun: list[Future[Any]] = []

    def begin(_call: Callable[[], Any]) -> Future[Any]:
        begun.append(Future())
        return begun[-1]

    with patch.object(runtime.dynamo, "begin", begin):
        runtime.catalog.prepare(NS)
        runtime.catalog.prepare(NS)
        runtime.catalog.prepare("other")
        assert len(begun) == 2
        read = Snapshot(namespace=NS, read_at=MIDNIGHT)
        begun[0].set_result(read)
        assert runtime.catalog.at_hand(NS) is read
        assert runtime.catalog.snapshot(NS) is read
    assert len(begun) == 2


# When it can't be read.


@pytest.fixture
def broken(runtime: Runtime) -> Iterator[list[str]]:
    """The catalog can't be read while there is a word in this list; each try adds one."""
    words = ["broken"]
    whole = runtime.workflows._context.catalog.read

    def read(namespace: str) -> Any:
        if not words:
            return whole(namespace)
        words.append(namespace)
        raise Unavailable("the store is busy")

    with patch.object(runtime.workflows._context.catalog, "read", read):
        yield words


def test_a_catalog_that_can_not_be_read_is_not_at_hand_and_never_an_error(
    runtime: Runtime, broken: list[str]
):
    runtime.catalog.prepare(NS)
    assert runtime.catalog.at_hand(NS) is None
    with pytest.raises(Unavailable):
        runtime.catalog.snapshot(NS)


def test_settles_ask_for_one_that_failed_once_a_second(house: House, runtime: Runtime, broken: list[str]):
    runtime.catalog.prepare(NS)
    assert runtime.catalog.at_hand(NS) is None
    house.clock.advance(0.999)
    runtime.catalog.prepare(NS)
    assert runtime.catalog.at_hand(NS) is None
    assert broken == ["broken", NS]
    broken.clear()
    house.clock.advance(0.001)
    runtime.catalog.prepare(NS)
    assert runtime.catalog.at_hand(NS) is not None


def test_who_can_not_do_without_asks_at_once(runtime: Runtime, broken: list[str]):
    assert runtime.catalog.at_hand(NS) is None
    broken.clear()
    assert runtime.catalog.snapshot(NS).namespace == NS
    assert runtime.catalog.at_hand(NS) is not None


def test_a_fault_of_ours_does_not_keep_a_run_from_settling_either(runtime: Runtime):
    with patch.object(runtime.workflows._context.catalog, "read", side_effect=KeyError("d")):
        runtime.catalog.prepare(NS)
        assert runtime.catalog.at_hand(NS) is None


def test_a_read_that_takes_too_long_is_not_waited_for(house: House):
    runtime = house_of(house.client, catalog_patience_seconds=0).container()
    answered = Event()
    with patch.object(
        runtime.workflows._context.catalog, "read", side_effect=lambda _: answered.wait() and (0, [])
    ):
        runtime.catalog.prepare(NS)
        try:
            assert runtime.catalog.at_hand(NS) is None
        finally:
            answered.set()
        assert runtime.catalog.snapshot(NS).workflows == {}
    assert runtime.catalog.at_hand(NS) is not None


def test_memory_of_namespaces_is_bounded(runtime: Runtime, queries: list[Any]):
    runtime.catalog._reads.most = 2
    for namespace in ("a", "b", "c"):
        runtime.catalog.snapshot(namespace)
    runtime.catalog.snapshot("c")
    assert len(queries) == 3
    runtime.catalog.snapshot("a")
    assert len(queries) == 4
