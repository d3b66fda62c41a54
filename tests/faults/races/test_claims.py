"""Many workers claim at one moment, on DynamoDB Local: each attempt of each run is one worker's."""

from __future__ import annotations

import random
import time
from functools import partial
from threading import Event
from typing import Any

import pytest

from baton.domain.log import entry
from baton.domain.states import State
from baton.errors import Conflict, TryAgain
from baton.services.appends import Append
from tests.faults import asking, invariants
from tests.faults.claimers import Claimers, again, claim
from tests.faults.races.together import at_once

CLAIMERS, RUNS = 8, 500
LEASE_SECONDS, MARGIN_SECONDS = 0.5, 0.1
WORKED, PATIENCE_SECONDS = 60, 60


def test_eight_claimers_get_each_of_five_hundred_runs_once_per_attempt(world: Any, container: Any) -> None:
    claimers = Claimers([container() for _ in range(CLAIMERS)])
    claimers.start(RUNS)
    claimers.drain(back_at_first=2)

    assert claimers.repeated == []
    runs = [f"run-{number:03d}" for number in range(RUNS)]
    assert sorted(claimers.claimed) == sorted(
        [(run_id, 1) for run_id in runs] + [(run_id, 2) for run_id in runs[::2]]
    )
    found = invariants.check(world)
    assert {run.state for run in found.runs.values()} == {State.RUNNING}
    per_claim = claimers.lost / len(claimers.claimed)
    print(f"{len(claimers.claimed)} claims, {claimers.lost} writes lost: {per_claim:.2f} each")
    assert per_claim < 0.5, "they fight over the same runs"


@pytest.mark.parametrize("most", [5, 25])
def test_so_do_those_that_claim_several_at_once(world: Any, container: Any, most: int) -> None:
    claimers = Claimers([container() for _ in range(CLAIMERS)])
    claimers.start(RUNS // 2)
    claimers.drain(most=most)
    assert sorted(claimers.claimed) == [(f"run-{number:03d}", 1) for number in range(RUNS // 2)]
    invariants.check(world)
    print(f"{len(claimers.claimed)} claims, {claimers.lost} writes lost, up to {most} at once")


@pytest.mark.parametrize("round_", range(5))
@pytest.mark.parametrize("before", [0, 1])
def test_one_request_sent_by_eight_at_once_holds_the_same_runs_for_all(
    world: Any, container: Any, before: int, round_: int
) -> None:
    containers = [container() for _ in range(CLAIMERS)]
    claimers = Claimers(containers)
    claimers.start(40)
    if before:
        got = [run for _ in range(2) for run in claim(containers[0], "w1", most=25)]
        assert len(got) == 40
        for run in got:
            asking.release(containers[0], run.id)
    one = partial(claim, most=5, key=f"k{round_}")
    answers = at_once([partial(again, partial(one, each, "w1")) for each in containers])
    last = {run.id: run.attempt for run in again(partial(one, containers[0], "w1"))}
    held = {run.id for run in invariants.check(world).runs.values() if run.lease is not None}
    assert len(last) == 5
    assert held == set(last)
    assert all({run.id for run in answer} <= held for answer in answers)
    assert set(last.values()) == {1 + before}


class Mortal:
    """A worker that says a word under its attempt and finishes, unless it dies first or pauses between."""

    def __init__(self, container: Any, sweeper: Any, name: str, seed: int) -> None:
        self.finished: list[tuple[str, int]] = []
        self._container, self._sweeper, self._name = container, sweeper, name
        self._rng = random.Random(seed)

    def work(self) -> None:
        """Until all is over."""
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            self._sweeper.runtime.sweep.run()
            got = again(partial(claim, self._container, self._name, most=2, seconds=LEASE_SECONDS))
            for run in got:
                self._drive(run.id, run.attempt)
            if not got and self._over():
                return
        raise AssertionError("some run is lost")

    def _drive(self, run_id: str, attempt: int) -> None:
        if self._rng.random() < 0.3:
            return  # dead, and nobody told
        command = Append(
            namespace=asking.NAMESPACE,
            run_id=run_id,
            entries=[entry("stdout", {"mark": f"{attempt}"})],
            attempt=attempt,
        )
        try:
            self._container.runtime.appends.append(command)
            if self._rng.random() < 0.2:
                Event().wait(LEASE_SECONDS + 3 * MARGIN_SECONDS)  # paused: another may take it over
            outcome = asking.an_outcome(key=f"{run_id} {attempt}")
            if asking.finish(self._container, run_id, outcome, attempt=attempt).finished:
                self.finished.append((run_id, attempt))
        except (Conflict, TryAgain):
            return  # its lease was lost

    def _over(self) -> bool:
        listed = self._container.runtime.runs._context.runs
        ids = [f"run-{number:03d}" for number in range(WORKED)]
        return all(run.state.terminal for run in listed.get_many(asking.NAMESPACE, ids).values())


def test_claimers_that_die_and_sweeps_lose_no_run_and_end_none_twice(world: Any, container: Any) -> None:
    settings = {"skew_seconds": MARGIN_SECONDS}
    containers = [container(**settings) for _ in range(CLAIMERS)]
    Claimers(containers).start(WORKED)
    workers = [Mortal(each, container(**settings), f"w{turn}", turn) for turn, each in enumerate(containers)]
    at_once([worker.work for worker in workers])

    found = invariants.check(world)
    finished = [done for worker in workers for done in worker.finished]
    assert len(finished) == len(set(finished))
    completed = {(run.id, run.attempt) for run in found.runs.values() if run.state is State.COMPLETED}
    assert set(finished) == completed
    dead = [run for run in found.runs.values() if run.state is State.DEAD]
    assert len(completed) + len(dead) == WORKED
    assert all(run.failures == run.max_attempts - 1 for run in dead)
    for run in found.runs.values():
        marks = asking.marks(invariants.entries_of(found, run))
        assert marks == sorted(marks, key=int), "an old owner spoke after its successor"
    again_claimed = sum(run.attempt > 1 for run in found.runs.values())
    print(f"{len(completed)} completed, {len(dead)} dead, {again_claimed} claimed more than once")
