"""Registrations of one namespace at one moment, from several containers: all are made, or the right ones."""

from __future__ import annotations

from functools import partial
from typing import Any

from baton.domain.catalog import Subscription
from baton.domain.registering import Registration
from baton.errors import InvalidRequest
from baton.services.workflows import Registered
from tests.faults.races.together import at_once, outcome
from tests.faults.scenarios.announcing import hear, says
from tests.faults.scenarios.registering import BUILT, NAME, kept, put, wish
from tests.faults.world import NAMESPACE

PUTS, CONTAINERS = 16, 4


def _named(name: str) -> Registration:
    return Registration(namespace=NAMESPACE, name=name, subscribes=(Subscription(BUILT),))


def _all_at_once(container: Any, wishes: list[Registration]) -> list[Any]:
    containers = [container() for _ in range(CONTAINERS)]
    return at_once(
        [
            partial(outcome, partial(containers[turn % CONTAINERS].runtime.workflows.put, wanted))
            for turn, wanted in enumerate(wishes)
        ]
    )


def test_sixteen_workflows_are_all_registered(world: Any, container: Any) -> None:
    names = [f"w{number:02}" for number in range(PUTS)]
    answers = _all_at_once(container, [_named(name) for name in names])
    assert [type(answer) for answer in answers] == [Registered] * PUTS, answers
    assert all(answer.created for answer in answers)
    catalog = container().runtime.catalog.snapshot(NAMESPACE, fresh=True)
    assert catalog.subscribers_of(BUILT) == tuple(names)
    assert kept(world).revision == PUTS


def test_of_sixteen_for_the_last_four_places_four_join(world: Any, container: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("baton.domain.registering.MAX_SUBSCRIBERS", 4)
    answers = _all_at_once(container, [_named(f"w{number:02}") for number in range(PUTS)])
    assert [type(answer) for answer in answers].count(Registered) == 4, answers
    assert [type(answer) for answer in answers].count(InvalidRequest) == PUTS - 4, answers
    catalog = container().runtime.catalog.snapshot(NAMESPACE, fresh=True)
    assert len(catalog.subscribers_of(BUILT)) == 4


def test_sixteen_of_one_name_follow_each_other(world: Any, container: Any) -> None:
    put(container(), wish(BUILT))
    answers = _all_at_once(container, [wish(BUILT, description=str(number)) for number in range(PUTS)])
    assert [type(answer) for answer in answers] == [Registered] * PUTS, answers
    found = kept(world)
    assert found.workflow in [answer.workflow for answer in answers]
    assert found.workflow is not None and found.workflow.name == NAME
    assert found.revision == PUTS + 1


def _heard_at_once(container: Any, says_of: Any) -> list[Any]:
    """Sixteen workers of four containers, each of which says what its number makes it say."""
    containers = [container() for _ in range(CONTAINERS)]
    return at_once(
        [
            partial(
                outcome,
                partial(hear, containers[turn % CONTAINERS], says_of(turn), worker_id=f"w{turn:02}"),
            )
            for turn in range(PUTS)
        ]
    )


def test_sixteen_workers_that_say_the_same_change_the_catalog_once(world: Any, container: Any) -> None:
    assert _heard_at_once(container, lambda _: says(NAME, BUILT)) == [None] * PUTS
    found = kept(world)
    assert found.revision == 1
    assert found.workflow is not None and found.workflow.announced is not None
    assert found.workflow.announced.subscribes == (Subscription(BUILT),)
    listed = container().runtime.workers.list(NAMESPACE, limit=100, after=None)
    assert [worker.id for worker in listed.workers] == [f"w{turn:02}" for turn in range(PUTS)]


def test_what_sixteen_workers_announce_all_stands(world: Any, container: Any) -> None:
    assert _heard_at_once(container, lambda turn: says(f"w{turn:02}", BUILT)) == [None] * PUTS
    catalog = container().runtime.catalog.snapshot(NAMESPACE, fresh=True)
    assert catalog.subscribers_of(BUILT) == tuple(f"w{turn:02}" for turn in range(PUTS))
    assert kept(world).revision == PUTS
