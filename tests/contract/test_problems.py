"""Every refusal is a problem document, made by a handler, in the order of the contract; 5xx tell nothing."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest

from baton import errors
from baton.api.contract import OPERATIONS
from baton.api.problems import KINDS
from baton.observability import logger
from infra.local.vouching import EVERYONE
from tests.contract.bodies import BODIES
from tests.functions.lambdas import Lambdas


def test_every_error_has_a_status_and_a_title():
    def below(kind: type[errors.BatonError]) -> list[type[errors.BatonError]]:
        return [kind, *(lower for direct in kind.__subclasses__() for lower in below(direct))]

    assert {kind.slug for kind in below(errors.BatonError)} == set(KINDS)


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/nothing", "/v1/runs/a/b/c", "/v1/runs/", "/v1/runs/a/b%2Fc"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_a_path_that_is_none_is_not_found(api: Lambdas, method: str, path: str):
    answer = api.call(method, path, authorizer={})
    assert answer.slug == "not-found"
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize("path", sorted({row.path for row in OPERATIONS}))
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"])
def test_another_method_is_told_which_there_are(api: Lambdas, method: str, path: str):
    allowed = sorted(row.method for row in OPERATIONS if row.path == path)
    if method in allowed:
        return
    answer = api.call(method, path.replace("{id}", "some-run"))
    assert answer.status == 405
    assert answer.headers["allow"] == ", ".join(allowed)
    if method != "HEAD":
        assert answer.slug == "method-not-allowed"


def test_a_log_is_neither_made_nor_deleted_by_hand(api: Lambdas):
    run = api.start()
    for method in ("PUT", "DELETE"):
        answer = api.call(method, f"/v1/runs/{run['id']}/stream")
        assert (answer.slug, answer.headers["allow"]) == ("method-not-allowed", "GET, HEAD, POST")


@pytest.mark.parametrize("row", OPERATIONS, ids=lambda row: row.id)
def test_every_answer_has_the_common_headers(api: Lambdas, row: Any):
    run = api.start()
    for run_id in (run["id"], "absent"):
        answer = api.call(row.method, row.path.replace("{id}", run_id))
        assert answer.headers["x-request-id"].startswith("request-")
        assert answer.headers["x-content-type-options"] == "nosniff"
        tagged = "etag" in answer.headers
        assert answer.headers["cache-control"] == ("private, no-cache" if tagged else "no-store")


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What the service's logger writes meanwhile."""
    [handler] = logger.handlers
    assert isinstance(handler, logging.StreamHandler)
    written = io.StringIO()
    before = handler.setStream(written)
    yield written
    handler.setStream(before)


WITH_A_TOKEN = {"whoami": {"namespace": "default", "role": "viewer", "token_id": "default_aaaaaaaa"}}
"""Who asks, where nothing is looked up of who came without."""
REACHING_THE_STORE = [row for row in OPERATIONS if row.function != "meta"]


@pytest.mark.parametrize("row", REACHING_THE_STORE, ids=lambda row: row.id)
def test_a_fault_of_ours_is_logged_and_told_to_no_one(api: Lambdas, row: Any, logged: io.StringIO):
    quoted = "of what was sent"

    def fault(*_args: Any, **_kwargs: Any) -> Any:
        raise RuntimeError(quoted)

    path = re.sub(r"\{\w+\}", "n", row.path.replace("{token_id}", "default_aaaaaaaa"))
    connection = api.runtime.dynamo.connection
    with patch.object(connection, "dispatch", fault), patch.object(connection, "query", fault):
        answer = api.call(row.method, path, BODIES.get(row.id), authorizer=WITH_A_TOKEN.get(row.id, EVERYONE))
    assert answer.status == 500
    assert quoted.encode() not in answer.body
    [line] = [json.loads(line) for line in logged.getvalue().splitlines()]
    assert (line["level"], line["operation"]) == ("ERROR", row.id)
    assert line["request_id"] == answer.headers["x-request-id"]
    assert line["exception"].endswith("RuntimeError")
    assert quoted not in json.dumps(line)
    if row.method != "HEAD":
        assert answer.slug == "internal"


def test_a_busy_store_is_503_with_the_time_to_come_again(api: Lambdas):
    def busy(*_args: Any, **_kwargs: Any) -> Any:
        raise errors.Unavailable("the store is busy")

    with patch.object(api.runtime.dynamo, "call", busy):
        answer = api.call("POST", "/v1/runs/some-run/cancel")
    assert answer.slug == "unavailable"
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.json["retryable"] is True


