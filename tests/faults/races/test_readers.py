"""Readers that join at any moment, drop and join again: every event reaches each of them once, in order."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from baton.domain.clock import millis
from baton.domain.log import Producer
from tests.faults import asking
from tests.faults.races.together import at_once

WRITERS, READERS, BATCHES = 4, 8, 40
PATIENCE_SECONDS = 60


def _write(world: Any, container: Any, run_id: str, name: str) -> None:
    for seq in range(BATCHES):
        marks = [f"{name} {seq} {index}" for index in range(1 + seq % 5)]
        asking.append(world, container, run_id, *marks, producer=Producer(name, 0, seq))


def _read(container: Any, run_id: str, rng: random.Random) -> list[tuple[int, str]]:
    """All that a reader sees who leaves after a few chunks, ten times, perhaps in the midst of a batch."""
    streams, offset, seen = container.streams, "-1", []
    while True:
        until = container.clock.now() + millis(PATIENCE_SECONDS)
        chunks = rng.randrange(1, 4)
        for chunk in streams.follow(streams.open(asking.NAMESPACE, run_id, offset), until):
            if chunk is None:
                continue
            seen += [(message.seq, message.type) for message in chunk.messages]
            offset = str(chunk.next)
            chunks -= 1
            if chunk.closed:
                return seen
            if not chunks:
                break


@pytest.mark.parametrize("seed", range(3))
def test_a_reader_who_drops_and_rejoins_sees_every_event_once(world: Any, container: Any, seed: int) -> None:
    containers = [container(poll_seconds=0.01) for _ in range(4)]
    run_id = asking.running(containers[0])

    def drive() -> list[tuple[int, str]]:
        at_once([partial(_write, world, containers[n], run_id, f"w{n}") for n in range(WRITERS)])
        asking.finish(containers[0], run_id, asking.an_outcome())
        return []

    rngs = [random.Random(seed * READERS + reader) for reader in range(READERS)]
    readers = [partial(_read, containers[n % 4].runtime, run_id, rngs[n]) for n in range(READERS)]
    _, *seen = at_once([drive, *readers])

    whole = asking.read(containers[0], run_id)
    for messages in seen:
        assert [seq for seq, _ in messages] == list(range(len(whole)))
        assert [type_ for _, type_ in messages] == [entry.type for entry in whole]
