"""Thirty-two threads append to one run while another finishes it: what was acknowledged is there, once."""

from __future__ import annotations

from itertools import count
from threading import Event
from typing import Any

import pytest

from baton.domain.log import MAX_PRODUCERS, Producer
from baton.errors import RunTerminal
from tests.faults import asking, invariants
from tests.faults.races.together import at_once

THREADS, CONTAINERS = 32, 4
BEFORE_THE_END = 150
"""Appends after which the finish comes in."""


class Speaker:
    """One thread's voice: it appends until the run is over, and every third batch twice."""

    def __init__(
        self,
        world: Any,
        container: Any,
        run_id: str,
        name: str,
        enough: Event,
        stop: Event,
        *,
        producer: bool,
    ) -> None:
        self.acknowledged: list[str] = []
        self._world, self._container, self._run_id = world, container, run_id
        self._name, self._enough, self._stop, self._producer = name, enough, stop, producer

    def speak(self) -> None:
        for seq in count():
            if self._stop.is_set():
                return
            producer = Producer(self._name, 0, seq) if self._producer else None
            mark = f"{self._name} {seq:05d}"
            try:
                done = asking.append(self._world, self._container, self._run_id, mark, producer=producer)
                assert not done.duplicate
                self.acknowledged.append(mark)
                if producer is not None and seq % 3 == 0:
                    again = asking.append(self._world, self._container, self._run_id, mark, producer=producer)
                    assert again.duplicate
            except RunTerminal:
                return
            if len(self._world.said) >= BEFORE_THE_END:
                self._enough.set()


@pytest.mark.parametrize("turn", range(3))
def test_every_acknowledged_append_is_in_the_log_once_and_nothing_follows_the_end(
    world: Any, container: Any, turn: int
) -> None:
    finisher, *containers = [container() for _ in range(CONTAINERS + 1)]
    run_id = asking.running(containers[0])
    enough, stop = Event(), Event()
    speakers = [
        Speaker(world, containers[n % CONTAINERS], run_id, f"s{n}", enough, stop, producer=n < MAX_PRODUCERS)
        for n in range(THREADS)
    ]

    def finish() -> Any:
        try:
            assert enough.wait(60)
            return asking.finish(finisher, run_id, asking.an_outcome(output=turn, key="k"))
        finally:
            stop.set()  # by now they are told that it is over, unless it is not

    *_, finished = at_once([*(speaker.speak for speaker in speakers), finish])

    assert finished.finished
    found = invariants.check(world)
    run = found.runs[run_id]
    said = asking.marks(invariants.entries_of(found, run))
    for speaker in speakers:
        mine = [mark for mark in said if mark.split()[0] == speaker._name]
        assert mine == speaker.acknowledged
    assert run.ending is not None
    assert found.logs[run_id, run.birth][-1].slot == run.ending.seq
