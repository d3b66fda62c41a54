"""Workers that meet over a run, the sweep and whoever cancels it, in every order in which their calls can
meet and by clocks that are wrong: one owner writes, and every answer agrees with what is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import pytest

from baton.domain.run import Run
from baton.domain.states import State
from baton.errors import Conflict, LeaseLost, RunTerminal, StreamConflict
from tests.faults import asking, invariants
from tests.faults.interleaving import Actor, Failed, Race, explore
from tests.faults.world import Container, House, World

Act = Callable[[World, Container], Any]
ID, OTHER = "mine", "other"
SKEWS = (-5, 0, 5)
WRONG_CLOCKS = ((-5, 5), (5, -5))
FIRST_LOOK_SECONDS, LAST_LOOK_SECONDS = 50, 90
"""Around the end of a lease of a minute, by whatever clock."""


@dataclass
class Meeting(Race):
    """Operations that meet on a run, and what must be true of their answers."""

    acts: dict[str, Act]
    judge: Callable[[invariants.Facts, dict[str, Any]], None]
    before: Act
    warm: tuple[str, ...] = ()
    """Actors that play in the container of worker w1, and so remember what it said."""
    skews: tuple[float, ...] = field(default=(0, 0))

    def prepare(self, world: World) -> dict[str, tuple[Container, Callable[[], Any]]]:
        first = world.container()
        self.before(world, first)
        containers = {
            name: first if name in self.warm else world.container(skew=skew)
            for name, skew in zip(self.acts, self.skews, strict=True)
        }
        return {
            name: (containers[name], partial(act, world, containers[name])) for name, act in self.acts.items()
        }

    def verify(self, world: World, results: dict[str, Any]) -> None:
        self.judge(invariants.check(world, as_read=True), results)


# What they do


def _claim(worker: str, **given: Any) -> Act:
    return lambda _world, container: [detail.run for detail in asking.claim(container, worker, **given)]


def _claim_one(worker: str) -> Act:
    return lambda _world, container: [asking.claim_one(container, ID, worker).run]


def _sweep(_world: World, container: Container) -> Any:
    return container.runtime.sweep.run()


def _take_over(world: World, container: Container) -> list[Run]:
    """What becomes of a run whose worker is silent: swept, and claimed once it may be."""
    container.runtime.sweep.run()
    run = invariants.facts(world).runs[ID]
    if run.state is not State.PENDING:
        return []
    return [asking.claim_one(_later(world, run), ID, "w2").run]


def _later(world: World, run: Run) -> Container:
    """A container by whose clock the run may be claimed: nobody else's time passes."""
    assert run.available_at is not None
    return world.container(skew=max(0, run.available_at - world.clock.now()) / 1000 + 5)


def _renew(_world: World, container: Container) -> Run:
    return asking.renew(container, ID)


def _release(**how: Any) -> Act:
    return lambda _world, container: asking.release(container, ID, **how).run


def _append(world: World, container: Container) -> Any:
    return asking.append(world, container, ID, "late", attempt=1)


def _finish(_world: World, container: Container) -> Any:
    return asking.finish(container, ID, asking.an_outcome(key="k"), attempt=1)


def _suspend(_world: World, container: Container) -> Any:
    return asking.suspend(container, ID, attempt=1, event="news").run


def _cancel(_world: World, container: Container) -> Run:
    return asking.cancel(container, ID).run


# How it stands before


def _waiting(_world: World, container: Container) -> None:
    asking.queued(container, run_id=ID)


def _two_waiting(world: World, container: Container) -> None:
    for run_id in (ID, OTHER):
        asking.queued(container, run_id=run_id)
        world.clock.advance(0.001)


def _held(world: World, container: Container) -> None:
    _waiting(world, container)
    asking.claim_one(container, ID)
    asking.append(world, container, ID, "before", attempt=1)


def _given_back(world: World, container: Container) -> None:
    _held(world, container)
    asking.release(world.container(), ID)  # in another container: this one goes on remembering


def _silent(world: World, container: Container) -> None:
    _held(world, container)
    world.clock.advance(62)


def _silent_by_any_clock(world: World, container: Container) -> None:
    _held(world, container)
    world.clock.advance(70)


# What must be true


def _refused(result: Any, *kinds: type[Exception]) -> bool:
    return isinstance(result, Failed) and isinstance(result.error, kinds)


def _claimers(results: dict[str, Any]) -> dict[str, list[Run]]:
    return {name: [] if isinstance(got, Failed) else got for name, got in results.items()}


def each_run_has_one_owner(found: invariants.Facts, results: dict[str, Any]) -> None:
    held = [run.id for got in _claimers(results).values() for run in got]
    assert sorted(held) == sorted(found.runs), "one was claimed twice, or not at all"
    for worker, got in _claimers(results).items():
        for run in got:
            assert found.runs[run.id] == run
            assert run.lease is not None and run.lease.worker_id == worker


