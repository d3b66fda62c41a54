"""Windows: inputs join them, again and late too; they fire, by the input that ends them or by the sweep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from baton.domain.catalog import Batch, BatchMode
from baton.services.coalescing import Joined, Standing
from tests.faults import coalesced
from tests.faults.coalesced import BATCH, DEBOUNCE
from tests.faults.crash import Scenario
from tests.faults.world import Container, World

MANY = 5
"""Inputs of a window whose payloads don't leave in the transaction that fires it."""


@dataclass
class _Coalesce(Scenario):
    """``before`` inputs have joined, each of ``size`` bytes; time has gone by since."""

    batch: Batch = BATCH
    before: int = 2
    size: int = 40
    waited: float = 0

    def prepare(self, world: World) -> Container:
        first = world.container()
        for mark in range(self.before):
            self.join(first, mark)
            world.clock.advance(0.001)
        world.clock.advance(self.waited)
        return self.at_work(world)

    def at_work(self, world: World) -> Container:
        container = world.container()
        coalesced.note(container)
        return container

    def join(self, container: Container, mark: int) -> Joined:
        return coalesced.join(container, mark, self.batch, size=self.size)

    def drained(self) -> list[list[int]]:
        """The marks that each run got, once every window is over."""
        coalesced.drain(self.world)
        return coalesced.marks(self.world)


@dataclass
class Joining(_Coalesce):
    """One more input; ``runs`` says which inputs become a run together."""

    runs: list[list[int]] = field(default_factory=list)
    own_size: int | None = None
    own_batch: Batch | None = None
    answers: set[tuple[str, str]] = field(default_factory=set)

    def act(self, container: Container) -> Joined:
        return self.join_last(container)

    def join_last(self, container: Container) -> Joined:
        batch, size = self.own_batch or self.batch, self.own_size or self.size
        return coalesced.join(container, self.before, batch, size=size)

    def verify(self, answer: Joined) -> None:
        self.answers.add((answer.window_id, answer.run_id))
        assert len(self.answers) == 1
        coalescer = self.world.container().runtime.coalescer
        standing = coalescer.state_of(coalesced.NAMESPACE, answer.run_id)
        assert standing is Standing.FIRED or not answer.fired
        assert self.drained() == self.runs
        assert coalescer.state_of(coalesced.NAMESPACE, answer.run_id) is Standing.FIRED
        again = self.join_last(self.world.container())
        assert (again.window_id, again.run_id, again.fired) == (answer.window_id, answer.run_id, True)

    def verify_unretried(self) -> None:
        if self.batch.mode is BatchMode.DEBOUNCE:
            assert self.drained()[-1] in ([self.before], [self.before - 1])
        else:
            got = [mark for run in self.drained() for mark in run]
            assert got in ([*range(self.before + 1)], [*range(self.before)])


@dataclass
class Firing(_Coalesce):
    """The sweep comes to a window that is due."""

    runs: list[list[int]] = field(default_factory=list)
    waited: float = 10
    at_once = False

    def act(self, container: Container) -> Any:
        return coalesced.tend(container)

    def verify(self, _answer: Any) -> None:
        coalesced.tend(self.world.container())
        assert coalesced.marks(self.world) == self.runs

    def verify_once(self) -> None:
        for mark in range(self.before):
            self.join(self.world.container(), mark)
        assert self.drained() == self.runs

    def verify_unretried(self) -> None:
        assert self.drained() == self.runs


@dataclass
class PuttingOff(Firing):
    """The sweep comes to a debounced window that was joined since: it goes on, and is fired in time."""

    def prepare(self, world: World) -> Container:
        super().prepare(world)
        first = world.container()
        world.clock.advance(-5)
        self.join(first, self.before)
        self.until = world.clock.now() + 10_000
        world.clock.advance(5)
        return self.at_work(world)

    def verify(self, _answer: Any) -> None:
        (window,) = coalesced.standing(self.world).open
        assert window.due_at == window.fires_at == self.until

    def verify_once(self) -> None:
        assert self.drained() == self.runs


LARGE = 120 * 1024
FULL = Batch(mode=BatchMode.BATCH, window_seconds=10, max_size=3)
FULL_OF_MANY = Batch(mode=BatchMode.BATCH, window_seconds=10, max_size=MANY + 1)

SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "join, the first": lambda: Joining(before=0, runs=[[0]]),
    "join an open window": lambda: Joining(runs=[[0, 1, 2]]),
    "join and fill it": lambda: Joining(batch=FULL, runs=[[0, 1, 2]], size=1000),
    "join and fill one of many": lambda: Joining(
        batch=FULL_OF_MANY, before=MANY, runs=[[*range(MANY + 1)]], size=1000
    ),
    "join what is over": lambda: Joining(runs=[[0, 1], [2]], waited=10),
    "join what is over, many": lambda: Joining(before=MANY, runs=[[*range(MANY)], [MANY]], waited=10),
    "join what is too full": lambda: Joining(before=1, runs=[[0], [1]], size=LARGE),
    "join, larger than a window": lambda: Joining(runs=[[0, 1], [2]], own_size=2 * LARGE),
    "join in another mode": lambda: Joining(runs=[[0, 1], [2]], own_batch=DEBOUNCE),
    "debounce": lambda: Joining(batch=DEBOUNCE, runs=[[2]]),
    "debounce what is over": lambda: Joining(batch=DEBOUNCE, runs=[[1], [2]], waited=10, size=1000),
    "fire a batch": lambda: Firing(runs=[[0, 1]]),
    "fire a batch of many": lambda: Firing(before=MANY, runs=[[*range(MANY)]], size=1000),
    "fire a debounced window": lambda: Firing(batch=DEBOUNCE, runs=[[1]]),
    "put a debounced window off": lambda: PuttingOff(batch=DEBOUNCE, runs=[[2]]),
}
