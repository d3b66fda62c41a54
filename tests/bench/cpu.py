"""Processor time of a handler per request, as a ratio to that of the bare calls it contains."""

import gc
from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench import scenes
from tests.bench.house import SkippingClock
from tests.bench.sidebyside import Players, Scene, Theatre, middle
from tests.bench.streaming import PUBLISH

LIMIT = 2.0
TURNS = (1, 4)

TIMES = 6
"""Invocations in a block; of those that take long, FEW."""
FEW = 2

PLAYED: dict[str, tuple[str, Scene]] = {
    "start": ("start", scenes.starting(TIMES)),
    "append 1 KB": ("append", scenes.appending(TIMES, 1)),
    "append 10 KB": ("append", scenes.appending(TIMES, 10)),
    "finish": ("finish", scenes.finishing(TIMES)),
    "get": ("runs", scenes.getting(TIMES)),
    "list, page of 50": ("runs", scenes.listing(FEW)),
    "read at the end": ("stream", scenes.polling(TIMES)),
    "read 100 KB": ("stream", scenes.replaying(FEW, 10)),
    "read 1 MB": ("stream", scenes.replaying(FEW, 100)),
    "cancel": ("control", scenes.cancelling(TIMES)),
    "hand-off to 1": (PUBLISH, scenes.publishing(TIMES)),
    "sweep, nothing due": ("sweep", scenes.sweeping(FEW)),
}


@dataclass(frozen=True)
class Cpu:
    """One operation: microseconds per request, medians over blocks, and the median of the blocks' ratios."""

    operation: str
    function: str
    containers: int
    blocks: int
    calls: float
    handler_us: float
    bare_us: float
    ratio: float

    @property
    def verdict(self) -> str:
        return "ok" if self.ratio <= LIMIT else "over"


def measure(theatre: Theatre, blocks: int, taking_turns: Sequence[int] = TURNS) -> list[Cpu]:
    """Every scene, block by block in turns, so that what disturbs one disturbs all."""
    clock = SkippingClock()
    gc.collect()
    gc.freeze()  # what other parts have left is not looked at while this is measured
    rows = []
    for turns in taking_turns:
        players = Players(theatre.tables, clock, turns)
        taken = {name: [theatre.block(players, scene)] for name, (_, scene) in PLAYED.items()}
        for played in taken.values():
            played.clear()  # the first block warmed up
        for _ in range(blocks):
            for name, (_, scene) in PLAYED.items():
                taken[name].append(theatre.block(players, scene))
        rows += [
            Cpu(
                operation=name,
                function=function,
                containers=turns,
                blocks=blocks,
                calls=middle(taken[name], lambda block: block.calls / block.invocations),
                handler_us=middle(taken[name], lambda block: block.handler.cpu / block.invocations * 1e6),
                bare_us=middle(taken[name], lambda block: block.bare.cpu / block.invocations * 1e6),
                ratio=middle(taken[name], lambda block: block.handler.cpu / block.bare.cpu),
            )
            for name, (function, _) in PLAYED.items()
        ]
    return rows
