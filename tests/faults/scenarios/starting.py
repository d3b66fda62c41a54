"""Starts: without a key, with one, with an id, with both, over what is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from baton.domain.states import Mode, State
from baton.errors import IdempotencyMismatch, RunExists
from baton.services.runs import Filter
from baton.services.starts import Started
from tests.faults import asking, invariants
from tests.faults.crash import Scenario
from tests.faults.world import Container, World


@dataclass
class Starting(Scenario):
    """A start with a key, and perhaps an id, over whatever `before` left there."""

    given: dict[str, Any]
    input: Any = None
    before: Callable[[World, Container], None] = lambda _world, _container: None
    noted: bool = True
    births: set[str] = field(default_factory=set)

    def prepare(self, world: World) -> Container:
        container = world.container()
        self.before(world, container)
        if self.noted:
            asking.note(container)
        return container

    def act(self, container: Container) -> Started:
        return asking.start(container, self.input, **self.given)

    def verify(self, answer: Started) -> None:
        run = answer.detail.run
        self.births.add(run.birth)
        assert len(self.births) == 1, "one key started two runs"
        assert run.state is (State.PENDING if "mode" in self.given else State.RUNNING)
        assert answer.detail.input == asking.a_start(self.input).input
        assert str(answer.detail.next_offset) == "0000000000000001_00000"
        found = invariants.facts(self.world)
        lives = [row for row in found.runs.values() if not row.expired(self.world.clock.now())]
        assert [row.birth for row in lives] == [run.birth]

    def verify_once(self) -> None:
        """I7: the key with another body is told so, the id without the key is taken. All find the run."""
        stranger = self.world.container()
        with pytest.raises(IdempotencyMismatch):
            asking.start(stranger, "another body", **self.given)
        if "run_id" in self.given:
            with pytest.raises(IdempotencyMismatch):
                asking.start(stranger, self.input, key=self.given["key"])
            with pytest.raises(RunExists):
                asking.start(stranger, self.input, run_id=self.given["run_id"])
            with pytest.raises(RunExists):
                asking.start(stranger, self.input, run_id=self.given["run_id"], key="another")
        assert [asking.get(stranger, run_id).run.birth for run_id in _listed(stranger)] == list(self.births)


@dataclass
class KeylessStart(Scenario):
    """A start that nothing names: its retry may make another run, but each one is whole."""

    def prepare(self, world: World) -> Container:
        return world.container()

    def act(self, container: Container) -> Started:
        return asking.start(container, "x")

    def verify(self, answer: Started) -> None:
        assert answer.started


@dataclass
class NamedStart(Scenario):
    """A start with an id and no key: its retry finds the id taken, by a run that is as it was asked for."""

    births: set[str] = field(default_factory=set)

    def prepare(self, world: World) -> Container:
        return world.container()

    def act(self, container: Container) -> str:
        try:
            return asking.start(container, "x", run_id="mine").detail.run.birth
        except RunExists as taken:
            birth: str = taken.run.birth
            return birth

    def verify(self, answer: str) -> None:
        self.births.add(answer)
        assert len(self.births) == 1

    def verify_once(self) -> None:
        assert _listed(self.world.container()) == ["mine"]


def _listed(container: Container) -> list[str]:
    page = container.runtime.runs.list(asking.NAMESPACE, Filter(), limit=100, after=None)
    return [detail.run.id for detail in page.runs]


def _a_past_life(world: World, container: Container, *, expired: bool, **given: Any) -> None:
    run_id = asking.running(container, "past", **given)
    asking.append(world, container, run_id, "past")
    asking.finish(container, run_id, asking.an_outcome(output="past"))
    if expired:
        world.clock.advance(world.settings.retention_seconds)
    else:
        asking.delete(container, run_id)


def _over(expired: bool = False, **past: Any) -> Callable[[World, Container], None]:
    return partial(_a_past_life, expired=expired, **past)


KEY: dict[str, Any] = {"key": "k"}
BOTH: dict[str, Any] = {"key": "k", "run_id": "mine"}

SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "start with neither": KeylessStart,
    "start with an id": NamedStart,
    "start with a key": lambda: Starting(KEY),
    "start with both": lambda: Starting(BOTH),
    "start with both, the first of its workflow": lambda: Starting(BOTH, noted=False),
    "start with a key and a large input": lambda: Starting(KEY, asking.LARGE),
    "start with both and a large input": lambda: Starting(BOTH, asking.LARGE),
    "start queued": lambda: Starting({**KEY, "mode": Mode.QUEUED}),
    "start with a key over its deleted run": lambda: Starting(KEY, before=_over(key="k")),
    "start with a key over its expired run": lambda: Starting(KEY, before=_over(expired=True, key="k")),
    "start with both over their deleted run": lambda: Starting(BOTH, before=_over(**BOTH)),
    "start with both over their expired run, large": lambda: Starting(
        BOTH, asking.LARGE, before=_over(expired=True, **BOTH)
    ),
    "start with both over a deleted run of the id": lambda: Starting(BOTH, before=_over(run_id="mine")),
    "start with both over a deleted run of the key": lambda: Starting(BOTH, before=_over(key="k")),
    "start with both over the alias of another deleted run": lambda: Starting(
        BOTH, before=_over(key="k", run_id="other")
    ),
    "start with a key over its stale alias": lambda: Starting(KEY, before=_over(key="k", run_id="other")),
    "start with a key over its expired alias": lambda: Starting(
        KEY, before=_over(expired=True, key="k", run_id="other")
    ),
}
