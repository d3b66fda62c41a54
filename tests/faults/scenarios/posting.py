"""Events of one's own: posted, delivered, waited for, kept; and posted by somebody who died over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from baton.domain.catalog import Subscription
from baton.domain.events import Post, Posted, post
from baton.domain.payload import canonical
from baton.domain.settlement import DeliveryState
from baton.domain.states import State
from tests.faults import asking, awaiting, handed, invariants
from tests.faults.crash import Scenario
from tests.faults.scenarios.waiting import EVENT, MINUTE, run_of, sweep, woken_of
from tests.faults.world import NAMESPACE, Container, World

LARGE = ["a payload that no row could hold. " * 100] * 10


@dataclass
class Posting(Scenario):
    """An event: each subscriber is started once and each that waits for it woken once, whatever its poster
    is told; and the same again starts nothing."""

    subscribers: tuple[str, ...] = ()
    waiters: tuple[str, ...] = ()
    given_up: bool = False
    payload: Any = None
    where: str | None = None
    at_once = False

    def prepare(self, world: World) -> Container:
        for name in self.subscribers:
            handed.register(world, name, Subscription(EVENT, where=self.where))
        container = world.container()
        waiting = (*self.waiters, *(("given up",) if self.given_up else ()))
        for waiter in waiting:
            asking.running(container, run_id=waiter)
            asking.suspend(container, waiter, event=EVENT)
        if self.given_up:
            asking.cancel(container, "given up")
        return world.container()

    def act(self, container: Container) -> Any:
        return asking.post(container, EVENT, self.payload, id="e1")

    def verify(self, answer: Any) -> None:
        sweep(self.world)  # what was in trouble was left to it
        found = invariants.facts(self.world)
        self.judge(found, awaiting.events_in(found)[EVENT, "e1"])
        assert isinstance(answer, Posted)
        assert (answer.id, answer.payload) == ("e1", canonical(self.payload))

    def verify_unretried(self) -> None:
        sweep(self.world)
        found = invariants.facts(self.world)
        posted = awaiting.events_in(found).get((EVENT, "e1"))
        if posted is None:
            assert all(run_of(self.world, name).state is State.SUSPENDED for name in self.waiters)
            assert not self.started(found)
        else:
            self.judge(found, posted)

    def judge(self, found: invariants.Facts, posted: Posted) -> None:
        """What is true once an event is finished."""
        declined = self.where is not None
        assert self.started(found) == ([] if declined else sorted(self.subscribers))
        states = {each.subscriber: each.state for each in posted.settlement.deliveries}
        assert states == dict.fromkeys(
            self.subscribers, DeliveryState.DECLINED if declined else DeliveryState.STARTED
        )
        for waiter in self.waiters:
            (why,) = woken_of(self.world, waiter)
            assert why == {"kind": "event", "event": EVENT, "id": "e1", "payload": self.payload}
        assert awaiting.waiters_in(found) == []
        reached = bool(self.waiters) or (bool(self.subscribers) and not declined)
        assert (posted.runs_woken, posted.kept) == (len(self.waiters), not reached)
        assert posted.due_at is None

    def started(self, found: invariants.Facts) -> list[str]:
        """The workflows that were started, once for each run."""
        return sorted(run.workflow for run in found.runs.values() if run.workflow in self.subscribers)


@dataclass
class LeftByItsPoster(Posting):
    """As above, and its poster died as soon as it was posted: the sweep does it all."""

    def prepare(self, world: World) -> Container:
        container = super().prepare(world)
        wish = Post(namespace=NAMESPACE, name=EVENT, payload=canonical(self.payload), id="e1")
        posted = post(wish, id_="e1", rev="mark", now=world.clock.now(), sweep_after_seconds=MINUTE / 2)
        container.runtime.events._context.events.create(posted)
        world.clock.advance(MINUTE)
        return container

    def act(self, container: Container) -> Any:
        return container.runtime.sweep.run()

    def verify(self, _answer: Any) -> None:
        super().verify(asking.post(self.world.container(), EVENT, self.payload, id="e1"))


@dataclass
class Taken(Scenario):
    """An event that was kept is taken by whoever comes to wait, once: the next one waits."""

    def prepare(self, world: World) -> Container:
        container = world.container()
        asking.post(container, EVENT, "kept", id="e1")
        for waiter in ("one", "two"):
            asking.running(container, run_id=waiter)
        return world.container()

    def act(self, container: Container) -> Any:
        return [asking.suspend(container, waiter, key="k", event=EVENT) for waiter in ("one", "two")]

    def verify(self, answer: Any) -> None:
        assert [each.run.state for each in answer] == [State.RUNNING, State.SUSPENDED]
        assert len(woken_of(self.world, "one")) == 1

    def verify_unretried(self) -> None:
        sweep(self.world)
        invariants.check(self.world)
        awaiting.check_nobody_forgotten(self.world, invariants.facts(self.world))


BOTH: dict[str, Any] = {"subscribers": ("ledger", "report"), "waiters": ("one", "two")}

SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "post an event that nobody wants": Posting,
    "post an event that everybody declines": lambda: Posting(subscribers=("report",), where="payload == `1`"),
    "post a large event": lambda: Posting(subscribers=("report",), payload=LARGE),
    "post an event that two wait for": lambda: Posting(waiters=("one", "two"), given_up=True),
    "post an event that some subscribe to and some wait for": lambda: Posting(**BOTH),
    "sweep an event whose poster died": lambda: LeftByItsPoster(**BOTH),
    "sweep an event that nobody wants": LeftByItsPoster,
    "come to wait for an event that was kept": Taken,
}
