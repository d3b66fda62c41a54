"""Two or three operations on one run, in every order in which their calls can meet: all agree on who won."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from baton.domain.log import Producer
from baton.domain.run import Run
from baton.domain.states import State
from baton.errors import Conflict, IdempotencyMismatch, InFlight, LeaseLost, NotFound, RunExists, RunTerminal
from tests.faults import asking, invariants
from tests.faults.interleaving import Failed, Race, explore
from tests.faults.world import Container, House, World

Act = Callable[[World, Container], Any]
ID = "mine"


@dataclass
class Meeting(Race):
    """Operations that meet on one run, and what must be true of their answers."""

    acts: dict[str, Act]
    judge: Callable[[invariants.Facts, dict[str, Any]], None]
    before: Act = lambda _world, container: asking.running(container, run_id=ID)
    warm: tuple[str, ...] = ()
    """Actors that play in the container which set up, and so remember."""

    def prepare(self, world: World) -> dict[str, tuple[Container, Callable[[], Any]]]:
        first = world.container()
        self.before(world, first)
        containers = {name: first if name in self.warm else world.container() for name in self.acts}
        return {
            name: (containers[name], partial(act, world, containers[name])) for name, act in self.acts.items()
        }

    def verify(self, world: World, results: dict[str, Any]) -> None:
        self.judge(invariants.check(world, as_read=True), results)


def _finish(key: str, **given: Any) -> Act:
    attempt = given.pop("attempt", None)
    outcome = asking.an_outcome(output=key, key=key, **given)
    return lambda _world, container: asking.finish(container, ID, outcome, attempt=attempt)


def _append(mark: str, **given: Any) -> Act:
    return lambda world, container: asking.append(world, container, ID, mark, **given)


def _cancel(**given: Any) -> Act:
    return lambda _world, container: asking.cancel(container, ID, **given)


def _resume(**given: Any) -> Act:
    return lambda _world, container: asking.resume(container, ID, **given)


def _start(*input_: Any, **given: Any) -> Act:
    return lambda _world, container: asking.start(container, *input_, **given)


def _delete(_world: World, container: Container) -> None:
    asking.delete(container, ID, by="token")


def _sweep(_world: World, container: Container) -> Any:
    return container.runtime.sweep.run()


def _failed(_world: World, container: Container) -> None:
    asking.running(container, run_id=ID)
    asking.fail(container, ID)


def _refused(result: Any, *kinds: type[Exception]) -> bool:
    return isinstance(result, Failed) and isinstance(result.error, kinds)


def _stands(run: Run) -> tuple[Any, ...]:
    return run.state, run.attempt, run.ending, run.cancel


def one_finish_wins(found: invariants.Facts, results: dict[str, Any]) -> None:
    run = found.runs[ID]
    assert sorted(answer.finished for answer in results.values()) == [False, True]
    assert all(_stands(answer.detail.run) == _stands(run) for answer in results.values())
    assert len({answer.detail.output for answer in results.values()}) == 1


def finish_against_latch(found: invariants.Facts, results: dict[str, Any]) -> None:
    run, cancelled = found.runs[ID], results["cancel"].run
    assert run.state is State.COMPLETED
    assert results["finish"].finished
    if cancelled.state is State.RUNNING:
        assert run.cancel == cancelled.cancel
    else:
        assert _stands(cancelled) == _stands(run)


def finish_against_force(found: invariants.Facts, results: dict[str, Any]) -> None:
    run = found.runs[ID]
    assert results["finish"].finished == (run.state is State.COMPLETED)
    assert _stands(results["finish"].detail.run) == _stands(run) == _stands(results["cancel"].run)


def append_against_finish(found: invariants.Facts, results: dict[str, Any]) -> None:
    said = asking.marks(invariants.entries_of(found, found.runs[ID]))
    assert results["finish"].finished
    assert _refused(results["append"], RunTerminal) == ("late" not in said)


def both_are_in(found: invariants.Facts, results: dict[str, Any]) -> None:
    said = asking.marks(invariants.entries_of(found, found.runs[ID]))
    assert sorted(said) == ["before", "one", "two"]
    assert {answer.tail.next for answer in results.values()} == {3, 4}


def it_is_in_once(found: invariants.Facts, results: dict[str, Any]) -> None:
    assert asking.marks(invariants.entries_of(found, found.runs[ID])) == ["same"]
    assert [answer.duplicate for answer in results.values()].count(False) == 1


def one_resume_wins(found: invariants.Facts, results: dict[str, Any]) -> None:
    assert found.runs[ID].attempt == 2
    assert [answer.resumed for answer in results.values()].count(True) == 1


def one_request_resumed(found: invariants.Facts, results: dict[str, Any]) -> None:
    assert found.runs[ID].attempt == 2
    assert all(answer.resumed for answer in results.values())


def late_words_are_refused(found: invariants.Facts, results: dict[str, Any]) -> None:
    assert _refused(results["append"], LeaseLost, RunTerminal)
    assert asking.marks(invariants.entries_of(found, found.runs[ID])) == []
    assert results["resume"].resumed


def resume_against_delete(found: invariants.Facts, results: dict[str, Any]) -> None:
    if found.runs[ID].state.terminal:
        assert results["delete"] is None
        assert _refused(results["resume"], NotFound)
    else:
        assert _refused(results["delete"], InFlight)
        assert results["resume"].resumed


def one_run_two_answers(found: invariants.Facts, results: dict[str, Any]) -> None:
    (run,) = found.runs.values()
    assert all(answer.detail.run.birth == run.birth for answer in results.values())
    assert sorted(answer.started for answer in results.values()) == [False, True]


def one_of_two_bodies(found: invariants.Facts, results: dict[str, Any]) -> None:
    assert len(found.runs) == 1
    refused = [answer for answer in results.values() if isinstance(answer, Failed)]
    assert len(refused) == 1
    assert _refused(refused[0], IdempotencyMismatch, RunExists)


def start_against_delete(found: invariants.Facts, results: dict[str, Any]) -> None:
    """The start finds the old run as it was, or makes the new one; it never answers that nothing is there."""
    answer, run = results["start"], found.runs[ID]
    assert results["delete"] is None
    assert answer.started == (run.birth == answer.detail.run.birth and not run.state.terminal)


def sweep_against_append(found: invariants.Facts, results: dict[str, Any]) -> None:
    run = found.runs[ID]
    late = "late" in asking.marks(invariants.entries_of(found, run))
    assert _refused(results["append"], RunTerminal) == (run.state is State.FAILED) == (not late)


def sweep_against_finish(found: invariants.Facts, results: dict[str, Any]) -> None:
    run = found.runs[ID]
    assert run.state in (State.CANCELLED, State.COMPLETED)
    assert results["finish"].finished == (run.state is State.COMPLETED)
    assert _stands(results["finish"].detail.run) == _stands(run)


def three_agree(found: invariants.Facts, results: dict[str, Any]) -> None:
    """Finish, forced cancel and resume at once: what each was told is one moment of one history."""
    run, resumed = found.runs[ID], results["resume"].resumed
    assert run.attempt == 1 + resumed
    finish = results["finish"]
    if isinstance(finish, Failed):
        assert resumed  # its fence, or the want of one, is what the next attempt refuses
    ends = [entry for entry in invariants.entries_of(found, run) if entry.type == "end"]
    assert len(ends) == run.attempt - 1 + run.state.terminal


def old_words_stay_out(found: invariants.Facts, results: dict[str, Any]) -> None:
    """A driver of the past life speaks while the id is deleted and started again."""
    run = found.runs[ID]
    said = asking.marks(invariants.entries_of(found, run))
    assert said in ([], ["late"])
    assert _refused(results["append"], Conflict, NotFound) == (said == [])


def _stale(_world: World, container: Container) -> None:
    asking.running(container, key="k", run_id=ID)
    asking.fail(container, ID)


def _past(world: World, container: Container) -> None:
    _stale(world, container)
    asking.delete(container, ID)
    world.clock.advance(1)


def _silent(world: World, container: Container) -> None:
    asking.running(container, run_id=ID, inactivity_timeout_seconds=60)
    world.clock.advance(61)


def _told(world: World, container: Container) -> None:
    asking.running(container, run_id=ID)
    asking.cancel(container, ID)
    world.clock.advance(61)


def _spoken(world: World, container: Container) -> None:
    asking.running(container, run_id=ID)
    asking.append(world, container, ID, "before")


def _delete_and_start(world: World, container: Container) -> Any:
    asking.delete(container, ID)
    world.clock.advance(1)
    return asking.start(container, run_id=ID)


KEYED = {"key": "k", "run_id": ID}
P0 = Producer("p", 0, 0)

MEETINGS: dict[str, Callable[[], Meeting]] = {
    "finish, finish": lambda: Meeting({"a": _finish("a"), "b": _finish("b")}, one_finish_wins),
    "finish, cancel": lambda: Meeting({"finish": _finish("a"), "cancel": _cancel()}, finish_against_latch),
    "warm finish, cancel": lambda: Meeting(
        {"finish": _finish("a"), "cancel": _cancel()}, finish_against_latch, warm=("finish",)
    ),
    "finish, forced cancel": lambda: Meeting(
        {"finish": _finish("a"), "cancel": _cancel(force=True)}, finish_against_force
    ),
    "append, finish": lambda: Meeting(
        {"append": _append("late"), "finish": _finish("a")}, append_against_finish
    ),
    "warm append, finish": lambda: Meeting(
        {"append": _append("late"), "finish": _finish("a")}, append_against_finish, warm=("append",)
    ),
    "append, warm append": lambda: Meeting(
        {"a": _append("one"), "b": _append("two")}, both_are_in, before=_spoken, warm=("b",)
    ),
    "the same append twice": lambda: Meeting(
        {"a": _append("same", producer=P0), "b": _append("same", producer=P0)}, it_is_in_once, warm=("b",)
    ),
    "resume, resume": lambda: Meeting(
        {"a": _resume(), "b": _resume(key="k")}, one_resume_wins, before=_failed
    ),
    "the same resume twice": lambda: Meeting(
        {"a": _resume(key="k"), "b": _resume(key="k")}, one_request_resumed, before=_failed
    ),
    "resume, late append": lambda: Meeting(
        {"resume": _resume(), "append": _append("late", attempt=1)}, late_words_are_refused, before=_failed
    ),
    "resume, delete": lambda: Meeting(
        {"resume": _resume(), "delete": _delete}, resume_against_delete, before=_failed
    ),
    "the same start twice, by key": lambda: Meeting(
        {"a": _start(key="k"), "b": _start(key="k")}, one_run_two_answers, before=lambda *_: None
    ),
    "the same start twice, by both": lambda: Meeting(
        {"a": _start(**KEYED), "b": _start(**KEYED)}, one_run_two_answers, before=lambda *_: None
    ),
    "the same start twice, over a deleted run": lambda: Meeting(
        {"a": _start("again", **KEYED), "b": _start("again", **KEYED)}, one_run_two_answers, before=_past
    ),
    "one key, two bodies": lambda: Meeting(
        {"a": _start(key="k"), "b": _start(**KEYED)}, one_of_two_bodies, before=lambda *_: None
    ),
    "one key, two ids": lambda: Meeting(
        {"a": _start(**KEYED), "b": _start(key="k", run_id="other")},
        one_of_two_bodies,
        before=lambda *_: None,
    ),
    "one id, two keys": lambda: Meeting(
        {"a": _start(**KEYED), "b": _start(key="l", run_id=ID)}, one_of_two_bodies, before=lambda *_: None
    ),
    "a start repeated, delete": lambda: Meeting(
        {"start": _start(**KEYED), "delete": _delete}, start_against_delete, before=_stale
    ),
    "sweep of a silent run, append": lambda: Meeting(
        {"sweep": _sweep, "append": _append("late")}, sweep_against_append, before=_silent
    ),
    "sweep of a told run, finish": lambda: Meeting(
        {"sweep": _sweep, "finish": _finish("a")}, sweep_against_finish, before=_told
    ),
    "append of a past life, delete and start again": lambda: Meeting(
        {"append": _append("late"), "again": _delete_and_start}, old_words_stay_out, before=_failed
    ),
    "finish, forced cancel, resume": lambda: Meeting(
        {
            "finish": _finish("a", status=State.FAILED, resumable=True),
            "cancel": _cancel(force=True),
            "resume": _resume(force=True),
        },
        three_agree,
    ),
}


@pytest.mark.parametrize("name", MEETINGS)
def test_in_whatever_order_their_calls_meet_the_answers_agree_with_what_is_stored(
    name: str, house: House
) -> None:
    explore(MEETINGS[name], house, changes=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEETINGS)
def test_in_whatever_order_they_change_turns_more_often_too(name: str, house: House) -> None:
    explore(MEETINGS[name], house, changes=5 - len(MEETINGS[name]().acts))
