"""Many that come to wait while what they wait for happens, on DynamoDB Local: each is woken once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest

from baton.domain.states import State
from baton.errors import Unavailable
from tests.faults import asking, awaiting, invariants
from tests.faults.races.together import at_once
from tests.faults.scenarios.posting import LARGE

WAITING, EVENTS, ROUNDS = 8, 4, 5
TRIES = 10
TARGET, EVENT = "target", "paid"


def again(act: Callable[[], Any]) -> Any:
    """The answer of a client that repeats itself: a store that is busy says so."""
    for _ in range(TRIES):
        try:
            return act()
        except Unavailable:
            continue
    raise AssertionError("the store is busy for good")


def _woken(found: invariants.Facts, names: list[str]) -> dict[str, int]:
    return {name: len(awaiting.told(found, found.runs[name], "woken")) for name in names}


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_everyone_that_waits_for_a_run_is_woken_by_its_settling(
    world: Any, container: Any, round_: int
) -> None:
    containers = [container() for _ in range(WAITING + 1)]
    names = [f"waiter-{number}" for number in range(WAITING)]
    for name in (TARGET, *names):
        asking.running(containers[0], run_id=name)
    waits = [
        partial(again, partial(asking.suspend, each, name, key=name, run=TARGET))
        for each, name in zip(containers, names, strict=False)
    ]

    def settle() -> None:
        again(partial(asking.finish, containers[-1], TARGET, asking.an_outcome(key="k")))
        again(partial(asking.publish, containers[-1], TARGET))

    at_once([*waits[: WAITING - round_], settle, *waits[WAITING - round_ :]])

    found = invariants.check(world)
    assert _woken(found, names) == dict.fromkeys(names, 1)
    assert {found.runs[name].state for name in names} == {State.RUNNING}
    assert not found.runs[TARGET].settlement.marked
    assert awaiting.waiters_in(found) == []


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_everyone_that_waits_for_an_event_has_one_and_no_event_has_two_endings(
    world: Any, container: Any, round_: int
) -> None:
    containers = [container() for _ in range(WAITING + EVENTS)]
    names = [f"waiter-{number}" for number in range(WAITING)]
    for name in names:
        asking.running(containers[0], run_id=name)
    number = count()
    acts = [
        partial(again, partial(asking.suspend, each, name, key=name, event=EVENT))
        for each, name in zip(containers, names, strict=False)
    ]
    for each in containers[WAITING:]:  # half of them post the same event
        id_ = str(next(number) // 2)
        acts.insert(round_ * 2, partial(again, partial(asking.post, each, EVENT, LARGE, id=id_)))
    at_once(acts)

    found = invariants.check(world)
    woken = _woken(found, names)
    posted = awaiting.events_in(found)
    assert set(woken.values()) <= {0, 1}
    assert sum(woken.values()) == sum(each.woken + each.taken for each in posted.values())
    assert len(posted) == EVENTS // 2
    still = [name for name in names if found.runs[name].state is State.SUSPENDED]
    assert not still or not awaiting.open_in(found), f"{still} wait, and an event is kept for them"
