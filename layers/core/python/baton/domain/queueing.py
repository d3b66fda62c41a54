"""The queue: runs that wait to be claimed, how one comes to wait, and whose turn it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from msgspec.structs import replace

from baton.domain.catalog import Target, TargetKind, Workflow
from baton.domain.clock import Millis
from baton.domain.run import Push, Run
from baton.domain.states import State


class Place(NamedTuple):
    """A run's place in the queue of its workflow."""

    workflow: str
    priority: int
    available_at: Millis
    run_id: str


def pushed_to(registered: Workflow | None) -> Target | None:
    """The target that the queued runs of a workflow, as it is registered, are pushed to; None: they wait for
    whoever claims them."""
    target = None if registered is None else registered.target
    return None if target is None or target.kind is TargetKind.WORKER else target


def to_queue(run: Run, available_at: Millis) -> Run:
    """``run`` as it waits to be claimed from ``available_at`` on, held by nobody.

    One that is pushed to a target is announced to the live publisher, and due when it may be claimed: what
    nobody has pushed by then is the sweep's. A cancel that is latched keeps its time.
    """
    queued = replace(
        run,
        state=State.PENDING,
        available_at=available_at,
        lease=None,
        due_at=run.due_at if run.cancel is not None else None,
    )
    if run.push is None:
        return queued
    due = available_at if queued.due_at is None else min(queued.due_at, available_at)
    return replace(queued, push=Push(), announce=True, due_at=due)


def longest_there(place: Place) -> tuple[Millis, str]:
    """Sorts the places of a workflow by how long they have been available."""
    return place.available_at, place.run_id


def in_turn(
    places: Iterable[Place], served: Mapping[str, int], first: Callable[[Place], Any] = longest_there
) -> list[Place]:
    """``places`` in the order in which they are claimed: by priority; within one, workflows take turns,
    beginning with the one that was served longest ago (``served`` counts up; 0: never); within a workflow by
    ``first``."""
    ordered: list[Place] = []
    by_priority = sorted(places, key=lambda place: -place.priority)
    for _, same in groupby(by_priority, key=lambda place: place.priority):
        lines: dict[str, list[Place]] = {}
        for place in sorted(same, key=first):
            lines.setdefault(place.workflow, []).append(place)
        ordered += _turns(lines, served)
    return ordered


def _turns(lines: Mapping[str, list[Place]], served: Mapping[str, int]) -> list[Place]:
    """One of each line after the other. Lines begin in order of who was served longest ago, then of their
    heads."""
    begin = sorted(lines, key=lambda name: (served.get(name, 0), lines[name][0].available_at))
    turns = [(turn, begin.index(name), place) for name in lines for turn, place in enumerate(lines[name])]
    return [place for _, _, place in sorted(turns, key=lambda each: each[:2])]
