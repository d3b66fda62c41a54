"""Republishing: an operator repeats it until it has come through, and nothing is started twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from baton.domain.catalog import Subscription
from baton.services.republish import Republish, Republished, RepublishRange
from tests.faults import asking, handed, invariants
from tests.faults.audited import audited
from tests.faults.crash import Scenario
from tests.faults.world import Container, World

FAILED, BY = f"run.failed:{asking.WORKFLOW}", "token"


@dataclass
class Republishing(Scenario):
    """One run, or some, to subscribers that came after it. A publisher that died keeps its lease for a while:
    whoever is told that a run is busy asks again. Nothing is delivered that the audit does not tell of."""

    runs: int = 1
    resumed: bool = False
    failed: bool = False
    """It was delivered before, and failed."""
    limit: int | None = None
    """Of each call over a stretch of time; None: the run by its id."""
    dry: bool = False

    def prepare(self, world: World) -> Container:
        container = world.container()
        if self.failed:
            handed.register(world, "report", Subscription(FAILED, None, "abs(run.id)"))
        self.run_ids = [asking.running(container) for _ in range(self.runs)]
        for run_id in self.run_ids:
            asking.fail(container, run_id)
            asking.publish(container, run_id)
            if self.resumed:
                asking.resume(container, run_id)
        handed.register(world, "report", Subscription(FAILED))
        if self.dry:
            world.subscribed.clear()
        return world.container()

    def act(self, container: Container) -> Republished:
        total = self._asked(container)
        if total.busy:
            self.world.clock.advance(self.world.settings.publish_lease_seconds)
            total = self._asked(container)
        return total

    def verify(self, answer: Republished) -> None:
        assert answer.runs == self.runs
        assert (answer.refused, answer.busy, answer.skipped) == ([], [], 0)
        assert answer.created + answer.existing + answer.re_owed == self.runs
        found = invariants.facts(self.world)
        for run_id in self.run_ids:
            assert handed.owed_or_delivered(found, run_id) == (set() if self.dry else {"report"})
        assert set(audited(self.world)) == (set() if self.dry else {self._deed})

    def verify_unretried(self) -> None:
        """Nothing owes the subscribers that came late: that is the operator's word, who did not repeat it."""
        self.world.subscribed.clear()
        found = invariants.facts(self.world)
        begun = any(run.triggered_by for run in found.runs.values())
        if not self.failed:  # else that is how it was before
            begun = begun or any("report" in handed.owed_or_delivered(found, each) for each in self.run_ids)
        if begun:
            assert set(audited(self.world)) == {self._deed}

    @property
    def _deed(self) -> tuple[str, str, str]:
        if self.limit is None:
            return "run.republished", self.run_ids[0], BY
        return "runs.republished", asking.WORKFLOW, BY

    def _asked(self, container: Container) -> Republished:
        republisher, namespace = container.runtime.republisher, asking.NAMESPACE
        if self.limit is None:
            return republisher.run(Republish(namespace=namespace, dry_run=self.dry, by=BY), self.run_ids[0])
        total = Republished()
        place: str | None = None
        while True:
            wish = RepublishRange(
                namespace=namespace,
                workflow=asking.WORKFLOW,
                subscriber="report",
                limit=self.limit,
                place=place,
                dry_run=self.dry,
                by=BY,
            )
            answer = republisher.range(wish)
            for count in ("runs", "created", "existing", "re_owed", "skipped"):
                setattr(total, count, getattr(total, count) + getattr(answer, count))
            total.refused += answer.refused
            total.busy += answer.busy
            place = answer.place
            if place is None:
                return total


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "republish": Republishing,
    "republish what failed": lambda: Republishing(failed=True),
    "republish an earlier attempt": lambda: Republishing(resumed=True),
    "republish a stretch of time, run by run": lambda: Republishing(runs=2, limit=1),
    "republish a stretch of time at once": lambda: Republishing(runs=2, limit=100),
    "republish, dry": lambda: Republishing(dry=True),
}
