"""What a cold start costs a function beside a bare boto3 client, each in an interpreter of its own.

Everything is compiled before: a deployment has to ship its bytecode, for Lambda can't keep what it compiles.
"""

import base64
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.local.functions import FOLDER
from infra.manifest import FUNCTIONS
from tests.bench.bare import BesideBare
from tests.bench.house import REGION

ALL = tuple(each.name for each in FUNCTIONS)
HOT = ("start", "append", "finish")
HOT_LIMIT = 1.3
ROOT = Path(__file__).parents[2]

_HEAD = "import json, sys, time\nwall, cpu = time.perf_counter(), time.process_time()\n"
_TAIL = "print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]))\n"
_BARE = "import boto3\nboto3.client('dynamodb')\n"
# Whatever a module leaves to its first request, the client at least is made here for both.
_HANDLER = """
import importlib.util
spec = importlib.util.spec_from_file_location("handler", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
"""
_CLIENT = "import baton.bootstrap\nbaton.bootstrap.runtime().dynamo.connection.client\n"
_FUNCTION = _HANDLER + _CLIENT

_STEPS = {
    "botocore": "import botocore.session, botocore.client",
    "msgspec": "import msgspec",
    "itsdangerous": "import itsdangerous",
    "pynamodb": "import pynamodb.connection, pynamodb.models",
    "powertools Logger": "from aws_lambda_powertools import Logger",
    "powertools Metrics": "from aws_lambda_powertools.metrics import EphemeralMetrics",
    "baton": "import baton.bootstrap, baton.api.commands, baton.api.edge, baton.api.signing",
    "the handler and its client": _HANDLER + _CLIENT,
    "(powertools event handler)": "from aws_lambda_powertools.event_handler import APIGatewayHttpResolver",
}
_MARKS = "marks = []\ndef mark():\n    marks.append(time.process_time())\nmark()\n"
_DIFFERENCES = "print(json.dumps([after - before for before, after in zip(marks, marks[1:])]))\n"


@dataclass(frozen=True)
class Imports:
    """All functions beside the bare client, and what each library adds when imported in this order."""

    rounds: int
    bare_wall_ms: float
    bare_cpu_ms: float
    functions: list[BesideBare]
    breakdown_ms: dict[str, float]


def measure(rounds: int, functions: Sequence[str] = ALL) -> Imports:
    """Take turns: the bare client, each function, and again. Ratios are of processor time, which neighbours
    disturb less than they do the clock."""
    with tempfile.TemporaryDirectory() as bytecode:
        interpreter = _Interpreter(bytecode)
        for name in functions:
            interpreter.time(_FUNCTION, name)
        interpreter.time(_BARE)
        return _measure(interpreter, rounds, functions)


def _measure(interpreter: "_Interpreter", rounds: int, functions: Sequence[str]) -> Imports:
    bare: list[tuple[float, float]] = []
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in functions}
    steps: list[list[float]] = []
    for _ in range(rounds):
        bare.append(interpreter.time(_BARE))
        for name in functions:
            taken[name].append(interpreter.time(_FUNCTION, name))
        steps.append(interpreter.steps(HOT[0]))
    return Imports(
        rounds=rounds,
        bare_wall_ms=_middle_ms([wall for wall, _ in bare]),
        bare_cpu_ms=_middle_ms([cpu for _, cpu in bare]),
        functions=[_import(name, taken[name], bare) for name in functions],
        breakdown_ms={
            name: _middle_ms(column) for name, column in zip(_STEPS, zip(*steps, strict=True), strict=True)
        },
    )


def _import(name: str, taken: list[tuple[float, float]], bare: list[tuple[float, float]]) -> BesideBare:
    ratios = [mine / theirs for (_, mine), (_, theirs) in zip(taken, bare, strict=True)]
    return BesideBare(
        function=name,
        wall_ms=_middle_ms([wall for wall, _ in taken]),
        cpu_ms=_middle_ms([cpu for _, cpu in taken]),
        ratio=statistics.median(ratios),
        limit=HOT_LIMIT if name in HOT else None,
    )


def _middle_ms(seconds: Sequence[float]) -> float:
    return statistics.median(seconds) * 1000


class _Interpreter:
    """Runs code in fresh interpreters that share a folder of bytecode."""

    def __init__(self, bytecode: str) -> None:
        dropped = ("AWS_", "BATON_", "PYTHON")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        self._environment = kept | {
            "PYTHONPYCACHEPREFIX": bytecode,
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "BATON_RUNS_TABLE": "runs",
            "BATON_LOG_TABLE": "log",
            "BATON_CATALOG_TABLE": "catalog",
            "BATON_SIGNING_KEYS": base64.b64encode(bytes(32)).decode(),
            "AWS_LAMBDA_FUNCTION_NAME": "bench",
        }

    def time(self, code: str, function: str | None = None) -> tuple[float, float]:
        """Seconds by the clock and of the processor."""
        wall, cpu = self._run(_HEAD + code + _TAIL, function)
        return wall, cpu

    def steps(self, function: str) -> list[float]:
        """Seconds of the processor for each step."""
        steps = "".join(f"{code}\nmark()\n" for code in _STEPS.values())
        return self._run(_HEAD + _MARKS + steps + _DIFFERENCES, function)

    def _run(self, code: str, function: str | None) -> list[float]:
        arguments = [] if function is None else [str(FOLDER / function / "handler.py")]
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env=self._environment,
            cwd=ROOT,
            timeout=60,
        )
        measured: list[float] = json.loads(done.stdout.splitlines()[-1])
        return measured
