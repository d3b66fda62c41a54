"""Joins, redeliveries and firings in every order: no input is lost, and none is in two runs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from baton.domain.catalog import Batch, BatchMode
from baton.services.coalescing import Joined
from tests.faults import coalesced, invariants
from tests.faults.interleaving import Race, explore, stray
from tests.faults.world import Container, House, World

WINDOW = 10
PAST = range(2)
"""Inputs whose window was fired before anyone moved."""
RUSHES_FIRST, RUSHES_IN_ALL, AT_ONCE = 20, 1000, 20


@dataclass
class Rush(Race):
    """Containers that hand in inputs, some of them the same ones, while others sweep."""

    batch: Batch
    joins: Sequence[list[int]]
    sweeps: Sequence[Sequence[float]]
    """What time goes by before each sweep, by sweeper: before the first one no one has moved yet."""
    size: int = 40

    def prepare(self, world: World) -> dict[str, tuple[Container, Callable[[], Any]]]:
        first = world.container()
        for mark in PAST:
            coalesced.join(first, mark, self.batch, size=self.size)
        coalesced.drain(world)
        actors: dict[str, tuple[Container, Callable[[], Any]]] = {}
        for turn, marks in enumerate(self.joins):
            container = world.container()
            actors[f"join {turn}"] = (container, partial(self._join, container, marks))
        for turn, waits in enumerate(self.sweeps):
            container = world.container()
            actors[f"sweep {turn}"] = (container, partial(self._sweep, world, container, waits))
        return actors

    def verify(self, world: World, results: dict[str, Any]) -> None:
        invariants.check(world)
        answers = [pair for name, result in results.items() if name.startswith("join") for pair in result]
        told = coalesced.told(answers)
        coalesced.drain(world)
        coalesced.check_told(world, self.batch, told, past=set(PAST))
        again = self._join(world.container(), sorted(told))
        assert all(answer.fired and answer.run_id == told[mark] for mark, answer in again)
        assert coalesced.standing(world).open == []
        coalesced.check_told(world, self.batch, told, past=set(PAST))

    def _join(self, container: Container, marks: list[int]) -> list[tuple[int, Joined]]:
        return [(mark, coalesced.join(container, mark, self.batch, size=self.size)) for mark in marks]

    def _sweep(self, world: World, container: Container, waits: Sequence[float]) -> None:
        for wait in waits:
            world.clock.advance(wait)
            coalesced.tend(container)


def a_rush(rng: random.Random) -> Rush:
    """Some inputs, each handed in once or twice, in a mode and with limits that chance picks."""
    mode = rng.choice(list(BatchMode))
    size, max_size = rng.choice([(40, 100), (40, 2), (40, 3), (90 * 1024, 100)])
    marks = list(range(10, 10 + rng.randint(3, 5)))
    handed_in = marks + rng.sample(marks, 2) + rng.sample(PAST, rng.randint(0, 2))
    rng.shuffle(handed_in)
    hands = rng.randint(2, 4)
    return Rush(
        batch=Batch(mode=mode, window_seconds=WINDOW, max_size=max_size, max_wait_seconds=15),
        joins=[handed_in[turn::hands] for turn in range(hands)],
        sweeps=[
            [rng.choice([0, 4, WINDOW, 15]) for _ in range(rng.randint(1, 3))]
            for _ in range(rng.randint(1, 2))
        ],
        size=size,
    )


RUSHES: dict[str, Callable[[], Rush]] = {
    f"{mode.value}, {name}": partial(
        Rush, Batch(mode=mode, window_seconds=WINDOW, max_size=max_size), joins, sweeps, size
    )
    for mode in BatchMode
    for name, max_size, joins, sweeps, size in [
        ("two inputs", 100, [[10], [11]], [], 40),
        ("one input twice", 100, [[10], [10]], [], 40),
        ("inputs and the sweep", 100, [[10, 11]], [[0, WINDOW]], 40),
        ("one input twice and the sweep", 100, [[10], [10]], [[0, WINDOW]], 40),
        ("two sweeps", 100, [[10]], [[0, WINDOW], [0, 0]], 40),
        ("two that fill it", 1, [[10], [11]], [], 40),
        ("old inputs and a new one", 100, [[0, 10], [10, 1]], [], 40),
    ]
}
FIRST = (
    "batch, inputs and the sweep",
    "batch, two that fill it",
    "batch, old inputs and a new one",
    "debounce, inputs and the sweep",
    "debounce, one input twice",
)


DEEP = ("batch, two that fill it", "debounce, one input twice")


@pytest.mark.parametrize("name", FIRST)
def test_in_whatever_order_their_calls_meet_every_input_is_in_one_run(name: str, house: House) -> None:
    explore(RUSHES[name], house, changes=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", DEEP)
def test_in_whatever_order_they_change_turns_more_often_too(name: str, house: House) -> None:
    explore(RUSHES[name], house, changes=2)


def test_whatever_the_order_no_input_is_lost_and_none_counts_twice(house: House) -> None:
    stray(a_rush, house, range(RUSHES_FIRST))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(RUSHES_FIRST, RUSHES_IN_ALL, AT_ONCE))
def test_in_a_thousand_orders_no_input_is_lost_and_none_counts_twice(first: int, house: House) -> None:
    stray(a_rush, house, range(first, first + AT_ONCE))
