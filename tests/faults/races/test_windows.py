"""Sixteen threads hand inputs in while others fire their windows: each input is in one run, once."""

from __future__ import annotations

import random
from functools import partial
from threading import Event
from typing import Any

import pytest

from baton.domain.catalog import Batch, BatchMode
from baton.errors import Unavailable
from baton.services.coalescing import Joined
from tests.faults import coalesced
from tests.faults.races.together import at_once

JOINERS, SWEEPERS, CONTAINERS, INPUTS = 16, 3, 5, 6
TRIES = 20
BETWEEN_SWEEPS_SECONDS = 0.02


def _hand_in(container: Any, batch: Batch, marks: list[int]) -> list[tuple[int, Joined]]:
    return [(mark, _until_taken(container, batch, mark)) for mark in marks]


def _until_taken(container: Any, batch: Batch, mark: int) -> Joined:
    """As a publisher does who could not tell whether it came through."""
    for _ in range(TRIES):
        try:
            return coalesced.join(container, mark, batch)
        except Unavailable:
            continue
    raise AssertionError("it never got in")


def _sweep(container: Any, done: Event) -> int:
    fired = 0
    while not done.wait(BETWEEN_SWEEPS_SECONDS):
        fired += coalesced.tend(container)
    return fired


@pytest.mark.parametrize("turn", range(1))
@pytest.mark.parametrize(
    "batch",
    [
        Batch(mode=BatchMode.BATCH, window_seconds=0.5, max_size=5),
        Batch(mode=BatchMode.BATCH, window_seconds=0.2, max_size=1000),
        Batch(mode=BatchMode.DEBOUNCE, window_seconds=0.05, max_wait_seconds=0.3),
    ],
    ids=["batch, often full", "batch", "debounce"],
)
def test_sixteen_threads_join_while_others_fire(world: Any, container: Any, batch: Batch, turn: int) -> None:
    rng = random.Random(turn)
    containers = [container() for _ in range(CONTAINERS)]
    mine = [[joiner * INPUTS + index for index in range(INPUTS)] for joiner in range(JOINERS)]
    handed_in = [marks + rng.sample(mine[joiner - 1], INPUTS // 3) for joiner, marks in enumerate(mine)]
    done, left = Event(), list(range(JOINERS))

    def join(joiner: int) -> list[tuple[int, Joined]]:
        try:
            return _hand_in(containers[joiner % CONTAINERS], batch, handed_in[joiner])
        finally:
            left.remove(joiner)
            if not left:
                done.set()

    sweeps = [partial(_sweep, containers[n % CONTAINERS], done) for n in range(SWEEPERS)]
    *answers, first, second, third = at_once([*(partial(join, joiner) for joiner in range(JOINERS)), *sweeps])

    told = coalesced.told(pair for answer in answers for pair in answer)
    assert sorted(told) == list(range(JOINERS * INPUTS))
    coalesced.drain(world)
    coalesced.check_told(world, batch, told)
    again = _hand_in(containers[0], batch, sorted(told)[:: INPUTS - 1])
    assert all(answer.fired and answer.run_id == told[mark] for mark, answer in again)
    assert coalesced.standing(world).open == []
    print(f"{len(told)} inputs, {len(set(told.values()))} runs, {first + second + third} entries swept")
