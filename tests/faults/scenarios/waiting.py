"""Runs that wait: suspended, woken by the time, by a run's settling or by an event, moved along a chain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from baton.domain.run import Run
from baton.domain.settling import Finish
from baton.domain.starting import Succession
from baton.domain.states import State
from baton.services.details import RunDetail
from tests.faults import asking, awaiting, invariants
from tests.faults.crash import Scenario
from tests.faults.world import Container, World

WAITER, TARGET, EVENT = "waiter", "target", "paid"
MINUTE = 60


def run_of(world: World, run_id: str = WAITER) -> Run:
    return invariants.facts(world).runs[run_id]


def woken_of(world: World, run_id: str = WAITER) -> list[Any]:
    """What woke a run, wake by wake."""
    found = invariants.facts(world)
    return awaiting.told(found, found.runs[run_id], "woken")


def sweep(world: World) -> None:
    """The sweep comes, as each minute."""
    world.clock.advance(MINUTE)
    assert not world.container().runtime.sweep.run().failed


@dataclass
class Suspending(Scenario):
    """A run is told to wait, by a driver that repeats itself when it hears nothing."""

    queued: bool = False
    warm: bool = True
    large: bool = False

    what: ClassVar[dict[str, Any]]
    woken = False

    def prepare(self, world: World) -> Container:
        container = world.container()
        self.before(container)
        asking.running(container, asking.LARGE if self.large else None, run_id=WAITER)
        return container if self.warm else world.container()

    def before(self, container: Container) -> None:
        """What is there beside it."""

    def act(self, container: Container) -> RunDetail:
        return asking.suspend(container, WAITER, key="k", **self.what)

    def verify(self, answer: RunDetail) -> None:
        assert answer.run.state is (State.RUNNING if self.woken else State.SUSPENDED)
        assert answer.run == run_of(self.world)
        assert len(woken_of(self.world)) == int(self.woken)
        found = invariants.facts(self.world)
        assert len(awaiting.told(found, found.runs[WAITER], "suspended")) == 1, "one request, two waits"

    def verify_unretried(self) -> None:
        sweep(self.world)
        run = run_of(self.world)
        if self.woken:
            assert run.state is State.RUNNING
        invariants.check(self.world)
        awaiting.check_nobody_forgotten(self.world, invariants.facts(self.world))


class UntilLater(Suspending):
    what: ClassVar[dict[str, Any]] = {"until": 1_900_000_000_000}


class UntilNow(Suspending):
    what: ClassVar[dict[str, Any]] = {"until": 1_800_000_000_000}
    woken = True


class ForARun(Suspending):
    what: ClassVar[dict[str, Any]] = {"run": TARGET}

    def before(self, container: Container) -> None:
        asking.running(container, run_id=TARGET)

    def verify(self, answer: RunDetail) -> None:
        super().verify(answer)
        assert run_of(self.world, TARGET).settlement.waiters == 1


class ForASettledRun(ForARun):
    woken = True

    def before(self, container: Container) -> None:
        super().before(container)
        asking.fail(container, TARGET)

    def verify(self, answer: RunDetail) -> None:
        Suspending.verify(self, answer)
        assert woken_of(self.world) == [{"kind": "run", "run_id": TARGET, "run_state": "failed"}]


class ForAContinuedRun(ForARun):
    """It waits for the run that goes on in the place of the one it named."""

    def before(self, container: Container) -> None:
        super().before(container)
        continue_as(container, TARGET, "second")
        continue_as(container, "second", "third")

    def verify(self, answer: RunDetail) -> None:
        Suspending.verify(self, answer)
        assert run_of(self.world, "third").settlement.waiters == 1


class ForAnEvent(Suspending):
    what: ClassVar[dict[str, Any]] = {"event": EVENT}


class ForAKeptEvent(ForAnEvent):
    """The oldest that is kept wakes it, and is nobody else's."""

    woken = True

    def before(self, container: Container) -> None:
        asking.post(container, EVENT, "too old", id="0")
        self.world.clock.advance(24 * 3600)
        for id_ in ("1", "2"):
            asking.post(container, EVENT, id_, id=id_)
            self.world.clock.advance(1)

    def verify(self, answer: RunDetail) -> None:
        super().verify(answer)
        assert woken_of(self.world) == [{"kind": "event", "event": EVENT, "id": "1", "payload": "1"}]
        found = invariants.facts(self.world)
        assert {id_ for _, id_ in awaiting.open_in(found)} == {"0", "2"}
        assert asking.post(self.world.container(), EVENT, "1", id="1").kept, "it answers another thing now"


