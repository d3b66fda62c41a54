"""An id used again: whoever remembers its past life, warm or by an echo, meets nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from baton.domain.log import Producer, Tail
from baton.services.appends import Appended
from baton.services.starts import Started
from tests.faults import asking, invariants
from tests.faults.crash import Scenario
from tests.faults.world import Container, World


@dataclass
class StartAgain(Scenario):
    """Start an id over its past life, then speak as every kind of container that remembers it."""

    expired: bool = False
    purged: bool = False
    skew: float = 0
    """Of the clock by which it is started again: its birth may then sort before that of the past life."""
    births: set[str] = field(default_factory=set)
    spoken: int = 0

    def prepare(self, world: World) -> Container:
        self.warm = world.container()
        asking.running(self.warm, run_id="mine", key="old")
        for seq in range(3):
            done = asking.append(world, self.warm, "mine", f"past {seq}", producer=Producer("p", 7, seq))
            self.echo: Tail = done.tail
        asking.finish(world.container(), "mine", asking.an_outcome(output="past"))
        if self.expired:
            world.clock.advance(world.settings.retention_seconds)
        else:
            asking.delete(world.container(), "mine")
            world.clock.advance(1)
        container = world.container(skew=self.skew)
        asking.note(container)
        return container

    def act(self, container: Container) -> Started:
        return asking.start(container, "again", run_id="mine", key="new")

    def verify(self, answer: Started) -> None:
        run = answer.detail.run
        self.births.add(run.birth)
        assert len(self.births) == 1
        if self.purged:
            self.world.clock.advance(self.world.settings.purge_delay_seconds)
            self.world.container().runtime.sweep.run()
        # The old end would take new producers; the old one it would know, by an epoch that binds nobody now.
        self._speak("q", self.warm, None)
        self._speak("r", self.world.container(), self.echo)
        self._speak("p", self.warm, self.echo)
        found = invariants.check(self.world)
        said = invariants.entries_of(found, found.runs["mine"])
        assert asking.marks(said) == [f"present {index}" for index in range(self.spoken)]
        assert asking.get(self.warm, "mine").input == b'"again"'

    def _speak(self, name: str, container: Container, echo: Tail | None) -> None:
        producer = Producer(name, 0, self.spoken // 3)
        done = asking.append(
            self.world, container, "mine", f"present {self.spoken}", producer=producer, echo=echo
        )
        self.spoken += 1
        assert not done.duplicate
        assert done.tail.birth in self.births
        assert done.tail.next == self.spoken + 1


@dataclass
class LateAppend(Scenario):
    """A driver of the past life, warm, appends to the id started again: into the log that is read."""

    def prepare(self, world: World) -> Container:
        warm = world.container()
        asking.running(warm, run_id="mine")
        asking.append(world, warm, "mine", "past")
        other = world.container()
        asking.finish(other, "mine", asking.an_outcome())
        asking.delete(other, "mine")
        world.clock.advance(1)
        asking.running(other, run_id="mine")
        return warm

    def act(self, container: Container) -> Appended:
        return asking.append(self.world, container, "mine", "late", producer=Producer("p", 0, 0))

    def verify(self, answer: Appended) -> None:
        assert answer.tail.next == 2
        assert asking.marks(asking.read(self.world.container(), "mine")) == ["late"]


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "start again after a delete": StartAgain,
    "start again after expiry": lambda: StartAgain(expired=True),
    "start again after a delete, then purged": lambda: StartAgain(purged=True),
    "start again after expiry, then purged": lambda: StartAgain(expired=True, purged=True),
    "start again by a clock that is behind": lambda: StartAgain(skew=-5),
    "append after the id was started again": LateAppend,
}
