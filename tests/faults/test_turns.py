"""One container stands still between its look and its write, while others end the life it looked at."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from baton.domain.states import State
from baton.errors import NotFound
from tests.faults import asking, awaiting, invariants
from tests.faults.interleaving import Actor, Failed
from tests.faults.seam import Call
from tests.faults.world import Container, World

ID = "mine"


def _writes(call: Call) -> bool:
    return call.writes


def _another_life(world: World, ends: Callable[[Container], Any]) -> None:
    other = world.container()
    asking.cancel(other, ID, force=True)
    asking.delete(other, ID)
    world.clock.advance(1)
    asking.running(other, run_id=ID)
    ends(other)


ASKED: dict[str, Callable[[World, Container], Any]] = {
    "finish": lambda _world, container: asking.finish(container, ID, asking.an_outcome(key="k")),
    "cancel": lambda _world, container: asking.cancel(container, ID),
    "forced cancel": lambda _world, container: asking.cancel(container, ID, force=True),
    "append": lambda world, container: asking.append(world, container, ID, "late"),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_looked_at_a_life_that_is_over_does_nothing_to_the_next_one(world: World, name: str) -> None:
    asking.running(world.container(), run_id=ID)
    container = world.container()
    asked = Actor(name, container, lambda: ASKED[name](world, container)).until(_writes)

    _another_life(world, lambda _other: None)
    answer = asked.finish()

    assert isinstance(answer, Failed)
    assert isinstance(answer.error, NotFound)
    found = invariants.check(world)
    run = found.runs[ID]
    assert (run.state, run.cancel) == (State.RUNNING, None)
    assert invariants.entries_of(found, run) == []


@pytest.mark.parametrize("name", ["delete", "resume"])
def test_a_settled_life_is_not_taken_for_the_next_one_that_settled_too(world: World, name: str) -> None:
    acts: dict[str, Callable[..., Any]] = {
        "delete": asking.delete,
        "resume": partial(asking.resume, force=True),
    }
    first, container = world.container(), world.container()
    asking.running(first, run_id=ID)
    asking.fail(first, ID)
    asked = Actor(name, container, lambda: acts[name](container, ID)).until(_writes)

    _another_life(world, lambda other: asking.fail(other, ID))
    answer = asked.finish()

    assert isinstance(answer, Failed)
    assert isinstance(answer.error, NotFound)
    run = invariants.check(world).runs[ID]
    assert (run.state, run.attempt) == (State.FAILED, 1)
    assert not invariants.gone(world.container(), asking.NAMESPACE, ID)


def test_who_comes_to_wait_once_an_event_is_recorded_is_not_woken_by_a_slow_repeat_of_its_posting(
    world: World,
) -> None:
    slow = world.container()
    post = Actor("post", slow, lambda: asking.post(slow, "paid", id="1")).until(_looks_who_waits)
    assert asking.post(world.container(), "paid", id="1").kept
    late = world.container()
    late.runtime.waits._taken = lambda _suspended: None  # type: ignore[assignment,method-assign]
    asking.running(late, run_id=ID)
    asking.suspend(late, ID, event="paid")

    answer = post.finish()

    found = invariants.check(world)
    assert found.runs[ID].state is State.SUSPENDED
    assert (answer.kept, answer.woken) == (True, 0)
    world.clock.advance(60)
    world.container().runtime.sweep.run()
    found = invariants.check(world)
    assert found.runs[ID].state is State.RUNNING
    assert awaiting.open_in(found) == set()


def _looks_who_waits(call: Call) -> bool:
    return call.operation == "Query" and "waiter#" in str(call.request)