def both_answers_are_one(found: invariants.Facts, results: dict[str, Any]) -> None:
    for got in results.values():
        assert {run.id: run for run in got} == found.runs


def late_words_come_before_the_successors(found: invariants.Facts, results: dict[str, Any]) -> None:
    run = found.runs[ID]
    entries = [entry.type for entry in invariants.entries_of(found, run)]
    said = "late" in asking.marks(invariants.entries_of(found, run))
    assert _refused(results["append"], LeaseLost, StreamConflict) == (not said)
    if "claimed" in entries:
        assert run.attempt == 2
        assert entries.index("claimed") == len(entries) - 1, "the old owner spoke after its successor began"


def renewed_or_taken_over(found: invariants.Facts, results: dict[str, Any]) -> None:
    run, other = found.runs[ID], results["other"]
    if _refused(results["renew"], LeaseLost):
        assert run.state is State.PENDING or (run.lease is not None and run.lease.worker_id == "w2")
    else:
        assert run.lease is not None
        assert (run.lease.worker_id, run.attempt) == ("w1", 1)
        assert not other or not isinstance(other, list)


def given_back_or_taken_back(found: invariants.Facts, results: dict[str, Any]) -> None:
    """Either way it waits, and is counted as one thing that happened: who comes to give back what was taken
    back already is told."""
    run = found.runs[ID]
    assert run.state is State.PENDING
    assert run.released is not None
    assert run.failures == (run.released.failure is not None)
    assert run.released.ran_out == _refused(results["release"], LeaseLost)
    assert run.released.ran_out or not isinstance(results["release"], Failed)


def one_of_them_ends_the_attempt(found: invariants.Facts, results: dict[str, Any]) -> None:
    run, took = found.runs[ID], _claimers(results)["other"]
    if took:
        assert _refused(results["finish"], LeaseLost)
        assert (run.state, run.attempt) == (State.RUNNING, 2)
    else:
        assert results["finish"].finished
        assert (run.state, run.attempt) == (State.COMPLETED, 1)


def suspended_or_taken_back(found: invariants.Facts, results: dict[str, Any]) -> None:
    run = found.runs[ID]
    assert run.lease is None
    if isinstance(results["suspend"], Failed):
        assert isinstance(results["suspend"].error, Conflict)
        assert run.state is State.PENDING
    else:
        assert run.state is State.SUSPENDED


def ended_or_driven(found: invariants.Facts, results: dict[str, Any]) -> None:
    run, (got,) = found.runs[ID], [_claimers(results)["claim"]]
    assert run.cancel is not None
    if got:
        assert run.state is State.RUNNING
        assert results["cancel"].state is State.RUNNING
    else:
        assert run.state is State.CANCELLED


def told_and_renewed(found: invariants.Facts, results: dict[str, Any]) -> None:
    run = found.runs[ID]
    assert run.cancel is not None
    assert run.state is State.RUNNING
    assert results["renew"].lease == run.lease


def told_or_given_back(found: invariants.Facts, results: dict[str, Any]) -> None:
    assert found.runs[ID].state is State.CANCELLED
    assert not isinstance(results["cancel"], Failed)
    assert not isinstance(results["release"], Failed) or _refused(results["release"], RunTerminal, LeaseLost)


def finished_or_given_back(found: invariants.Facts, results: dict[str, Any]) -> None:
    """A worker that says both: the run is over, whichever came first."""
    assert results["finish"].finished
    assert found.runs[ID].state is State.COMPLETED


