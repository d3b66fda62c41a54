"""What a container of a function is: loaded once, safe under many threads, alive after any answer."""

from __future__ import annotations

import ast
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from infra.manifest import FUNCTIONS
from tests.functions.lambdas import FOLDER, Context, Lambdas, load
from tests.unit.house import House

EVENTS = Path(__file__).parent / "events"


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_every_function_of_the_manifest_loads_with_the_runtime_handed_in(api: Lambdas, function: Any):
    module = load(function.name, api.runtime)
    assert callable(module.handler)
    assert hasattr(module, "stream") == function.streams
    assert module.runtime is api.runtime


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_a_handler_only_parses_calls_and_renders(function: Any):
    tree = ast.parse((FOLDER / function.name / "handler.py").read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert functions
    for node in functions:
        assert node.end_lineno is not None
        assert node.end_lineno - node.lineno <= 15
    assert not [node for node in tree.body if isinstance(node, ast.ClassDef)]


@pytest.mark.parametrize("path", sorted(EVENTS.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_events_are_answered(api: Lambdas, path: Path):
    """Events as API Gateway and EventBridge send them, with the answer each must get."""
    recorded = json.loads(path.read_text())
    for step in recorded["before"]:
        answer = api.call(step["method"], step["path"], step.get("body"))
        assert answer.status < 300
    returned = api.module(recorded["function"]).handler(recorded["event"], Context())
    for name, value in recorded["answer"].items():
        assert returned[name] == value
    if "statusCode" in returned:
        assert returned["headers"]["X-Request-Id"] == recorded["event"]["requestContext"]["requestId"]


def test_many_threads_at_once_each_get_their_own_answer(api: Lambdas):
    """The library keeps the event of the moment where all threads see it; one container serves many here."""
    runs = [api.start(run_id=f"run-{number}", context_ref=f"ref-{number}") for number in range(8)]
    names = [run["id"] for run in runs]
    api.module("runs")
    barrier = threading.Barrier(8)

    def ask(run_id: str) -> list[str]:
        barrier.wait()
        return [api.call("GET", f"/v1/runs/{run_id}").json["run"]["id"] for _ in range(12)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, names))
    assert answers == [[name] * 12 for name in names]


def test_a_container_is_the_same_after_a_refusal(api: Lambdas):
    run = api.start()
    for _ in range(2):
        assert api.call("GET", "/v1/runs/absent").status == 404
        assert api.call("GET", f"/v1/runs/{run['id']}").status == 200


def test_a_body_may_come_in_base64(api: Lambdas):
    event, match = api.event("POST", "/v1/runs", {"workflow": "w", "input": "\u00e9"})
    event["body"], event["isBase64Encoded"] = "eyJ3b3JrZmxvdyI6InciLCJpbnB1dCI6IsOpIn0=", True
    answer = api.module(match.function.name).handler(event, Context())
    assert json.loads(answer["body"])["run"]["input"] == "\u00e9"
    event["body"] = "???"
    assert api.module(match.function.name).handler(event, Context())["statusCode"] == 400


def test_the_sweep_settles_the_silent_and_says_what_it_did(api: Lambdas, house: House):
    run = api.start(inactivity_timeout_seconds=60)
    kept = api.start()
    house.clock.advance(61)
    done = api.module("sweep").handler({"source": "aws.scheduler"}, Context())
    assert {name: count for name, count in done.items() if count} == {"settled": 1}
    assert {"published", "postponed", "failed", "more"} <= set(done)
    swept = api.call("GET", f"/v1/runs/{run['id']}").json["run"]
    assert (swept["state"], swept["resumable"], swept["error"]["type"]) == ("failed", True, "inactivity")
    assert api.call("GET", f"/v1/runs/{kept['id']}").json["run"]["state"] == "running"


def test_a_cancel_is_forced_once_its_grace_is_over(api: Lambdas, house: House):
    run = api.start()
    api.call("POST", f"/v1/runs/{run['id']}/cancel", {"reason": "enough"})
    house.clock.advance(61)
    assert api.module("sweep").handler({}, Context())["settled"] == 1
    assert api.call("GET", f"/v1/runs/{run['id']}").json["run"]["state"] == "cancelled"
