"""How fast one driver appends and one reader replays, beside the bare puts and queries."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench import scenes
from tests.bench.house import SkippingClock
from tests.bench.material import KB
from tests.bench.sidebyside import Block, Players, Theatre, middle

TURNS = (1, 4)
EVENTS = 10
"""In a batch, 1 KB each."""
APPENDS = 30
BATCHES = 100
REPLAYS = 3


@dataclass(frozen=True)
class Throughput:
    """Events of 1 KB and megabytes per second on this machine, and how much longer it took than the bare
    calls by the clock."""

    operation: str
    containers: int
    blocks: int
    events_per_second: float
    megabytes_per_second: float
    ratio: float


def measure(theatre: Theatre, blocks: int, taking_turns: Sequence[int] = TURNS) -> list[Throughput]:
    """Appends of 10 KB of prose one after the other; reads of a megabyte from its start."""
    clock = SkippingClock()
    rows = []
    for turns in taking_turns:
        players = Players(theatre.tables, clock, turns)
        appending, replaying = scenes.appending(APPENDS, EVENTS), scenes.replaying(REPLAYS, BATCHES, EVENTS)
        appended = [theatre.block(players, appending) for _ in range(blocks)]
        replayed = [theatre.block(players, replaying) for _ in range(blocks)]
        rows.append(_row("append, 10 KB batches", turns, appended, EVENTS))
        rows.append(_row("replay of 1 MB", turns, replayed, EVENTS * BATCHES))
    return rows


def _row(operation: str, turns: int, blocks: list[Block], events: int) -> Throughput:
    speed = middle(blocks, lambda block: block.invocations * events / block.handler.wall)
    return Throughput(
        operation=operation,
        containers=turns,
        blocks=len(blocks),
        events_per_second=speed,
        megabytes_per_second=speed * KB / 1_000_000,
        ratio=middle(blocks, lambda block: block.handler.wall / block.bare.wall),
    )
