"""Who pushes a run, who claims it and who ends it, in every order in which their calls can meet: claiming
decides, nobody's word is undone, and what still waits has been told of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from baton.domain.leasing import Claim
from baton.domain.pushing import Answer, Never, Taken
from baton.domain.states import State
from baton.errors import Conflict
from tests.faults import asking, handed, invariants
from tests.faults.interleaving import Failed, Race, explore
from tests.faults.told import TARGET, told_of
from tests.faults.world import NAMESPACE, Container, House, World

Act = Callable[[World, Container], Any]
ID = "mine"
GONE = Never("gone")


def push(_world: World, container: Container) -> Any:
    return container.runtime.pusher.push(NAMESPACE, ID)


def sweep(_world: World, container: Container) -> Any:
    return container.runtime.sweep.run()


def claim(_world: World, container: Container) -> Any:
    command = Claim(worker_id="w1", lease_seconds=60)
    return container.runtime.claims.claim_one(NAMESPACE, ID, command).run


def cancel(_world: World, container: Container) -> Any:
    return asking.cancel(container, ID)


def wait(_world: World, container: Container) -> Any:
    return asking.suspend(container, "waiting", run=ID)


def resume(_world: World, container: Container) -> Any:
    return asking.resume(container, ID, force=True)


@dataclass
class Meeting(Race):
    """Operations that meet on a run that waits to be pushed, to a target that ``says`` so."""

    acts: dict[str, Act]
    says: Answer = Taken()  # noqa: RUF009 - it never changes
    failed: bool = False
    """Its first push has failed before they meet."""

    def prepare(self, world: World) -> dict[str, tuple[Container, Callable[[], Any]]]:
        handed.register(world, asking.WORKFLOW, target=TARGET)
        asking.running(world.container(), run_id=ID)
        asking.running(world.container(), run_id="waiting", workflow="other")
        if self.failed:
            world.target_says = GONE
            push(world, world.container())
        world.target_says = self.says
        containers = {name: world.container() for name in self.acts}
        return {
            name: (containers[name], partial(act, world, containers[name])) for name, act in self.acts.items()
        }

    def verify(self, world: World, results: dict[str, Any]) -> None:
        run = invariants.check(world, as_read=True).runs[ID]
        claimed = results.get("claim")
        if isinstance(claimed, Failed):
            assert isinstance(claimed.error, Conflict)
            assert run.state is State.FAILED
        elif claimed is not None:
            assert (run.state, run.lease) == (State.RUNNING, claimed.lease)
        if "cancel" in results:
            assert run.state is State.CANCELLED or self.says is GONE
        if run.state is State.PENDING:
            world.clock.advance(5)
            world.container().runtime.sweep.run()
            assert run.attempt in told_of(world, ID)
            run = invariants.check(world).runs[ID]
        assert run.state is not State.PENDING or self.says is not GONE


MEETINGS: dict[str, Callable[[], Meeting]] = {
    "push, push": lambda: Meeting({"a": push, "b": push}),
    "push, sweep": lambda: Meeting({"push": push, "sweep": sweep}),
    "push, claim": lambda: Meeting({"push": push, "claim": claim}),
    "push, refused for good, claim": lambda: Meeting({"push": push, "claim": claim}, GONE),
    "push, refused for good, twice": lambda: Meeting({"a": push, "b": push}, GONE),
    "push, cancel": lambda: Meeting({"push": push, "cancel": cancel}),
    "push, refused for good, cancel": lambda: Meeting({"push": push, "cancel": cancel}, GONE),
    "push, another waits for it": lambda: Meeting({"push": push, "wait": wait}),
    "push, refused for good, another waits for it": lambda: Meeting({"push": push, "wait": wait}, GONE),
    "push, resume of one whose push failed": lambda: Meeting({"push": push, "resume": resume}, failed=True),
}


@pytest.mark.parametrize("name", MEETINGS)
def test_in_whatever_order_their_calls_meet_claiming_decides(name: str, house: House) -> None:
    explore(MEETINGS[name], house, changes=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEETINGS)
def test_in_whatever_order_they_change_turns_more_often_too(name: str, house: House) -> None:
    explore(MEETINGS[name], house, changes=3)
