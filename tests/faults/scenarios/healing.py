"""Healing: a subscriber that came late gets every run of the window, whoever dies over which page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from baton.domain.catalog import Subscription
from tests.faults import asking, handed, invariants
from tests.faults.crash import Scenario
from tests.faults.world import Container, World

FAILED = f"run.failed:{asking.WORKFLOW}"


@dataclass
class Healing(Scenario):
    """Runs that settled before their subscriber was registered. A pass that fails is begun again, and what
    can't be delivered now is owed."""

    at_once = False
    runs: int = 2
    resumed: bool = False
    last: bool = False
    """No container settles by the older catalog any more: the pass that finishes now is the last."""
    page: int = 100

    def prepare(self, world: World) -> Container:
        container = world.container()
        self.run_ids = [asking.running(container) for _ in range(self.runs)]
        for run_id in self.run_ids:
            asking.fail(container, run_id)
            asking.publish(container, run_id)
            if self.resumed:
                asking.resume(container, run_id)
        handed.register_late(world, "report", Subscription(FAILED))
        if self.last:
            world.clock.advance(world.settings.heal_grace_seconds)
        return world.container()

    def act(self, container: Container) -> Any:
        heal: Any = container.runtime.heal
        heal._page = self.page
        return heal.run()

    def verify(self, _answer: Any) -> None:
        found = invariants.facts(self.world)
        for run_id in self.run_ids:
            assert handed.owed_or_delivered(found, run_id) == {"report"}


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "heal": lambda: Healing(runs=1),
    "heal for the last time": lambda: Healing(last=True),
    "heal page by page": lambda: Healing(page=1, last=True),
    "heal what an earlier attempt did not know of": lambda: Healing(runs=1, resumed=True),
}