def continue_as(container: Container, run_id: str, successor: str) -> None:
    """Finish it, going on as another."""
    command = Finish(outcome=asking.an_outcome(key=successor), succession=Succession(run_id=successor))
    container.runtime.finishes.finish(asking.NAMESPACE, run_id, command)


@dataclass
class Waking(Scenario):
    """A target has settled, and is published: everyone that waits for it is woken once."""

    resumed: bool = False
    large: bool = False
    at_once = False

    def prepare(self, world: World) -> Container:
        container = world.container()
        asking.running(container, run_id=TARGET)
        for waiter in ("one", "two", "given up"):
            asking.running(container, asking.LARGE if self.large else None, run_id=waiter)
            asking.suspend(container, waiter, run=TARGET)
        asking.cancel(container, "given up")
        asking.fail(container, TARGET)
        if self.resumed:
            asking.resume(container, TARGET)
            asking.running(container, run_id="three")
            asking.suspend(container, "three", run=TARGET)
        return world.container()

    def act(self, container: Container) -> Any:
        return asking.publish(container, TARGET, 1)

    def verify(self, _answer: Any) -> None:
        for waiter in ("one", "two"):
            assert run_of(self.world, waiter).state is State.RUNNING
            assert woken_of(self.world, waiter) == [{"kind": "run", "run_id": TARGET, "run_state": "failed"}]
        target = run_of(self.world, TARGET)
        assert not target.kept or self.resumed
        assert run_of(self.world, "given up").state is State.CANCELLED
        waiting = {each.run_id for each in awaiting.waiters_in(invariants.facts(self.world))}
        assert waiting == ({"three"} if self.resumed else set())
        if self.resumed:
            assert run_of(self.world, "three").state is State.SUSPENDED
            assert (target.settlement.waiters, target.apart) == (1, 0)

    def verify_unretried(self) -> None:
        sweep(self.world)
        self.verify(None)


class LeftToTheSweep(Waking):
    """As above, and nobody publishes it but the sweep."""

    def act(self, container: Container) -> Any:
        return container.runtime.sweep.run()

    def prepare(self, world: World) -> Container:
        container = super().prepare(world)
        world.clock.advance(MINUTE)
        return container

    def verify(self, answer: Any) -> None:
        sweep(self.world)  # what was in trouble was put off
        super().verify(answer)


class Settling(Waking):
    """A target with a waiter is finished: it is marked until that is woken."""

    def prepare(self, world: World) -> Container:
        container = world.container()
        asking.running(container, run_id=TARGET)
        asking.running(container, run_id=WAITER)
        asking.suspend(container, WAITER, run=TARGET)
        return container

    def act(self, container: Container) -> Any:
        return asking.finish(container, TARGET, asking.an_outcome(key="k"))

    at_once = True

    def verify(self, answer: Any) -> None:
        assert answer.finished
        target = run_of(self.world, TARGET)
        assert (target.settlement.waiters, target.expires_at) == (1, None)
        assert run_of(self.world).state is State.SUSPENDED

    def verify_unretried(self) -> None:
        sweep(self.world)
        settled = run_of(self.world, TARGET).state.terminal
        assert run_of(self.world).state is (State.RUNNING if settled else State.SUSPENDED)


