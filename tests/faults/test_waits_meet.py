"""Those that come to wait, those that wake and those that end what waits, in every order in which their calls
can meet: each is woken once, each event counted once, and nobody sleeps on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from baton.domain.states import State
from baton.errors import Conflict
from tests.faults import asking, awaiting, invariants
from tests.faults.interleaving import Failed, Race, explore
from tests.faults.scenarios.waiting import EVENT, TARGET, WAITER, continue_as, run_of, sweep, woken_of
from tests.faults.world import Container, House, World

Act = Callable[[World, Container], Any]
Judge = Callable[[World, dict[str, Any]], None]


@dataclass
class Meeting(Race):
    """Operations that meet, and what must be true once the sweep has been as well."""

    acts: dict[str, Act]
    judge: Judge
    before: Act = lambda _world, container: _both_running(container)

    def prepare(self, world: World) -> dict[str, tuple[Container, Callable[[], Any]]]:
        self.before(world, world.container())
        containers = {name: world.container() for name in self.acts}
        return {
            name: (containers[name], partial(act, world, containers[name])) for name, act in self.acts.items()
        }

    def verify(self, world: World, results: dict[str, Any]) -> None:
        invariants.check(world)
        sweep(world)
        awaiting.check_nobody_forgotten(world, invariants.check(world, as_read=True))
        self.judge(world, results)


def _both_running(container: Container) -> None:
    for run_id in (WAITER, TARGET):
        asking.running(container, run_id=run_id)


def _suspended(**what: Any) -> Act:
    def before(_world: World, container: Container) -> None:
        _both_running(container)
        asking.suspend(container, WAITER, **what)

    return before


def _settled_under_a_waiter(world: World, container: Container) -> None:
    _suspended(run=TARGET)(world, container)
    asking.fail(container, TARGET)


def _continued_under_a_waiter(world: World, container: Container) -> None:
    _suspended(run=TARGET)(world, container)
    continue_as(container, TARGET, "second")


def _target_failed(_world: World, container: Container) -> None:
    _both_running(container)
    asking.fail(container, TARGET)


def _due(world: World, container: Container) -> None:
    _suspended(until=world.clock.now() + 1_000)(world, container)
    world.clock.advance(1)


def _wait(run_id: str = WAITER, **what: Any) -> Act:
    return lambda _world, container: asking.suspend(container, run_id, **what)


def _settle(_world: World, container: Container) -> Any:
    asking.fail(container, TARGET)
    return asking.publish(container, TARGET)


def _continue(_world: World, container: Container) -> Any:
    continue_as(container, TARGET, "second")
    return asking.publish(container, TARGET)


def _publish(_world: World, container: Container) -> Any:
    return asking.publish(container, TARGET)


def _resume(_world: World, container: Container) -> Any:
    return asking.resume(container, TARGET)


def _post(id_: str) -> Act:
    return lambda _world, container: asking.post(container, EVENT, id=id_)


def _finish(_world: World, container: Container) -> Any:
    return asking.finish(container, WAITER, asking.an_outcome(key="k"))


def _cancel(_world: World, container: Container) -> Any:
    return asking.cancel(container, WAITER)


def _append(world: World, container: Container) -> Any:
    return asking.append(world, container, WAITER, "late")


def _sweep(_world: World, container: Container) -> Any:
    return container.runtime.sweep.run()


def _posted(world: World) -> dict[str, Any]:
    """The events, by id."""
    return {id_: each for (_, id_), each in awaiting.events_in(invariants.facts(world)).items()}


def woken_once(world: World, _results: dict[str, Any]) -> None:
    assert run_of(world).state is State.RUNNING
    assert len(woken_of(world)) == 1
    assert awaiting.waiters_in(invariants.facts(world)) == []
    assert not run_of(world, TARGET).settlement.marked


def waits_for_the_next(world: World, _results: dict[str, Any]) -> None:
    """It waits for the run that goes on, and is counted there once."""
    assert run_of(world).state is State.SUSPENDED
    assert woken_of(world) == []
    (waiter,) = awaiting.waiters_in(invariants.facts(world))
    assert waiter.target == "second"
    assert run_of(world, "second").settlement.waiters == 1
    asking.finish(world.container(), "second", asking.an_outcome())
    sweep(world)
    assert len(woken_of(world)) == 1


def woken_now_or_by_the_next_attempt(world: World, results: dict[str, Any]) -> None:
    assert results["resume"].resumed
    if run_of(world).state is State.SUSPENDED:
        asking.fail(world.container(), TARGET, attempt=2)
        sweep(world)
    woken_once(world, results)


def woken_by_the_event(world: World, results: dict[str, Any]) -> None:
    assert run_of(world).state is State.RUNNING
    (why,) = woken_of(world)
    posted = _posted(world)
    assert posted[why["id"]].woken + posted[why["id"]].taken == 1
    for id_ in posted.keys() - {why["id"]}:
        assert posted[id_].kept, "the other has reached somebody"
        assert posted[id_].open
    for name, answer in results.items():
        if name.startswith("post"):
            assert answer.runs_woken + answer.kept == 1, "woke nobody, and is kept for nobody"


def some_woken(world: World, results: dict[str, Any]) -> None:
    """Of two that come to wait, those that were there are woken, the first to come later takes what was kept,
    and the next waits."""
    woken = [run_id for run_id in (WAITER, TARGET) if woken_of(world, run_id)]
    assert woken, "an event was there, and nobody has it"
    posted = _posted(world)["1"]
    assert posted.woken + posted.taken == len(woken)
    assert not posted.open
    assert results["post"].id == "1"


def over_or_woken(world: World, results: dict[str, Any]) -> None:
    """It ended as one of them had it; it was woken before or not at all, and nothing is left of its wait."""
    run = run_of(world)
    assert run.state in (State.COMPLETED, State.CANCELLED, State.RUNNING)
    assert len(woken_of(world)) <= 1
    assert run.wait is None
    if "finish" in results:
        assert results["finish"].finished == (run.state is State.COMPLETED)
    assert awaiting.waiters_in(invariants.facts(world)) == []


def both_wait(world: World, _results: dict[str, Any]) -> None:
    for run_id in (WAITER, TARGET):
        assert run_of(world, run_id).state is State.SUSPENDED
        assert run_of(world, run_id).settlement.waiters == 1


def suspended_once(world: World, results: dict[str, Any]) -> None:
    assert all(answer.run.state is State.SUSPENDED for answer in results.values())
    found = invariants.facts(world)
    assert len(awaiting.told(found, found.runs[WAITER], "suspended")) == 1
    assert run_of(world, TARGET).settlement.waiters == 1


def said_before_or_refused(world: World, results: dict[str, Any]) -> None:
    found = invariants.facts(world)
    said = asking.marks(invariants.entries_of(found, found.runs[WAITER]))
    refused = isinstance(results["append"], Failed)
    assert refused == (said == [])
    assert not refused or isinstance(results["append"].error, Conflict)
    assert run_of(world).state is State.SUSPENDED


ON_RUN, ON_EVENT = {"run": TARGET}, {"event": EVENT}

MEETINGS: dict[str, Callable[[], Meeting]] = {
    "wait, settle": lambda: Meeting({"wait": _wait(**ON_RUN), "settle": _settle}, woken_once),
    "wait, settle, another's publishing": lambda: Meeting(
        {"wait": _wait(**ON_RUN), "settle": _settle, "publish": _publish}, woken_once
    ),
    "wait, resume of what had failed": lambda: Meeting(
        {"wait": _wait(**ON_RUN), "resume": _resume}, woken_now_or_by_the_next_attempt, _target_failed
    ),
    "wait, going on as new": lambda: Meeting(
        {"wait": _wait(**ON_RUN), "continue": _continue}, waits_for_the_next
    ),
    "wait, post": lambda: Meeting({"wait": _wait(**ON_EVENT), "post": _post("1")}, woken_by_the_event),
    "wait, wait, post": lambda: Meeting(
        {"wait": _wait(**ON_EVENT), "other": _wait(TARGET, **ON_EVENT), "post": _post("1")}, some_woken
    ),
    "wait, post, post of another": lambda: Meeting(
        {"wait": _wait(**ON_EVENT), "post 1": _post("1"), "post 2": _post("2")}, woken_by_the_event
    ),
    "one event posted twice": lambda: Meeting(
        {"post": _post("1"), "post again": _post("1")}, woken_by_the_event, _suspended(**ON_EVENT)
    ),
    "two events, one that waits": lambda: Meeting(
        {"post 1": _post("1"), "post 2": _post("2")}, woken_by_the_event, _suspended(**ON_EVENT)
    ),
    "two publishers": lambda: Meeting(
        {"one": _publish, "two": _publish}, woken_once, _settled_under_a_waiter
    ),
    "publishing, resume of what it wakes by": lambda: Meeting(
        {"publish": _publish, "resume": _resume}, woken_now_or_by_the_next_attempt, _settled_under_a_waiter
    ),
    "two publishers of what went on as new": lambda: Meeting(
        {"one": _publish, "two": _publish}, waits_for_the_next, _continued_under_a_waiter
    ),
    "wake, finish": lambda: Meeting(
        {"publish": _publish, "finish": _finish}, over_or_woken, _settled_under_a_waiter
    ),
    "wake, finish, cancel": lambda: Meeting(
        {"publish": _publish, "finish": _finish, "cancel": _cancel}, over_or_woken, _settled_under_a_waiter
    ),
    "post, cancel": lambda: Meeting(
        {"post": _post("1"), "cancel": _cancel}, over_or_woken, _suspended(**ON_EVENT)
    ),
    "the time, cancel": lambda: Meeting({"sweep": _sweep, "cancel": _cancel}, over_or_woken, _due),
    "the time, twice": lambda: Meeting({"one": _sweep, "two": _sweep}, woken_once, _due),
    "two that wait for each other": lambda: Meeting(
        {"a": _wait(run=TARGET), "b": _wait(TARGET, run=WAITER)}, both_wait
    ),
    "the same wait twice": lambda: Meeting(
        {"a": _wait(key="k", **ON_RUN), "b": _wait(key="k", **ON_RUN)}, suspended_once
    ),
    "wait, append": lambda: Meeting({"wait": _wait(**ON_EVENT), "append": _append}, said_before_or_refused),
}


DEEP = ("wait, settle", "wait, post", "two publishers")


@pytest.mark.parametrize("name", MEETINGS)
def test_in_whatever_order_their_calls_meet_each_is_woken_once(name: str, house: House) -> None:
    explore(MEETINGS[name], house, changes=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", DEEP)
def test_in_whatever_order_they_change_turns_more_often_too(name: str, house: House) -> None:
    explore(MEETINGS[name], house, changes=2)
