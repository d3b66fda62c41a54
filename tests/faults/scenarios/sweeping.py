"""The sweep: silent runs, cancels past their grace, purges; put off, done, and many at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from baton.domain.states import State
from tests.faults import asking, invariants
from tests.faults.crash import Scenario
from tests.faults.world import Container, World

PUT_OFF_SECONDS = 5


class _Sweep(Scenario):
    at_once = False
    swept = False

    def act(self, container: Container) -> Any:
        if self.swept:
            self.world.clock.advance(PUT_OFF_SECONDS)  # what failed has gone to the back
        self.swept = True
        return container.runtime.sweep.run()


@dataclass
class Silent(_Sweep):
    """A run that nothing was heard of is settled, resumable; one that spoke in time is only put off."""

    spoke: bool = False

    def prepare(self, world: World) -> Container:
        container = world.container()
        self.run_id = asking.running(container, inactivity_timeout_seconds=60)
        world.clock.advance(40)
        if self.spoke:
            asking.append(world, container, self.run_id, "here")
        self.until = world.clock.now() + 60_000
        world.clock.advance(40)
        return world.container()

    def verify(self, _answer: Any) -> None:
        run = asking.get(self.world.container(), self.run_id).run
        if self.spoke:
            assert run.state is State.RUNNING
            assert run.due_at == self.until
        else:
            assert run.state is State.FAILED
            assert run.ending is not None
            assert run.ending.resumable


@dataclass
class Ignored(_Sweep):
    """A cancel that its driver did not heed within the grace is forced."""

    spoke: bool = True

    def prepare(self, world: World) -> Container:
        container = world.container()
        self.run_id = asking.running(container)
        asking.cancel(container, self.run_id, reason="stop it")
        world.clock.advance(world.settings.cancel_grace_seconds)
        if self.spoke:
            asking.append(world, container, self.run_id, "I won't")
        return world.container()

    def verify(self, _answer: Any) -> None:
        detail = asking.get(self.world.container(), self.run_id)
        assert detail.run.state is State.CANCELLED
        assert detail.error == b'{"message":"stop it","type":"cancelled"}'


@dataclass
class Purging(_Sweep):
    """The log of a past life goes, and the alias that led to it; the new life loses nothing."""

    entries: int = 3
    keyed: bool = False

    def prepare(self, world: World) -> Container:
        container = world.container()
        key = {"key": "k"} if self.keyed else {}
        asking.running(container, asking.LARGE, run_id="mine", **key)
        for entry in range(self.entries):
            asking.append(world, container, "mine", f"past {entry}")
        asking.finish(container, "mine", asking.an_outcome())
        asking.delete(container, "mine")
        asking.running(container, asking.LARGE, run_id="mine")
        asking.append(world, container, "mine", "present")
        world.clock.advance(world.settings.purge_delay_seconds)
        return world.container()

    def verify(self, _answer: Any) -> None:
        found = invariants.facts(self.world)
        birth = found.runs["mine"].birth
        assert list(found.logs) == [("mine", birth)]
        assert not found.purges
        assert not found.aliases
        assert asking.marks(asking.read(self.world.container(), "mine")) == ["present"]


@dataclass
class Several(_Sweep):
    """Five of a kind in both shards: each is settled once, whoever died over which."""

    def prepare(self, world: World) -> Container:
        container = world.container()
        self.ids = [asking.running(container, inactivity_timeout_seconds=60) for _ in range(3)]
        world.clock.advance(61)
        return world.container()

    def verify(self, _answer: Any) -> None:
        reader = self.world.container()
        assert {asking.get(reader, run_id).run.state for run_id in self.ids} == {State.FAILED}


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "sweep a silent run": Silent,
    "sweep a run that spoke": lambda: Silent(spoke=True),
    "sweep a cancel past its grace": Ignored,
    "sweep a cancel past its grace, nothing said since": lambda: Ignored(spoke=False),
    "sweep a past life": Purging,
    "sweep a past life and its alias": lambda: Purging(keyed=True),
    "sweep a past life of many items": lambda: Purging(entries=30),
    "sweep several": Several,
}
