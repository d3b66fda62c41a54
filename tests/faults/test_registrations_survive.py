"""A process dies around any call of a registration: the workflow, its revision and what is to be healed come
together or not at all; and registrations that meet are decided on what stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from baton.domain.catalog import Subscription
from baton.domain.registering import Registration
from baton.errors import InvalidRequest, NotFound
from tests.faults.crash import survive
from tests.faults.interleaving import Failed, Race, explore
from tests.faults.scenarios import announcing
from tests.faults.scenarios.registering import BUILT, NAME, SCENARIOS, Kept, kept, put, wish
from tests.faults.world import NAMESPACE, Container, House, World


@pytest.mark.parametrize("name", SCENARIOS)
def test_whatever_goes_wrong_at_a_call_everything_comes_back(name: str, house: House) -> None:
    survive(name, SCENARIOS[name], house)


@pytest.mark.parametrize("name", announcing.SCENARIOS)
def test_whatever_goes_wrong_at_a_call_of_a_heartbeat_the_next_one_does_the_rest(
    name: str, house: House
) -> None:
    survive(name, announcing.SCENARIOS[name], house)


Act = Callable[[Container], Any]


@dataclass
class Meeting(Race):
    """Changes of one catalog that meet, and what must be true of their answers."""

    acts: dict[str, Act]
    judge: Callable[[Kept, dict[str, Any]], None]
    before: tuple[Registration, ...] = ()

    def prepare(self, world: World) -> dict[str, tuple[Container, Callable[[], Any]]]:
        for each in self.before:
            put(world.container(), each)
        containers = {name: world.container() for name in self.acts}
        return {name: (containers[name], partial(act, containers[name])) for name, act in self.acts.items()}

    def verify(self, world: World, results: dict[str, Any]) -> None:
        found = kept(world)
        self.judge(found, results)
        if found.workflow is not None:
            assert set(found.heals) >= set(found.workflow.events)


def _put(*events: str, **given: Any) -> Act:
    return lambda container: container.runtime.workflows.put(wish(*events, **given))


def _join(name: str) -> Act:
    wanted = Registration(namespace=NAMESPACE, name=name, subscribes=(Subscription(BUILT),))
    return lambda container: container.runtime.workflows.put(wanted)


def _hear(worker_id: str, *events: str) -> Act:
    return lambda container: announcing.hear(container, announcing.says(NAME, *events), worker_id=worker_id)


def _delete(container: Container) -> bool:
    container.runtime.workflows.delete(NAMESPACE, NAME)
    return True


def one_is_new_and_the_later_stands(found: Kept, results: dict[str, Any]) -> None:
    assert sorted(done.created for done in results.values()) == [False, True]
    (later,) = [done.workflow for done in results.values() if not done.created]
    assert found.workflow == later
    assert found.revision == 2


def both_made_the_same(found: Kept, results: dict[str, Any]) -> None:
    assert all(done.workflow == found.workflow for done in results.values())
    assert sorted(done.created for done in results.values()) == [False, True]
    assert found.revision == 1


def deleted_and_registered(found: Kept, results: dict[str, Any]) -> None:
    """It was deleted first and made anew, or changed first and then deleted."""
    assert results["delete"] is True
    if results["put"].created:
        assert (found.workflow, found.gone_at) == (results["put"].workflow, None)
    else:
        assert found.workflow is None
        assert found.gone_at is not None
    assert found.revision == 3


def one_deleted_it(found: Kept, results: dict[str, Any]) -> None:
    (refused,) = [result for result in results.values() if isinstance(result, Failed)]
    assert isinstance(refused.error, NotFound)
    assert found.workflow is None
    assert found.revision == 2


def one_place_is_left(found: Kept, results: dict[str, Any]) -> None:
    (refused,) = [result for result in results.values() if isinstance(result, Failed)]
    assert isinstance(refused.error, InvalidRequest)
    assert found.revision == 2


def both_words_stand(found: Kept, results: dict[str, Any]) -> None:
    assert found.workflow is not None and found.workflow.announced is not None
    assert found.workflow.registered
    assert found.workflow.events == ("nightly",)
    assert found.workflow.announced.subscribes == (Subscription(BUILT),)
    assert found.revision == 2


def one_was_later(found: Kept, results: dict[str, Any]) -> None:
    assert found.workflow is not None and found.workflow.announced is not None
    assert found.workflow.announced.subscribes in ((Subscription(BUILT),), (Subscription("nightly"),))
    assert found.revision == 2


def it_changed_once(found: Kept, results: dict[str, Any]) -> None:
    assert found.workflow is not None and found.workflow.announced is not None
    assert found.revision == 1


MEETINGS: dict[str, Callable[[], Meeting]] = {
    "one name twice": lambda: Meeting(
        {"a": _put(BUILT), "b": _put("nightly")}, one_is_new_and_the_later_stands
    ),
    "the same twice": lambda: Meeting({"a": _put(BUILT), "b": _put(BUILT)}, both_made_the_same),
    "delete, register otherwise": lambda: Meeting(
        {"delete": _delete, "put": _put("nightly")}, deleted_and_registered, before=(wish(BUILT),)
    ),
    "delete, delete": lambda: Meeting({"a": _delete, "b": _delete}, one_deleted_it, before=(wish(BUILT),)),
    "register, announce": lambda: Meeting(
        {"put": _put("nightly"), "hear": _hear("w1", BUILT)}, both_words_stand
    ),
    "announce, announce otherwise": lambda: Meeting(
        {"old": _hear("w1", BUILT), "new": _hear("w2", "nightly")}, one_was_later
    ),
    "announce, announce the same": lambda: Meeting(
        {"a": _hear("w1", BUILT), "b": _hear("w2", BUILT)}, it_changed_once
    ),
    "two for the last place at an event": lambda: Meeting(
        {"a": _join("a"), "b": _join("b")}, one_place_is_left, before=(wish(BUILT),)
    ),
}


@pytest.mark.parametrize("name", MEETINGS)
def test_in_whatever_order_their_calls_meet_the_answers_agree_with_what_is_stored(
    name: str, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baton.domain.registering.MAX_SUBSCRIBERS", 2)
    explore(MEETINGS[name], house)