class MovingAlong(Waking):
    """A target goes on as new runs: who waited for it waits for the last of them."""

    ended: ClassVar[bool] = False

    def prepare(self, world: World) -> Container:
        container = world.container()
        asking.running(container, run_id=TARGET)
        for waiter in ("one", "two"):
            asking.running(container, run_id=waiter)
            asking.suspend(container, waiter, run=TARGET)
        continue_as(container, TARGET, "second")
        continue_as(container, "second", "third")
        if self.ended:
            asking.finish(container, "third", asking.an_outcome())
        return world.container()

    def verify(self, _answer: Any) -> None:
        waiting = {each.run_id: each.target for each in awaiting.waiters_in(invariants.facts(self.world))}
        if self.ended:
            assert waiting == {}
            for waiter in ("one", "two"):
                (why,) = woken_of(self.world, waiter)
                assert why == {"kind": "run", "run_id": "third", "run_state": "completed"}
            return
        assert waiting == {"one": "third", "two": "third"}
        assert run_of(self.world, "third").settlement.waiters == 2
        assert not run_of(self.world, TARGET).kept


class MovingToWhatIsOver(MovingAlong):
    ended: ClassVar[bool] = True


@dataclass
class TimeCome(Scenario):
    """The sweep wakes a run whose time has come; a queued one is there to be claimed."""

    told: bool = False
    at_once = False

    def prepare(self, world: World) -> Container:
        container = world.container()
        asking.running(container, run_id=WAITER)
        if self.told:
            asking.cancel(container, WAITER)
        asking.suspend(container, WAITER, until=world.clock.now() + 30_000)
        world.clock.advance(30)
        return world.container()

    def act(self, container: Container) -> Any:
        return container.runtime.sweep.run()

    def verify(self, _answer: Any) -> None:
        sweep(self.world)  # what was in trouble was put off
        run = run_of(self.world)
        assert run.state is (State.CANCELLED if self.told else State.RUNNING)
        assert len(woken_of(self.world)) == 1 or self.told  # put off, it may be past the grace of its cancel
        assert (run.cancel is not None) == self.told

    def verify_unretried(self) -> None:
        self.verify(None)


class LookedForLate(TimeCome):
    """Whoever came to wait died before looking for an event that was kept: the sweep looks."""

    def prepare(self, world: World) -> Container:
        container = world.container()
        asking.post(container, EVENT, id="1")
        asking.running(container, run_id=WAITER)
        waits: Any = container.runtime.waits
        waits._taken = lambda _done: None
        asking.suspend(container, WAITER, event=EVENT)
        world.clock.advance(MINUTE)
        return world.container()


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "wait for a time": UntilLater,
    "wait for a time, cold": lambda: UntilLater(warm=False),
    "wait for a time that has come": UntilNow,
    "wait for a run": ForARun,
    "wait for a run, cold, with a large input": lambda: ForARun(warm=False, large=True),
    "wait for a run that has settled": ForASettledRun,
    "wait for a run that was continued": ForAContinuedRun,
    "wait for an event": ForAnEvent,
    "wait for an event that is kept": ForAKeptEvent,
    "wait for an event that is kept, cold": lambda: ForAKeptEvent(warm=False),
    "settle what is waited for": Settling,
    "wake who waited for a run": Waking,
    "wake who waited for a run, their inputs in the log": lambda: Waking(large=True),
    "wake who waited for an attempt that was resumed": lambda: Waking(resumed=True),
    "sweep a settled run that is waited for": LeftToTheSweep,
    "sweep an attempt that was waited for and resumed": lambda: LeftToTheSweep(resumed=True),
    "move who waited along": MovingAlong,
    "move who waited along to what is over": MovingToWhatIsOver,
    "sweep a run whose time has come": TimeCome,
    "sweep a run whose time has come and that was told to end": lambda: TimeCome(told=True),
    "sweep a run that did not look for an event": LookedForLate,
}
