"""Targets told of runs that wait: live and by the sweep, taken, refused and refused for good; resumed after
that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from baton.domain.leasing import Claim
from baton.domain.pushing import MAX_REFUSALS, Never, NotNow, Taken
from baton.domain.run import Run
from baton.domain.states import State
from tests.faults import asking, handed, invariants
from tests.faults.crash import Scenario
from tests.faults.told import TARGET, told_of
from tests.faults.world import NAMESPACE, Container, World

ID = "mine"
PUT_OFF_SECONDS = 300
"""No refusal has a run wait for longer."""


@dataclass
class Pushing(Scenario):
    """A run waits to be told of, by whoever is first: the live publisher here, then sweeps."""

    at_once = False
    begun = False

    def prepare(self, world: World) -> Container:
        handed.register(world, asking.WORKFLOW, target=TARGET)
        asking.running(world.container(), run_id=ID)
        return world.container()

    def act(self, container: Container) -> Any:
        if self.begun:
            self.world.clock.advance(PUT_OFF_SECONDS)
            return container.runtime.sweep.run()
        self.begun = True
        return self.first(container)

    def first(self, container: Container) -> Any:
        return container.runtime.pusher.push(NAMESPACE, ID)

    def run(self) -> Run:
        return invariants.facts(self.world).runs[ID]

    def verify(self, _answer: Any) -> None:
        run = self.run()
        assert (run.state, run.attempt) == (State.PENDING, 1)
        assert told_of(self.world, ID)

    def verify_once(self) -> None:
        command = Claim(worker_id="w1", lease_seconds=60)
        claimed = self.world.container().runtime.claims.claim_one(NAMESPACE, ID, command)
        assert claimed.run.state is State.RUNNING

    def verify_unretried(self) -> None:
        self.act(self.world.container())
        self.verify(None)


@dataclass
class SweptPush(Pushing):
    """The stream told nobody."""

    def first(self, container: Container) -> Any:
        return container.runtime.sweep.run()


@dataclass
class Refused(Pushing):
    """The target does not take it, for the last time that this is waited out."""

    def prepare(self, world: World) -> Container:
        container = super().prepare(world)
        world.target_says = NotNow("busy")
        for _ in range(MAX_REFUSALS - 1):
            world.container().runtime.pusher.push(NAMESPACE, ID)
            world.clock.advance(PUT_OFF_SECONDS)
        return container

    def verify(self, _answer: Any) -> None:
        detail = asking.get(self.world.container(), ID)
        assert detail.run.state is State.FAILED
        assert detail.run.ending is not None
        assert detail.run.ending.resumable
        assert detail.error is not None
        assert b'"type":"target"' in detail.error

    def verify_once(self) -> None:
        ends = [entry for entry in asking.read(self.world.container(), ID) if entry.type == "end"]
        assert len(ends) == 1


@dataclass
class RefusedForGood(Refused):
    """The target is not there."""

    def prepare(self, world: World) -> Container:
        container = Pushing.prepare(self, world)
        world.target_says = Never("gone")
        return container


@dataclass
class Untargeted(Pushing):
    """The workflow has no target any more: its run waits for whoever claims."""

    def prepare(self, world: World) -> Container:
        container = super().prepare(world)
        handed.remove(world, asking.WORKFLOW)
        return container

    def verify(self, _answer: Any) -> None:
        run = self.run()
        assert (run.state, run.push, run.announce, run.due_at) == (State.PENDING, None, False, None)
        assert told_of(self.world, ID) == []


@dataclass
class Resumed(Pushing):
    """A run whose push failed is resumed: its new attempt is told of."""

    def prepare(self, world: World) -> Container:
        container = super().prepare(world)
        world.target_says = Never("gone")
        world.container().runtime.pusher.push(NAMESPACE, ID)
        world.target_says = Taken()
        return container

    def act(self, container: Container) -> Any:
        asking.resume(container, ID, key="again")
        return super().act(container)

    def verify(self, _answer: Any) -> None:
        assert (self.run().state, self.run().attempt) == (State.PENDING, 2)
        assert 2 in told_of(self.world, ID)

    def verify_unretried(self) -> None:
        if self.run().state is State.PENDING:
            super().verify_unretried()


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "push": Pushing,
    "push, by the sweep": SweptPush,
    "push, refused for the last time": Refused,
    "push, refused for good": RefusedForGood,
    "push, no target any more": Untargeted,
    "resume a run whose push failed": Resumed,
}
