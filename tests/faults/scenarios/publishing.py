"""The sweep delivers what no live publisher did: whoever dies over it, each subscriber is started once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from baton.domain.catalog import Subscription
from tests.faults import asking, handed, invariants
from tests.faults.crash import Scenario
from tests.faults.world import Container, World

FAILED = f"run.failed:{asking.WORKFLOW}"
MANY = tuple(f"subscriber-{number:02d}" for number in range(9))


@dataclass
class Sweeping(Scenario):
    """Runs that owe and that nobody published in time. What fails is put off, so it may be owed still."""

    at_once = False
    subscribers: tuple[str, ...] = ("report",)
    runs: int = 1
    resumed: bool = False
    unresolved: bool = False
    gone: bool = False
    started: bool = False
    """A publisher had started the subscribers and died before it said so."""

    def prepare(self, world: World) -> Container:
        for name in self.subscribers:
            handed.register(world, name, Subscription(FAILED))
        container = world.container()
        self.run_ids = [asking.running(container) for _ in range(self.runs)]
        if self.unresolved:
            handed.hide_catalog(container)
        for run_id in self.run_ids:
            asking.fail(container, run_id)
            if self.started:
                handed.start_and_die(world, run_id)
            if self.resumed:
                asking.resume(container, run_id)
        if self.gone:
            handed.remove(world, self.subscribers[0])
        world.clock.advance(world.settings.publish_grace_seconds)
        return world.container()

    def act(self, container: Container) -> Any:
        return container.runtime.sweep.run()

    def verify(self, _answer: Any) -> None:
        found = invariants.facts(self.world)
        for run_id in self.run_ids:
            known = handed.owed_or_delivered(found, run_id)
            assert known in (set(self.subscribers), {"?"}), known


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "sweep what is owed": Sweeping,
    "sweep what is owed by several": lambda: Sweeping(runs=2),
    "sweep what more are owed than a row holds": lambda: Sweeping(subscribers=MANY),
    "sweep what an earlier attempt owes": lambda: Sweeping(resumed=True),
    "sweep what was not resolved": lambda: Sweeping(unresolved=True),
    "sweep what was started and not recorded": lambda: Sweeping(subscribers=("bill", "report"), started=True),
    "sweep what is owed to who is gone": lambda: Sweeping(subscribers=("bill", "report"), gone=True),
}
