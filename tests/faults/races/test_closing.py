"""A finish gets through to a run whose appenders never pause."""

from __future__ import annotations

from functools import partial
from threading import Event
from typing import Any

import pytest

from baton.errors import RunTerminal
from tests.faults import asking, invariants
from tests.faults.races.together import at_once


@pytest.mark.parametrize("appenders", [1, 2, 8])
@pytest.mark.parametrize("turn", range(5))
def test_a_finish_gets_through_to_a_busy_log_at_its_first_try(
    world: Any, container: Any, appenders: int, turn: int
) -> None:
    containers = [container() for _ in range(appenders + 1)]
    run_id = asking.running(containers[0])
    busy, stop = Event(), Event()

    def speak(mine: Any) -> None:
        try:
            while not stop.is_set():
                asking.append(world, mine, run_id, "again")
                if len(world.said) > 20:
                    busy.set()
        except RunTerminal:
            return

    def finish() -> Any:
        try:
            assert busy.wait(60)
            return asking.finish(containers[-1], run_id, asking.an_outcome(output=turn, key="k"))
        finally:
            stop.set()

    *_, finished = at_once([*(partial(speak, mine) for mine in containers[:-1]), finish])
    assert finished.finished
    invariants.check(world)
