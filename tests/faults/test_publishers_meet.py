"""Live publishers, the sweep, healings and republishes on one run, in every order in which their calls can
meet: the same end, each subscriber started once, and told of once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from baton.domain.catalog import Subscription
from baton.domain.handoff import Settled
from baton.domain.run import TriggeredBy
from baton.domain.settlement import DeliveryState, PublishLease
from baton.errors import Unavailable
from baton.services.delivering import Outcome
from baton.services.republish import Republish, Republished
from baton.store.runs import Changed
from tests.faults import asking, handed, invariants
from tests.faults.crash import settle_down
from tests.faults.interleaving import Failed, Race, explore
from tests.faults.world import NAMESPACE, Container, House, World

FAILED = f"run.failed:{asking.WORKFLOW}"
ID = "mine"
TRIGGER = TriggeredBy(ID, asking.WORKFLOW, FAILED, 1)

Act = Callable[[Container], Any]


@dataclass
class Told:
    """What an announcer would tell everyone outside."""

    triggered: Counter[str] = field(default_factory=Counter)

    def ended(self, _settled: Settled, _payload: Any) -> None:
        """Best effort, and may come twice under one id."""

    def delivered(self, settled: Settled, outcomes: tuple[Outcome, ...]) -> None:
        for each in outcomes:
            if each.delivery is not None and each.delivery.state is DeliveryState.STARTED:
                self.triggered[settled.started_id(each.subscriber)] += 1


@dataclass
class Meeting(Race):
    """Those that publish a run which has failed, owed to one subscriber, while another came late."""

    acts: Mapping[str, Act]
    told: Told = field(default_factory=Told)

    def prepare(self, world: World) -> dict[str, tuple[Container, Callable[[], Any]]]:
        handed.register(world, "report", Subscription(FAILED))
        first = world.container()
        asking.running(first, run_id=ID)
        asking.fail(first, ID)
        handed.register_late(world, "alert", Subscription(FAILED))
        world.clock.advance(world.settings.publish_grace_seconds)
        actors: dict[str, tuple[Container, Callable[[], Any]]] = {}
        for name, act in self.acts.items():
            container = world.container()
            container.runtime.catalog.snapshot(NAMESPACE)
            publisher: Any = container.runtime.publisher
            publisher._announcer = self.told
            actors[name] = (container, partial(act, container))
        return actors

    def verify(self, world: World, results: dict[str, Any]) -> None:
        for name, result in results.items():
            assert not isinstance(result, Failed), f"{name}: {result}"
            if isinstance(result, Republished):
                assert result.refused == []
                assert result.busy == [ID] or result.created + result.existing == 2, result
        invariants.check(world)
        settle_down(world)
        found = invariants.facts(world)
        first = [run for run in handed.started_by(found, ID) if run.triggered_by == TRIGGER]
        assert sorted(run.workflow for run in first) == ["alert", "report"]
        assert all(times == 1 for times in self.told.triggered.values()), self.told


def live(container: Container) -> Any:
    """The live publisher; what it can't do comes again from the stream."""
    with suppress(Unavailable):
        return asking.publish(container, ID)


def sweep(container: Container) -> Any:
    return container.runtime.sweep.run()


def heal(container: Container) -> Any:
    return container.runtime.heal.run()


def republish(container: Container) -> Any:
    return container.runtime.republisher.run(Republish(namespace=NAMESPACE), ID)


def resume(container: Container) -> Any:
    return asking.resume(container, ID, key="again")


PAIRS: dict[str, dict[str, Act]] = {
    "two live publishers": {"one": live, "other": live},
    "a live publisher and the sweep": {"live": live, "sweep": sweep},
    "a live publisher and a republish": {"live": live, "republish": republish},
    "the sweep and a republish": {"sweep": sweep, "republish": republish},
    "the sweep and a healing": {"sweep": sweep, "heal": heal},
    "a healing and a republish": {"heal": heal, "republish": republish},
    "a republish and a resume": {"republish": republish, "resume": resume},
    "a healing and a resume": {"heal": heal, "resume": resume},
}


FAST = (
    "two live publishers",
    "the sweep and a republish",
    "a healing and a republish",
    "a republish and a resume",
)
DEEP = ("two live publishers", "a live publisher and the sweep", "a live publisher and a republish")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow]) for name in PAIRS]
)
def test_two_that_publish_come_to_the_same_end_whoever_interrupts_whom(name: str, house: House) -> None:
    assert explore(lambda: Meeting(PAIRS[name]), house, changes=1) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("name", DEEP)
def test_two_that_publish_come_to_the_same_end_in_every_order(name: str, house: House) -> None:
    assert explore(lambda: Meeting(PAIRS[name]), house, changes=2) > 20


@pytest.mark.slow
def test_all_that_publish_at_once_come_to_the_same_end_whoever_interrupts_whom(house: House) -> None:
    acts = {"one": live, "other": live, "sweep": sweep, "republish": republish}
    assert explore(lambda: Meeting(acts), house, changes=1) > 50


def test_who_holds_the_lease_is_waited_for_and_then_told_of(house: House) -> None:
    world = World(house)
    Meeting({}).prepare(world)
    runs = world.container().runtime.publisher._context.runs
    settled = runs.settled(NAMESPACE, ID)
    assert settled is not None
    until = world.clock.now() + round(world.settings.publish_lease_seconds * 1000)
    step = settled.leased(PublishLease("somebody", until), rev="theirs")
    assert runs.change(settled.run, step) is Changed.APPLIED
    other = world.container()
    began = world.clock.now()
    assert republish(other) == Republished(runs=1, busy=[ID])
    assert world.clock.now() - began == 1550  # 50, 100, 200, 400, 800 ms
    world.clock.advance(world.settings.publish_lease_seconds)
    assert republish(other) == Republished(runs=1, created=2)
    settle_down(world)
