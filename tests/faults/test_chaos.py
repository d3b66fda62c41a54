"""Random lives of two ids, in containers with wrong clocks that die and lose replies: all invariants hold."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from baton.domain import states
from baton.domain.log import Producer
from baton.domain.states import State
from baton.errors import BatonError, Internal, Unavailable
from tests.faults import asking, invariants
from tests.faults.crash import CrashPlan, Mode, settle_down
from tests.faults.seam import Death
from tests.faults.world import Container, House, World

STEPS, SEEDS = 50, 12
SKEWS = (-5, 0, 5)
IDS, KEYS, PRODUCERS, WORKERS = ("a", "b"), ("k", "l"), ("p", "q"), ("w1", "w2")


class Chaos:
    """One random history."""

    def __init__(self, house: House, seed: int) -> None:
        self.world = World(house, swapped=seed % 2 == 1)
        self.rng = random.Random(seed)
        self.containers = [self.world.container(skew=skew) for skew in SKEWS]
        self.seqs: dict[str, int] = {}
        self.acts: list[Callable[[Container, str], Any]] = [
            self.start,
            self.start,
            self.append,
            self.append,
            self.append,
            self.finish,
            self.cancel,
            self.resume,
            self.resume,
            self.claim,
            self.claim,
            self.renew,
            self.release,
            self.delete,
            self.sweep,
            self.wait,
        ]
        self.history: list[str] = []

    def step(self) -> None:
        """One act by one container on one id, perhaps going wrong at one of its first calls."""
        turn = self.rng.randrange(len(self.containers))
        act, run_id = self.rng.choice(self.acts), self.rng.choice(IDS)
        container = self.containers[turn]
        plan, mode = None, self.rng.choice(list(Mode))
        if self.rng.random() < 0.4:
            plan = CrashPlan(self.rng.randrange(4), mode, self.world.house.wire)
            container.seam.watch = plan
        self.history.append(f"{turn} {act.__name__} {run_id}")
        try:
            act(container, run_id)
        except Death:
            self.containers[turn] = self.world.container(skew=SKEWS[turn])
        except BatonError as refused:
            self.history[-1] += f" {type(refused).__name__}"
            if isinstance(refused, Internal) or (isinstance(refused, Unavailable) and plan is None):
                raise
        container.seam.watch = None
        if plan is not None and plan.struck is not None:
            self.history[-1] += f" ({plan.struck.operation}: {mode.value})"

    def start(self, container: Container, run_id: str) -> None:
        given: dict[str, Any] = {"inactivity_timeout_seconds": self.rng.choice([None, 30])}
        if self.rng.random() < 0.5:
            given["key"] = f"{self.rng.choice(KEYS)} of {run_id}"
        if self.rng.random() < 0.6:
            given |= {"mode": states.Mode.QUEUED, "max_attempts": self.rng.choice([1, 3])}
        asking.start(container, self.rng.choice([None, asking.LARGE]), run_id=run_id, **given)

    def append(self, container: Container, run_id: str) -> None:
        name = self.rng.choice([*PRODUCERS, None])
        producer = None
        if name is not None:
            seq = self.rng.choice([0, self.seqs.get(name, 0), self.seqs.get(name, 0) + 1])
            producer = Producer(name, 0, seq)
            self.seqs[name] = seq
        mark = f"{name} {len(self.history)}"
        asking.append(
            self.world, container, run_id, mark, mark, producer=producer, attempt=self._fence(run_id)
        )

    def finish(self, container: Container, run_id: str) -> None:
        failed = self.rng.random() < 0.7
        outcome = asking.an_outcome(State.FAILED if failed else State.COMPLETED, resumable=failed)
        asking.finish(container, run_id, outcome, attempt=self._fence(run_id))

    def cancel(self, container: Container, run_id: str) -> None:
        asking.cancel(container, run_id, force=self.rng.random() < 0.3)

    def resume(self, container: Container, run_id: str) -> None:
        asking.resume(container, run_id, force=self.rng.random() < 0.5, key=self.rng.choice([None, "r"]))

    def claim(self, container: Container, run_id: str) -> None:
        worker, key = self.rng.choice(WORKERS), self.rng.choice([None, *KEYS])
        if self.rng.random() < 0.5:
            asking.claim_one(container, run_id, worker, key=key)
        else:
            asking.claim(container, worker, key=key, most=self.rng.choice([1, 2]))

    def renew(self, container: Container, run_id: str) -> None:
        attempt = self._fence(run_id) or 1
        asking.renew(container, run_id, self._worker(run_id), attempt=attempt)

    def release(self, container: Container, run_id: str) -> None:
        how: dict[str, Any] = {"delay_seconds": self.rng.choice([None, 0, 30])}
        if self.rng.random() < 0.5:
            how["error"] = {"message": "it broke"}
        attempt = self._fence(run_id) or 1
        asking.release(container, run_id, self._worker(run_id), attempt=attempt, **how)

    def delete(self, container: Container, run_id: str) -> None:
        if self.rng.random() < 0.5:
            asking.delete(container, run_id)

    def sweep(self, container: Container, _run_id: str) -> None:
        container.runtime.sweep.run()

    def wait(self, _container: Container, _run_id: str) -> None:
        self.world.clock.advance(self.rng.choice([0, 0.001, 1, 45, 700]))

    def _worker(self, run_id: str) -> str:
        """Mostly the one that holds it."""
        run = invariants.facts(self.world).runs.get(run_id)
        holder = None if run is None or run.lease is None else run.lease.worker_id
        return self.rng.choice([holder or WORKERS[0], holder or WORKERS[0], *WORKERS])

    def _fence(self, run_id: str) -> int | None:
        """Mostly the right one."""
        run = invariants.facts(self.world).runs.get(run_id)
        right = 1 if run is None else run.attempt
        return self.rng.choice([right, right, right, None, max(1, right - 1)])


def _live(house: House, seed: int) -> None:
    chaos = Chaos(house, seed)
    try:
        for run_id in IDS:
            chaos.start(chaos.containers[1], run_id)
        for _ in range(STEPS):
            chaos.step()
            invariants.check(chaos.world)
        invariants.check(chaos.world, as_read=True)
        settle_down(chaos.world)
    except Exception as failure:
        failure.add_note("\n".join(chaos.history))
        raise


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_happens_in_whatever_order_all_invariants_hold(house: House, seed: int) -> None:
    _live(house, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS, 10 * SEEDS))
def test_however_often_it_happens(house: House, seed: int) -> None:
    _live(house, seed)
