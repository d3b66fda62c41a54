"""A handler in the local stack: loaded once, told what Lambda would tell it, called by many at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from aws_lambda_powertools.event_handler.api_gateway import Route

from infra.local.functions import Functions
from infra.local.testing import running_stack
from infra.manifest import FUNCTIONS, function

HANDLER = """
from baton.bootstrap import runtime

given = runtime()
seen = []

def handler(event, context):
    seen.append(context)
    return {"runtime": given, "seen": seen}
"""


@pytest.fixture(scope="module")
def runtime():
    with running_stack(schedules=False) as stack:
        yield stack.runtime


def test_a_handler_is_loaded_once_with_the_runtime_handed_in(runtime, tmp_path):
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "handler.py").write_text(HANDLER)
    functions = Functions([function("sweep")], runtime, tmp_path)
    first, second = (functions.call(function("sweep"), {}, id_) for id_ in ("one", "two"))
    assert first["runtime"] is second["runtime"] is runtime
    assert [context.aws_request_id for context in second["seen"]] == ["one", "two"]


def test_a_handler_is_told_what_lambda_tells(runtime, tmp_path):
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "handler.py").write_text(HANDLER)
    [context] = Functions([function("sweep")], runtime, tmp_path).call(function("sweep"), {}, "id")["seen"]
    assert context.function_name == "baton-local-sweep"
    assert (
        context.invoked_function_arn == "arn:aws:lambda:eu-central-1:000000000000:function:baton-local-sweep"
    )
    assert context.memory_limit_in_mb == function("sweep").memory_mb
    assert 0 < context.get_remaining_time_in_millis() <= function("sweep").timeout_seconds * 1000


def test_many_first_calls_at_once_find_every_route_ready(runtime, monkeypatch):
    functions = Functions(FUNCTIONS, runtime)

    def too_late(*_args, **_more):
        raise AssertionError("a route was built by its first call")

    monkeypatch.setattr(Route, "_build_middleware_stack", too_late)
    together = threading.Barrier(8)

    def health(_):
        together.wait(10)
        context = {"requestId": "id", "stage": "$default", "http": {"method": "GET", "path": "/v1/health"}}
        event = {"routeKey": "GET /v1/health", "rawPath": "/v1/health", "requestContext": context}
        return functions.call(function("meta"), event, "id")["statusCode"]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(health, range(8))) == [200] * 8
