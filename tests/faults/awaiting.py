"""What must hold of those that wait and of what they wait for: waiters, events, what was said of both.

I4: the count of waiters at a run is that of the waiters there. Whoever is suspended is found by who can wake
it; an event is open exactly as long as somebody may take it; and each wake is told once.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from baton.domain.events import KEPT_SECONDS, Posted
from baton.domain.handoff import Settled
from baton.domain.run import Run
from baton.domain.states import State
from baton.domain.waiting import Waiter
from baton.store.events import EVENT, OPEN, _posted_of
from baton.store.waiters import WAITER, waiter_of

if TYPE_CHECKING:
    from tests.faults.invariants import Facts
    from tests.faults.world import World

EVENT_PARTITION = "##event#"


def waiters_in(found: Facts) -> list[Waiter]:
    return [waiter_of(raw) for raw in found.others if raw["s"]["S"].startswith(WAITER)]


def events_in(found: Facts) -> dict[tuple[str, str], Posted]:
    """By name and id."""
    posted = [_posted_of(raw) for raw in found.others if raw["s"]["S"].startswith(EVENT)]
    return {(each.name, each.id): each for each in posted}


def open_in(found: Facts) -> set[tuple[str, str]]:
    """The events that somebody may still take, by name and id."""
    return {
        (raw["k"]["S"].split(EVENT_PARTITION)[1], raw["s"]["S"].split("#", 2)[2])
        for raw in found.others
        if EVENT_PARTITION in raw["k"]["S"] and raw["s"]["S"].startswith(OPEN)
    }


def told(found: Facts, run: Run, type_: str) -> list[Any]:
    """What the entries of one type say, in the present life of a run."""
    from tests.faults.invariants import entries_of

    return [msgspec.json.decode(entry.data) for entry in entries_of(found, run) if entry.type == type_]


def check_waits(found: Facts) -> None:
    """What holds at any moment of those that wait."""
    waiters = waiters_in(found)
    at = {(each.run_id, each.wait_id): each for each in waiters}
    assert len(at) == len(waiters), f"one wait is told of twice: {waiters}"
    for run in found.runs.values():
        check_said(found, run)
        assert (run.wait is not None) == (run.state is State.SUSPENDED), run
        if run.wait is None:
            continue
        wait, waiter = run.wait, at.get((run.id, run.wait.id))
        assert [wait.until, wait.run_id, wait.event].count(None) == 2, wait
        assert run.lease is None
        if wait.until is not None:
            assert run.due_at is not None, f"nobody will ever wake {run}"
            assert run.due_at <= wait.until or run.strikes, run
        else:
            assert waiter is not None, f"nobody will ever find {run}"
            assert (waiter.target, waiter.event) == (wait.run_id, wait.event)
    check_counts(found, waiters)


def check_counts(found: Facts, waiters: list[Waiter]) -> None:
    """I4: each run that is at work counts who waits for it; one that has settled counts no fewer."""
    there = Counter((each.target, each.birth, each.attempt) for each in waiters if each.target is not None)
    for run in found.runs.values():
        if not run.state.terminal:
            assert run.settlement.waiters == there[run.id, run.birth, run.attempt], run
    for (target, birth, attempt), count in there.items():
        run = found.runs[str(target)]
        assert run.birth == birth, f"it waits for a past life of {run.id}"
        if attempt == run.attempt and not run.state.terminal:
            continue
        endings = [Settled(run)] if run.ending is not None and not run.ending.apart else []
        endings += [Settled(run, each) for each in found.apart[run.id] if each.birth == birth]
        (ending,) = [each for each in endings if each.attempt == attempt]
        assert ending.settlement.waiters >= count, f"nobody will ever wake who waits for {ending}"


def check_said(found: Facts, run: Run) -> None:
    """A wait begins once, and ends once: with a word, or with the attempt."""
    from tests.faults.invariants import entries_of

    waiting = False
    for entry in entries_of(found, run):
        if entry.type == "suspended":
            assert not waiting, f"{run.id} was suspended twice over"
            waiting = True
        elif entry.type == "woken":
            assert waiting, f"{run.id} was woken and did not wait"
            waiting = False
        elif entry.type == "end":
            waiting = False
        else:
            assert not waiting or entry.type in ("cancel", "closing"), f"{entry.type} of a run that waits"
    assert waiting == (run.state is State.SUSPENDED), run


def check_events(found: Facts) -> None:
    """What holds at any moment of what was posted: it is open as it says, due while anything is left to do,
    and counts each run that it woke."""
    posted, woken = events_in(found), Counter[tuple[str, str]]()
    for run in found.runs.values():
        for why in told(found, run, "woken"):
            if why["kind"] == "event":
                woken[why["event"], why["id"]] += 1
    assert {place for place, each in posted.items() if each.open} == open_in(found)
    for place, each in posted.items():
        assert each.woken + each.taken == woken[place], f"{each} woke {woken[place]}"
        assert (each.due_at is not None) == (each.settlement.holding or not each.looked), each
    assert woken.keys() <= posted.keys()


def check_nobody_forgotten(world: World, found: Facts) -> None:
    """Once all is done: nobody is suspended whose wake was lost."""
    now, posted = world.clock.now(), events_in(found)
    takeable = {name for name, id_ in open_in(found) if _young(posted[name, id_], now)}
    for run in found.runs.values():
        if run.wait is None:
            continue
        assert run.wait.until is None or run.wait.until > now, f"its time has come: {run}"
        assert run.wait.event not in takeable, f"an event is kept for it: {run}"
    for waiter in waiters_in(found):
        if waiter.target is not None:
            target = found.runs[waiter.target]
            assert not target.state.terminal, f"{waiter} waits for what is over"
            assert waiter.attempt == target.attempt
    for each in posted.values():
        assert each.due_at is None, f"never finished: {each}"


def _young(posted: Posted, now: int) -> bool:
    return posted.posted_at + KEPT_SECONDS * 1000 > now
