"""What coalescing is asked for, and what became of the inputs."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterable, Set

import msgspec

from baton.domain.catalog import Batch, BatchMode
from baton.domain.payload import canonical, parse
from baton.domain.run import Run, TriggeredBy
from baton.domain.starting import HandOff
from baton.services.coalescing import Joined
from tests.faults import invariants, windows
from tests.faults.windows import Windows, tend
from tests.faults.world import NAMESPACE, Container, World

__all__ = ["NAMESPACE", "tend"]

LONG_SECONDS = 1000
SUBSCRIBER = "report"
BATCH = Batch(mode=BatchMode.BATCH, window_seconds=10)
DEBOUNCE = Batch(mode=BatchMode.DEBOUNCE, window_seconds=10)


def join(
    container: Container, mark: int, batch: Batch = BATCH, *, key: bytes | None = None, size: int = 40
) -> Joined:
    """Hand in the input ``mark``, of about ``size`` bytes that hardly compress."""
    noise = random.Random(mark).randbytes(size * 3 // 4)
    wish = HandOff(
        namespace=NAMESPACE,
        workflow=SUBSCRIBER,
        run_id=f"event {mark}",
        input=canonical({"mark": mark, "text": base64.b64encode(noise).decode()}),
        depth=1,
        triggered_by=TriggeredBy(f"run {mark}", "build", "run.completed:build", 1),
        max_attempts=2,
    )
    return container.runtime.coalescer.join(wish, batch, key)


def note(container: Container) -> None:
    """Let the container know that the catalog names the subscriber."""
    runtime = container.runtime
    runtime.coalescer._context.catalog.note(NAMESPACE, SUBSCRIBER, runtime.clock.now())


def standing(world: World) -> Windows:
    return windows.standing(invariants.facts(world).others)


def drain(world: World) -> None:
    """Let every window be over, fired and cleared away."""
    world.clock.advance(LONG_SECONDS)
    sweeper = world.container()
    while tend(sweeper):
        pass
    assert standing(world).open == []


def marks_by_run(world: World) -> dict[str, list[int]]:
    """The marks in each run's input; every run is as a hand-off makes it."""
    found = invariants.check(world)
    got: dict[str, list[int]] = {}
    for run in found.runs.values():
        assert (run.workflow, run.mode.value, run.depth, run.max_attempts) == (SUBSCRIBER, "queued", 1, 2)
        value = parse(run.input or _first_entry(found, run))
        got[run.id] = [event["mark"] for event in value.get("events", [value])]
        assert run.triggered_by is not None
        assert run.triggered_by.run_id == f"run {got[run.id][-1]}"
    return got


def _first_entry(found: invariants.Facts, run: Run) -> bytes:
    """The input as entry 0 of the log has it."""
    return bytes(msgspec.json.decode(invariants.entries_of(found, run)[0].data, type=_Start).input)


class _Start(msgspec.Struct):
    input: msgspec.Raw


def marks(world: World) -> list[list[int]]:
    """The marks in each run's input, by the first."""
    return sorted(marks_by_run(world).values())


def told(answers: Iterable[tuple[int, Joined]]) -> dict[int, str]:
    """The run that each input was told, however often it was handed in."""
    told_: dict[int, str] = {}
    for mark, answer in answers:
        assert told_.setdefault(mark, answer.run_id) == answer.run_id, f"input {mark} was told two windows"
    return told_


def check_told(world: World, batch: Batch, told_: dict[int, str], *, past: Set[int] = frozenset()) -> None:
    """Once all is drained each run holds those inputs that were told its id, a debounced one the last of
    them; beside them perhaps some that joined it in the ``past``."""
    got = marks_by_run(world)
    assert set(told_.values()) <= got.keys()
    for run_id, marks_ in got.items():
        mine = {mark for mark, told_id in told_.items() if told_id == run_id}
        if batch.mode is BatchMode.DEBOUNCE:
            assert len(marks_) == 1
            assert marks_[0] in mine | past
        else:
            assert len(set(marks_)) == len(marks_)
            assert mine <= set(marks_) <= mine | past