MEETINGS: dict[str, Callable[..., Meeting]] = {
    "claim, claim": partial(
        Meeting, {"w1": _claim("w1"), "w2": _claim("w2")}, each_run_has_one_owner, _waiting
    ),
    "claim, claim of what was claimed before": partial(
        Meeting, {"w1": _claim("w1"), "w2": _claim("w2")}, each_run_has_one_owner, _given_back
    ),
    "claim, claim, two runs": partial(
        Meeting, {"w1": _claim("w1"), "w2": _claim("w2")}, each_run_has_one_owner, _two_waiting
    ),
    "claim, claim by id": partial(
        Meeting, {"w1": _claim("w1"), "w2": _claim_one("w2")}, each_run_has_one_owner, _waiting
    ),
    "the same claim twice": partial(
        Meeting,
        {"a": _claim("w1", key="k", most=2), "b": _claim("w1", key="k", most=2)},
        both_answers_are_one,
        _two_waiting,
    ),
    "claim, append of its last owner": partial(
        Meeting,
        {"claim": _claim("w2"), "append": _append},
        late_words_come_before_the_successors,
        _given_back,
    ),
    "claim, warm append of its last owner": partial(
        Meeting,
        {"claim": _claim("w2"), "append": _append},
        late_words_come_before_the_successors,
        _given_back,
        ("append",),
    ),
    "takeover, warm append": partial(
        Meeting,
        {"other": _take_over, "append": _append},
        late_words_come_before_the_successors,
        _silent_by_any_clock,
        ("append",),
    ),
    "takeover, renew": partial(
        Meeting, {"other": _take_over, "renew": _renew}, renewed_or_taken_over, _silent_by_any_clock
    ),
    "takeover, finish": partial(
        Meeting,
        {"other": _take_over, "finish": _finish},
        one_of_them_ends_the_attempt,
        _silent_by_any_clock,
    ),
    "sweep, renew": partial(Meeting, {"other": _sweep, "renew": _renew}, renewed_or_taken_over, _silent),
    "sweep, release": partial(
        Meeting, {"sweep": _sweep, "release": _release()}, given_back_or_taken_back, _silent
    ),
    "sweep, release with a failure": partial(
        Meeting,
        {"sweep": _sweep, "release": _release(error={"message": "m"})},
        given_back_or_taken_back,
        _silent,
    ),
    "sweep, suspend": partial(
        Meeting, {"sweep": _sweep, "suspend": _suspend}, suspended_or_taken_back, _silent_by_any_clock
    ),
    "claim, cancel": partial(Meeting, {"claim": _claim("w1"), "cancel": _cancel}, ended_or_driven, _waiting),
    "claim, cancel, claimed before": partial(
        Meeting, {"claim": _claim("w2"), "cancel": _cancel}, ended_or_driven, _given_back
    ),
    "renew, cancel": partial(Meeting, {"renew": _renew, "cancel": _cancel}, told_and_renewed, _held),
    "release, cancel": partial(
        Meeting, {"release": _release(), "cancel": _cancel}, told_or_given_back, _held
    ),
    "release, finish": partial(
        Meeting, {"release": _release(), "finish": _finish}, finished_or_given_back, _held
    ),
}


@pytest.mark.parametrize("name", MEETINGS)
def test_in_whatever_order_their_calls_meet_one_owner_writes(name: str, house: House) -> None:
    explore(MEETINGS[name], house, changes=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEETINGS)
def test_in_whatever_order_they_change_turns_more_often_too(name: str, house: House) -> None:
    explore(MEETINGS[name], house, changes=3)


@pytest.mark.parametrize("skews", WRONG_CLOCKS, ids=str)
@pytest.mark.parametrize(
    "name", ["takeover, warm append", "takeover, renew", "takeover, finish", "sweep, suspend"]
)
def test_however_wrong_their_clocks_are_one_owner_writes(
    name: str, skews: tuple[float, float], house: House
) -> None:
    explore(partial(MEETINGS[name], skews=skews), house, changes=1)


# An owner that stands still before its write, wakes, and makes it

LATE: dict[str, Act] = {
    "append": _append,
    "renew": _renew,
    "release": _release(),
    "release with a failure": _release(error={"message": "m"}),
    "finish": _finish,
    "suspend": _suspend,
}


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("skews", [(0, 0), *WRONG_CLOCKS], ids=str)
@pytest.mark.parametrize("act", LATE)
def test_a_paused_owner_that_wakes_after_it_was_taken_over_changes_nothing(
    world: World, act: str, skews: tuple[float, float], warm: bool
) -> None:
    owner, successor = (world.container(skew=skew) for skew in skews)
    _held(world, owner)
    if not warm:
        owner = world.container(skew=skews[0])
    paused = Actor("owner", owner, partial(LATE[act], world, owner)).until(lambda call: call.writes)
    world.clock.advance(75)
    successor.runtime.sweep.run()
    world.clock.advance(15)
    [detail] = asking.claim(successor, "w2")
    asking.append(world, successor, ID, "mine", attempt=2)
    before = invariants.check(world)
    assert _refused(paused.finish(), LeaseLost)
    after = invariants.check(world, as_read=True)
    assert (detail.run.attempt, after.runs) == (2, before.runs)
    assert after.logs == before.logs


@pytest.mark.parametrize("skews", list(product(SKEWS, SKEWS)), ids=str)
def test_by_wrong_clocks_a_lease_is_taken_back_some_seconds_off_and_never_two_can_write(
    world: World, skews: tuple[float, float]
) -> None:
    """The margin is less than the clocks are apart: what keeps the first owner from writing is no time."""
    owner, other = (world.container(skew=skew) for skew in skews)
    _held(world, owner)
    world.clock.advance(FIRST_LOOK_SECONDS)
    taken = []
    for _ in range(FIRST_LOOK_SECONDS, LAST_LOOK_SECONDS):
        world.clock.advance(1)
        other.runtime.sweep.run()
        taken = asking.claim(other, "w2")
        if taken:
            break
        asking.append(world, owner, ID, "still mine", attempt=1)
    assert [detail.run.attempt for detail in taken] == [2]
    for act in LATE.values():
        with pytest.raises(LeaseLost):
            act(world, owner)
    asking.append(world, other, ID, "mine now", attempt=2)
    invariants.check(world, as_read=True)