def test_a_refusal_about_a_run_shows_it_as_it_is_now(api: Lambdas):
    run = api.start(input={"n": 0.1})
    answer = api.call("DELETE", f"/v1/runs/{run['id']}")
    assert answer.json["run"] == run
    assert answer.json["title"] == KINDS["in-flight"].title


def test_a_refusal_stands_also_when_its_run_cannot_be_shown(api: Lambdas):
    run = api.start()
    with patch.object(type(api.runtime.runs), "get", side_effect=RuntimeError("no right to read")):
        answer = api.call("DELETE", f"/v1/runs/{run['id']}")
    assert answer.slug == "in-flight"
    assert "run" not in answer.json


# The order of refusals.


def test_shape_comes_before_absence(api: Lambdas):
    for path, body, status in (
        ("/v1/runs/absent/finish", {"status": "nope"}, 400),
        ("/v1/runs/absent/finish", {"status": "failed", "output": "x" * 262_144}, 413),
        ("/v1/runs/absent/cancel", {"reason": "x" * 1_024}, 413),
        ("/v1/runs/absent/stream", [{"type": "end"}], 400),
        ("/v1/runs/absent/stream", {"type": "x", "data": "x" * 262_144}, 413),
    ):
        assert api.call("POST", path, body).status == status
    assert api.call("POST", "/v1/runs/absent/finish", b"{}", content_type="text/plain").status == 415
    assert api.call("GET", "/v1/runs/absent/stream", query="offset=x").status == 400
    assert api.call("GET", "/v1/runs/absent/wait", query="timeout_seconds=x").status == 400


def test_shape_comes_before_a_path_that_can_name_no_run(api: Lambdas):
    for verb, body in (("finish", {"status": "nope"}), ("cancel", {"x": 1}), ("stream", {"type": "end"})):
        assert api.call("POST", f"/v1/runs/%20/{verb}", body).status == 400
    assert api.append("%20").status == 404


def test_absence_comes_before_a_missing_fence_and_a_conflict(api: Lambdas):
    assert api.append("absent", baton_attempt="9").status == 404
    assert api.call("POST", "/v1/runs/absent/finish", {"status": "failed"}, baton_attempt="9").status == 404
    assert api.append("absent", {"type": "x"}, content_type="text/plain").status == 404


def test_a_duplicate_comes_before_lost_lease_and_that_before_the_end(api: Lambdas):
    run = api.start()
    mark = {"producer_id": "p", "producer_epoch": "0", "producer_seq": "0"}
    api.append(run["id"], baton_attempt="1", **mark)
    api.finish(run["id"], "failed", resumable=True)
    assert api.append(run["id"], baton_attempt="1", **mark).status == 204
    assert api.append(run["id"], baton_attempt="2", **mark).slug == "lease-lost"
    assert api.append(run["id"], baton_attempt="1").slug == "run-terminal"
    api.call("POST", f"/v1/runs/{run['id']}/resume")
    assert api.append(run["id"], baton_attempt="1", **mark).status == 204
    assert api.append(run["id"], baton_attempt="1").slug == "lease-lost"
    assert api.append(run["id"], **mark).loc == ["header", "Baton-Attempt"]


def test_the_fence_comes_before_the_media_type_of_a_message(api: Lambdas):
    run = api.start()
    api.finish(run["id"], "failed", resumable=True)
    wrong = {"content_type": "text/plain"}
    assert api.append(run["id"], {"type": "x"}, baton_attempt="2", **wrong).slug == "lease-lost"
    assert api.append(run["id"], {"type": "x"}, baton_attempt="1", **wrong).slug == "run-terminal"
    api.call("POST", f"/v1/runs/{run['id']}/resume")
    assert api.append(run["id"], {"type": "x"}, **wrong).loc == ["header", "Baton-Attempt"]
    assert api.append(run["id"], {"type": "x"}, baton_attempt="2", **wrong).slug == "stream-conflict"


def test_the_end_comes_before_what_is_wrong_with_a_sequence(api: Lambdas):
    run = api.start()
    api.append(run["id"], stream_seq="b")
    api.finish(run["id"])
    mark = {"producer_id": "p", "producer_epoch": "0", "producer_seq": "7"}
    assert api.append(run["id"], stream_seq="a").slug == "run-terminal"
    assert api.append(run["id"], **mark).slug == "run-terminal"
    assert api.append(run["id"], {"type": "x"}, content_type="text/plain").slug == "run-terminal"
