"""What a container is made of before its first request: what its function does, and nothing else."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from baton.bootstrap import Runtime
from baton.services.made_once import MadeOnce
from infra.manifest import FUNCTIONS, Function
from tests.functions.lambdas import FOLDER, load
from tests.unit.house import House

HOT = ("start", "append", "finish")
COLD = re.compile(
    r"baton\.(services|domain|store|outbound)\."
    r"(announcing|choosing|coalescing|delivering|endings|events|expressions|heal|interpreter|permitting"
    r"|publishing|pushing|rehears\w+|republish|stats|sweep\w*|targets|waits|windows|workflows)"
)
"""What only publishers and the schedule need."""
KNOWN = {"baton.domain.events", "baton.store.events"}
"""The runs' own store knows what it writes beside a row."""

SERVICES = {name for name, part in vars(Runtime).items() if isinstance(part, MadeOnce)}


@pytest.mark.parametrize("function", HOT)
def test_a_hot_function_imports_nothing_of_what_only_publishers_need(function: str):
    handler = FOLDER / function / "handler.py"
    code = f"""
import runpy, sys
runpy.run_path({str(handler)!r})
print(*(name for name in sys.modules if name.startswith("baton.")))
"""
    given = {f"BATON_{table}_TABLE": table for table in ("RUNS", "LOG", "CATALOG")}
    given |= {"BATON_SIGNING_KEYS": base64.b64encode(bytes(32)).decode(), "AWS_REGION": "us-east-1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | given, check=True, capture_output=True, text=True
    )
    imported = set(done.stdout.split())
    assert "baton.bootstrap" in imported
    assert {name for name in imported if COLD.fullmatch(name)} <= KNOWN


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_a_handler_makes_its_services_while_it_is_imported(function: Function, house: House):
    """Left to the first request they would take its time, on the little processor that it has."""
    runtime = house.container()
    load(function.name, runtime)
    asked = set(re.findall(r"\bruntime\.(\w+)", (FOLDER / function.name / "handler.py").read_text()))
    assert asked & SERVICES <= vars(runtime).keys()


def test_each_container_has_services_of_its_own(house: House):
    one, other = house.container(), house.container()
    assert one.sweep is one.sweep
    assert one.sweep is not other.sweep
    assert {"starts", "publisher", "sweep"} < SERVICES


def test_who_asks_for_a_service_at_once_gets_the_same(house: House):
    runtime, barrier = house.container(), threading.Barrier(8)

    def ask(_: int) -> object:
        barrier.wait()
        return runtime.sweep

    with ThreadPoolExecutor(8) as threads:
        assert len(set(map(id, threads.map(ask, range(8))))) == 1
