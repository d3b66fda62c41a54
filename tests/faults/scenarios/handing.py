"""The hand-off: a run settles owing, a publisher dies, and each subscriber is started once all the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from baton.domain.catalog import Subscription
from baton.domain.payload import canonical
from baton.domain.settlement import DeliveryState
from baton.domain.settling import Finish
from baton.domain.starting import Succession
from baton.domain.states import State
from baton.errors import RunExists
from baton.services.finishes import Finished
from tests.faults import asking, handed, invariants
from tests.faults.crash import Scenario
from tests.faults.world import Container, World

COMPLETED = "run.completed:build"
FAILED = "run.failed:build"
MANY = tuple(f"subscriber-{number:02d}" for number in range(9))


@dataclass
class Owing(Scenario):
    """A finish that owes. Should nobody ever publish it, the sweep does."""

    subscribers: tuple[str, ...] = ("report",)
    warm: bool = True

    def prepare(self, world: World) -> Container:
        for name in self.subscribers:
            handed.register(world, name, Subscription(COMPLETED))
        container = world.container()
        self.run_id = asking.running(container)
        asking.append(world, container, self.run_id, "before")
        return container if self.warm else world.container()

    def act(self, container: Container) -> Finished:
        outcome = asking.an_outcome(output={"n": 1}, key="k")
        return asking.finish(container, self.run_id, outcome)

    def verify(self, answer: Finished) -> None:
        assert answer.finished
        found = invariants.facts(self.world)
        assert handed.owed_or_delivered(found, self.run_id) in (set(self.subscribers), {"?"})


@dataclass
class Publishing(Scenario):
    """A publisher delivers what an ending owes: to one, to many, to who declines, fails, wants much. Whom it
    can't reach stays owed, so it is asked twice."""

    at_once = False
    subscribers: tuple[str, ...] = ("report",)
    where: str | None = None
    input: str | None = None
    output: Any = None
    unresolved: bool = False
    resumed: bool = False
    warm: bool = True
    expected: DeliveryState = DeliveryState.STARTED

    def prepare(self, world: World) -> Container:
        event = FAILED if self.resumed else COMPLETED
        for name in self.subscribers:
            handed.register(world, name, Subscription(event, self.where, self.input))
        container = world.container()
        self.run_id = asking.running(container)
        if self.unresolved:
            handed.hide_catalog(container)
        if self.resumed:
            asking.fail(container, self.run_id)
            asking.resume(container, self.run_id)
        else:
            asking.finish(container, self.run_id, asking.an_outcome(output=self.output))
        publisher = world.container()
        if self.warm:
            publisher.runtime.catalog.snapshot(asking.NAMESPACE)
        return publisher

    def act(self, container: Container) -> Any:
        return asking.publish(container, self.run_id, 1)

    def verify(self, _answer: Any) -> None:
        found = invariants.facts(self.world)
        made = handed.deliveries(found, self.run_id, 1)
        assert {name: each.state for name, each in made.items()} == dict.fromkeys(
            self.subscribers, self.expected
        )


@dataclass
class Both(Scenario):
    """A run that fails, is resumed and completes: both its endings are published, whoever dies over which."""

    at_once = False

    def prepare(self, world: World) -> Container:
        handed.register(world, "report", Subscription(COMPLETED), Subscription(FAILED))
        container = world.container()
        self.run_id = asking.running(container)
        asking.fail(container, self.run_id)
        return world.container()

    def act(self, container: Container) -> Any:
        asking.resume(container, self.run_id, key="again")
        asking.finish(container, self.run_id, asking.an_outcome(key="k"), attempt=2)
        asking.publish(container, self.run_id, 1)
        return asking.publish(container, self.run_id)

    def verify(self, _answer: Any) -> None:
        found = invariants.facts(self.world)
        for attempt in (1, 2):
            made = handed.deliveries(found, self.run_id, attempt)
            assert made["report"].state is DeliveryState.STARTED
        assert len(handed.started_by(found, self.run_id)) == 2


@dataclass
class GoingOn(Scenario):
    """A run continues as a new one, once: both are there, or neither; it publishes no ending."""

    named: bool = False
    input: Any = None
    told_to_stop: bool = False

    def prepare(self, world: World) -> Container:
        handed.register(world, "report", Subscription(COMPLETED))
        container = world.container()
        self.run_id = asking.running(container)
        if self.told_to_stop:
            asking.cancel(container, self.run_id)
        return container

    def act(self, container: Container) -> Any:
        wish = Succession(input=canonical(self.input), run_id="next" if self.named else None)
        command = Finish(outcome=asking.an_outcome(key="k"), succession=wish)
        return container.runtime.finishes.finish(asking.NAMESPACE, self.run_id, command)

    def verify(self, answer: Finished) -> None:
        assert answer.finished
        found = invariants.facts(self.world)
        old = found.runs[self.run_id]
        assert old.continued_as is not None
        new = found.runs[old.continued_as]
        assert (new.continued_from, new.state, new.links.length) == (self.run_id, State.RUNNING, 2)
        assert (new.cancel is not None) == self.told_to_stop
        assert len(found.runs) == 2, "it goes on twice"
        assert not old.settlement.marked
        entries = asking.read(self.world.container(), new.id)
        assert [said.type for said in entries] == ["start", *["cancel"] * self.told_to_stop]

    def verify_once(self) -> None:
        """Nobody else may take the successor's id for theirs."""
        if self.named:
            other = self.world.container()
            run_id = asking.running(other)
            wish = Finish(outcome=asking.an_outcome(), succession=Succession(run_id="next"))
            try:
                other.runtime.finishes.finish(asking.NAMESPACE, run_id, wish)
            except RunExists:
                return
            raise AssertionError("a live run's id was taken")


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "finish owing one": Owing,
    "finish owing one, cold": lambda: Owing(warm=False),
    "finish owing more than a row holds": lambda: Owing(subscribers=MANY),
    "publish": Publishing,
    "publish, cold": lambda: Publishing(warm=False),
    "publish to three": lambda: Publishing(subscribers=("bill", "mail", "report")),
    "publish a large output": lambda: Publishing(output=asking.LARGE),
    "publish to more than a row holds": lambda: Publishing(subscribers=MANY),
    "publish to who declines": lambda: Publishing(
        where="run.state == 'failed'", expected=DeliveryState.DECLINED
    ),
    "publish to whose expression fails": lambda: Publishing(
        input="abs(run.id)", expected=DeliveryState.FAILED
    ),
    "publish what was not resolved": lambda: Publishing(unresolved=True),
    "publish what was not resolved, cold": lambda: Publishing(unresolved=True, warm=False),
    "publish an attempt that was resumed": lambda: Publishing(resumed=True),
    "publish two endings of one run": Both,
    "continue as new": GoingOn,
    "continue as new, under a name": lambda: GoingOn(named=True),
    "continue as new, large input": lambda: GoingOn(input=asking.LARGE),
    "continue as new, told to stop": lambda: GoingOn(told_to_stop=True),
}
