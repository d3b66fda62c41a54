"""Whatever the served OpenAPI allows or forbids is thrown at the stack: it answers as the document says."""

from __future__ import annotations

import itertools
import json
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import GenerationMode
from schemathesis.config import SchemathesisConfig
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import positive_data_acceptance, response_schema_conformance

from baton.api import openapi

EXAMPLES = 40
SEED = 20261129
COUNT = itertools.count()
LONGEST_WAIT_SECONDS = 20

BEYOND_SCHEMA = {
    ("query", "next_token"),  # signed
    ("body", "next_token"),
    ("query", "offset"),  # opaque, and of this log
    ("header", "Last-Event-ID"),
    ("header", "Producer-Id"),  # three together or none
    ("header", "Producer-Epoch"),
    ("header", "Producer-Seq"),
    ("header", "Baton-Attempt"),  # required from the second attempt on
    ("body", "available_at"),  # needs another mode
    ("body", "lease_seconds"),  # shorter where the deployment allows it
    ("body", "resumable"),  # and another status
    ("body", "continue_as_new"),  # as well
    ("body", "backoff"),  # the longest pause is no shorter than the first
    ("body", "subscribes"),  # expressions
    ("body", "workflows"),  # what a worker announces: expressions; of a token, a driver's alone
    ("body", "expires_at"),  # still to come
    ("body", "batch"),  # its key is one
    ("body", "target"),  # the ARN of such a resource
    ("path", "name"),
    ("path", "worker_id"),
}
"""What may be wrong with a request that is right by its schema. Types that only Baton writes: see below."""


def _without_tokens(document: dict[str, Any]) -> dict[str, Any]:
    """The local stack asks for no token: who may do what is proved elsewhere."""
    del document["components"]["securitySchemes"]
    for methods in document["paths"].values():
        for operation in methods.values():
            del operation["security"]
    return document


schema = schemathesis.openapi.from_dict(
    _without_tokens(openapi.document()), config=SchemathesisConfig(seed=SEED)
)


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@pytest.mark.schemathesis
def test_answers_are_what_the_document_says(case: Any, http: httpx.Client):
    if beside_the_point(case):
        return
    aim(case, http)
    hurry(case)
    answer = case.call(base_url=str(http.base_url))
    case.validate_response(answer, excluded_checks=excluded(answer))
    if case.meta.generation.mode is GenerationMode.POSITIVE and answer.status_code in (400, 403, 413, 415):
        _beyond_schema(answer.json())


_UNKNOWN = "x-schemathesis-unknown-property"


def beside_the_point(case: Any) -> bool:
    """Whether it is wrong where HTTP ignores what is nobody's, in headers, or the protocol does, in
    parameters."""
    of_protocol = case.operation.label == "GET /v1/runs/{id}/stream"
    return _UNKNOWN in {**(case.headers or {}), **((case.query or {}) if of_protocol else {})}


def excluded(answer: Any) -> list[Any]:
    """What is not asked of an answer."""
    if "text/event-stream" in answer.headers.get("content-type", [""])[0]:
        return [positive_data_acceptance, response_schema_conformance]  # OpenAPI 3.1 has no words for frames
    return [positive_data_acceptance]


def _beyond_schema(problem: dict[str, Any]) -> None:
    if problem["type"] == "urn:baton:forbidden":
        assert "epoch is stale" in problem["detail"]
        return
    for error in problem["errors"]:
        assert tuple(error["loc"][:2]) in BEYOND_SCHEMA or "written by Baton alone" in error["msg"], problem


def aim(case: Any, http: httpx.Client) -> None:
    """Let what is right about a run be about one that is there: open, settled, waiting for a driver."""
    if case.meta.components.get(ParameterLocation.PATH) is None:
        return
    if case.meta.components[ParameterLocation.PATH].mode is not GenerationMode.POSITIVE:
        return
    number = next(COUNT)
    run_id = f"target-{number}"
    mode, settled = (
        _LIVES[number % len(_LIVES)] if not case.operation.label.endswith("/wait") else ("queued", True)
    )
    wish = {
        "workflow": "w",
        "run_id": run_id,
        "mode": mode,
        "input": {"n": 0.1, "x": "x" * (number % 2 * 600)},
    }
    namespace = {"Baton-Namespace": str((case.headers or {}).get("Baton-Namespace", "default"))}
    if http.post("/v1/runs", json=wish, headers=namespace).status_code != 201:
        return  # a namespace that is none
    if settled:
        ending = {"status": "failed", "resumable": number % 2 == 0, "error": {"message": "m"}}
        answer = http.post(
            f"/v1/runs/{run_id}/finish", json=ending, headers={**namespace, "Baton-Attempt": "1"}
        )
        assert answer.status_code == 200
    case.path_parameters["id"] = run_id


def hurry(case: Any) -> None:
    """Claims that would wait for what nobody starts here wait less long."""
    if case.operation.label == "POST /v1/claims" and isinstance(case.body, dict):
        wait = case.body.get("wait_seconds")
        if isinstance(wait, int | float) and 0 < wait <= LONGEST_WAIT_SECONDS:
            case.body["wait_seconds"] = wait / 1000


_LIVES = (("attached", False), ("queued", False), ("attached", True))


def test_the_document_is_served_as_it_is_fuzzed(http: httpx.Client):
    assert http.get("/v1/openapi.json").json() == json.loads(json.dumps(openapi.document()))
