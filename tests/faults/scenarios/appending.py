"""Appends: with and without a producer, a remembered end, an echoed one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from baton.domain.log import Producer, Tail
from baton.services.appends import Appended
from tests.faults import asking, invariants
from tests.faults.crash import Scenario
from tests.faults.world import Container, World

FIRST = Producer("p", 0, 1)


@dataclass
class Appending(Scenario):
    """A batch for a run that has spoken `before` already; `warm`: to the same container."""

    producer: Producer | None = FIRST
    warm: bool = True
    echo: bool = False
    before: int = 1
    attempt: int | None = None
    input: object = None
    batch: tuple[str, ...] = ("one", "two")
    told: bool = False
    """Whether somebody cancels it before the batch is sent again."""
    _echo: Tail | None = None
    _asked: int = 0

    def prepare(self, world: World) -> Container:
        container = world.container()
        self.run_id = asking.running(container, self.input)
        if self.attempt:
            asking.fail(container, self.run_id)
            asking.resume(container, self.run_id)
        for seq in range(self.before):
            producer = None if self.producer is None else Producer("p", 0, seq)
            done = self._append(container, f"before {seq}", producer=producer)
            self._echo = done.tail if self.echo else None
        return container if self.warm else world.container()

    def act(self, container: Container) -> Appended:
        self._asked += 1
        if self.told and self._asked == 2:
            asking.cancel(self.world.container(), self.run_id)
        return self._append(container, *self.batch, producer=self.producer)

    def _append(self, container: Container, *marks: str, producer: Producer | None) -> Appended:
        return asking.append(
            self.world,
            container,
            self.run_id,
            *marks,
            producer=producer,
            attempt=self.attempt,
            echo=self._echo,
        )

    def verify(self, answer: Appended) -> None:
        times = self._times()
        if self.producer is None:
            assert times >= 1
            return
        assert times == 1
        assert answer.producer_seq == self.producer.seq

    def verify_once(self) -> None:
        """The producer goes on where it was."""
        if self.producer is not None:
            after = Producer("p", 0, self.producer.seq + 1)
            assert not self._append(self.world.container(), "after", producer=after).duplicate

    def verify_unretried(self) -> None:
        assert self._times() <= 1

    def _times(self) -> int:
        """How often the batch stands in the log, whole."""
        found = invariants.facts(self.world)
        marks = asking.marks(invariants.entries_of(found, found.runs[self.run_id]))
        assert marks.count(self.batch[0]) == marks.count(self.batch[-1])
        return marks.count(self.batch[0])


def _first(**given: object) -> Appending:
    return Appending(producer=Producer("p", 0, 0), before=0, **given)  # type: ignore[arg-type]


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "append, its end remembered": Appending,
    "append, cold": lambda: Appending(warm=False),
    "append, its end echoed": lambda: Appending(warm=False, echo=True),
    "append, told to stop before it is sent again": lambda: Appending(told=True),
    "append without a producer": lambda: Appending(producer=None),
    "append without a producer, cold": lambda: Appending(producer=None, warm=False),
    "append first after the start": _first,
    "append first after the start, cold": lambda: _first(warm=False),
    "append first after the start, large input, cold": lambda: _first(warm=False, input=asking.LARGE),
    "append under the second attempt's fence": lambda: Appending(attempt=2),
    "append under the second attempt's fence, cold": lambda: Appending(attempt=2, warm=False),
}
