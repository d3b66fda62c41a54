"""Cold starts as a caller meets them, from a container's start to its first answer: what is deployed, booted
as Lambda does it, beside a bare handler that has made boto3's client."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from infra.manifest import FUNCTIONS
from infra.packages.build import build
from infra.packages.layout import function_dir
from tests.bench.bare import BesideBare
from tests.infra.packages.container import booted
from tests.infra.packages.deployment import Deployment, Recorded, lambdas_own, recorded
from tests.infra.packages.image import Image, unpack

ALL = tuple(each.name for each in FUNCTIONS)
HOT = ("start", "append", "finish")
HOT_LIMIT = 1.3

BARE = """
import boto3
client = boto3.client("dynamodb")

def handler(event, context):
    return {"statusCode": 204}
"""


class Taken(NamedTuple):
    """Seconds by the clock, and of the processor."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class ColdStarts:
    """All functions beside the bare handler; ``python`` is what they ran on."""

    python: str
    rounds: int
    bare_wall_ms: float
    bare_cpu_ms: float
    functions: list[BesideBare]


def measure_built(endpoint: str, rounds: int, functions: Sequence[str] = ALL) -> ColdStarts:
    """Build what is missing or stale, unpack it, and measure."""
    build()
    with tempfile.TemporaryDirectory() as folder:
        return measure(endpoint, unpack(Path(folder)), rounds, functions)


def measure(endpoint: str, image: Image, rounds: int, functions: Sequence[str] = ALL) -> ColdStarts:
    """Take turns: the bare handler, each function, and again. Ratios are of processor time, which neighbours
    disturb less than they do the clock. A function's first answer takes its requests to DynamoDB, too."""
    events = {each.function: each for each in recorded()}
    bare: list[Taken] = []
    taken: dict[str, list[Taken]] = {name: [] for name in functions}
    with tempfile.TemporaryDirectory() as folder:
        task = Path(folder) / "bare"
        task.mkdir()
        (task / "handler.py").write_text(BARE)
        for _ in range(rounds):
            bare.append(_bare(image, task))
            for name in functions:
                taken[name].append(_first_answer(endpoint, image, events[name]))
    return ColdStarts(
        python=image.interpreter.platform.python,
        rounds=rounds,
        bare_wall_ms=_middle_ms([each.wall for each in bare]),
        bare_cpu_ms=_middle_ms([each.cpu for each in bare]),
        functions=[_cold_start(name, taken[name], bare) for name in functions],
    )


def _bare(image: Image, task: Path) -> Taken:
    with booted(image, task, environment=lambdas_own(), layers=False) as container:
        answer = container.answer({})
    return Taken(answer.at - container.started, container.cpu_seconds)


def _first_answer(endpoint: str, image: Image, given: Recorded) -> Taken:
    deployment = Deployment(endpoint, given.before)
    task = function_dir(given.function)
    with booted(image, task, environment=deployment.environment) as container:
        answer = container.answer(given.event)
    return Taken(answer.at - container.started, container.cpu_seconds)


def _cold_start(name: str, taken: Sequence[Taken], bare: Sequence[Taken]) -> BesideBare:
    return BesideBare(
        function=name,
        wall_ms=_middle_ms([each.wall for each in taken]),
        cpu_ms=_middle_ms([each.cpu for each in taken]),
        ratio=statistics.median(mine.cpu / theirs.cpu for mine, theirs in zip(taken, bare, strict=True)),
        limit=HOT_LIMIT if name in HOT else None,
    )


def _middle_ms(seconds: Sequence[float]) -> float:
    return statistics.median(seconds) * 1000
