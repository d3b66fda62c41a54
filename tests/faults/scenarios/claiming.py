"""Claims, renewals, releases, and the sweep that takes back what a worker left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from baton.domain.run import Run
from baton.domain.states import State
from baton.services.details import RunDetail
from tests.faults import asking, invariants
from tests.faults.crash import Scenario
from tests.faults.world import Container, World

LEASE_SECONDS, MARGIN_SECONDS, PAUSE_SECONDS = 60, 2, 300
"""How long a run is held at the most, and how long it waits after that."""
PUT_OFF_SECONDS = 5
BROKE = {"message": "it broke", "type": "Trouble"}


def runs(world: World) -> dict[str, Run]:
    return invariants.facts(world).runs


def check_claimable_again(world: World) -> None:
    """Whoever held what when he died: once his leases have run out each run is there for another, once."""
    world.clock.advance(LEASE_SECONDS + MARGIN_SECONDS)
    other = world.container()
    for _ in range(2):
        assert not other.runtime.sweep.run().failed
        world.clock.advance(PAUSE_SECONDS)
    waiting = {run_id for run_id, run in runs(world).items() if not run.state.terminal}
    assert {run.state for run_id, run in runs(world).items() if run_id in waiting} <= {State.PENDING}
    got = asking.claim(other, "heir", most=25)
    assert sorted(detail.run.id for detail in got) == sorted(waiting)
    invariants.check(world)


@dataclass
class Claiming(Scenario):
    """A claim of some of what waits: each is held by one, and one that had a key holds what it is told."""

    key: str | None = None
    most: int = 1
    before: int = 0
    """How many claims there were of each."""
    large: bool = False
    others: int = 2

    def prepare(self, world: World) -> Container:
        container = world.container()
        for number in range(self.most + self.others):
            asking.queued(container, run_id=f"r{number}", input_=asking.LARGE if self.large else None)
            world.clock.advance(0.001)
        for attempt in range(1, self.before + 1):
            for detail in asking.claim(container, "first", most=25):
                asking.append(world, container, detail.run.id, f"at {attempt}", attempt=attempt)
                asking.release(container, detail.run.id, "first", attempt=attempt)
        return world.container()

    def act(self, container: Container) -> list[RunDetail]:
        return asking.claim(container, key=self.key, most=self.most)

    def verify(self, answer: list[RunDetail]) -> None:
        now = runs(self.world)
        held = {run_id for run_id, run in now.items() if run.state is State.RUNNING}
        got = [detail.run.id for detail in answer]
        assert len(got) == len(set(got)) <= self.most
        assert set(got) <= held
        for detail in answer:
            assert detail.run == now[detail.run.id]
            assert detail.run.attempt == 1 + self.before
            asking.append(self.world, self.world.container(), detail.run.id, "mine", attempt=1 + self.before)
        if self.key is not None:
            assert set(got) == held == {f"r{number}" for number in range(self.most)}

    def verify_once(self) -> None:
        check_claimable_again(self.world)

    def verify_unretried(self) -> None:
        check_claimable_again(self.world)


@dataclass
class ClaimingOne(Claiming):
    """A claim of one run by its id, with a key."""

    key: str | None = "k"
    others: int = 0

    def act(self, container: Container) -> list[RunDetail]:
        return [asking.claim_one(container, "r0", key=self.key)]


@dataclass
class _Held(Scenario):
    """A run that worker w1 holds at an attempt."""

    attempt: int = 1
    large: bool = False
    max_attempts: int = 3
    failures: int = 0
    cancelled: bool = False
    spoke: bool = True

    def prepare(self, world: World) -> Container:
        container = world.container()
        input_ = asking.LARGE if self.large else None
        asking.queued(container, run_id="mine", input_=input_, max_attempts=self.max_attempts)
        for attempt in range(1, self.attempt + 1):
            asking.claim(container)
            if attempt < self.attempt:
                error = BROKE if attempt <= self.failures else None
                asking.release(container, "mine", attempt=attempt, error=error, delay_seconds=0)
        if self.spoke:
            asking.append(world, container, "mine", "before", attempt=self.attempt)
        if self.cancelled:
            asking.cancel(container, "mine", reason="enough")
        return container if self.spoke else world.container()

    def run(self) -> Run:
        return runs(self.world)["mine"]

    def verify_once(self) -> None:
        check_claimable_again(self.world)

    def verify_unretried(self) -> None:
        check_claimable_again(self.world)


@dataclass
class Renewing(_Held):
    """A renewal: it is held for as long again, and no attempt begins."""

    def act(self, container: Container) -> Run:
        return asking.renew(container, "mine", attempt=self.attempt)

    def verify(self, answer: Run) -> None:
        assert answer.lease is not None
        left = answer.lease.expires_at - self.world.clock.now()
        assert 0 <= LEASE_SECONDS * 1000 - left <= 1000, "but for the pauses of a conflict"
        assert (self.run().lease, self.run().attempt) == (answer.lease, self.attempt)


@dataclass
class Releasing(_Held):
    """A release: it waits again, or is over; a failure counts once however often it is told."""

    error: dict[str, Any] | None = None
    to: State = State.PENDING

    def act(self, container: Container) -> RunDetail:
        return asking.release(container, "mine", attempt=self.attempt, error=self.error)

    def verify(self, answer: RunDetail) -> None:
        run = self.run()
        assert answer.run == run
        assert (run.state, run.attempt) == (self.to, self.attempt)
        assert run.failures == self.failures + (self.error is not None and self.to is State.PENDING)
        if self.to.terminal:
            assert answer.error is not None


@dataclass
class Expiring(_Held):
    """A worker is gone: the sweep takes its run back once, or ends it."""

    at_once = False
    to: State = State.PENDING
    swept = False

    def prepare(self, world: World) -> Container:
        super().prepare(world)
        world.clock.advance(LEASE_SECONDS + MARGIN_SECONDS)
        return world.container()

    def act(self, container: Container) -> Any:
        if self.swept:
            self.world.clock.advance(PUT_OFF_SECONDS)  # what failed has gone to the back
        self.swept = True
        return container.runtime.sweep.run()

    def verify(self, _answer: Any) -> None:
        run = self.run()
        assert (run.state, run.attempt) == (self.to, self.attempt)
        assert run.failures == self.failures + (self.to is State.PENDING)
        if self.to is State.PENDING:
            assert run.released is not None
            assert run.released.failure is not None
            assert run.due_at is None


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "claim": Claiming,
    "claim, large input": lambda: Claiming(large=True),
    "claim for the second time": lambda: Claiming(before=1),
    "claim for the third time, large input": lambda: Claiming(before=2, large=True),
    "claim three": lambda: Claiming(most=3),
    "claim with a key": lambda: Claiming(key="k"),
    "claim two with a key": lambda: Claiming(key="k", most=2),
    "claim two with a key for the second time": lambda: Claiming(key="k", most=2, before=1),
    "claim one": ClaimingOne,
    "claim one for the second time": lambda: ClaimingOne(before=1),
    "renew": Renewing,
    "renew at the second attempt": lambda: Renewing(attempt=2),
    "release": Releasing,
    "release, its end not remembered": lambda: Releasing(spoke=False, attempt=2),
    "release with a failure": lambda: Releasing(error=BROKE, large=True),
    "release with the last failure": lambda: Releasing(
        error=BROKE, attempt=2, failures=1, max_attempts=2, large=True, to=State.DEAD
    ),
    "release what is told to end": lambda: Releasing(cancelled=True, to=State.CANCELLED),
    "sweep a lease that ran out": Expiring,
    "sweep a lease that ran out at the second attempt": lambda: Expiring(attempt=2, failures=1, spoke=False),
    "sweep the last lease that may run out": lambda: Expiring(max_attempts=1, to=State.DEAD),
    "sweep a lease that ran out on what is told to end": lambda: Expiring(cancelled=True, to=State.CANCELLED),
}
