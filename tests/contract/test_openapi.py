"""GET /v1/openapi.json: valid, complete, and what the handlers really answer."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema_rs
import pytest

from baton.api import openapi
from baton.api.contract import OPERATIONS
from infra.manifest import FUNCTIONS
from tests.functions.lambdas import Lambdas

DOCUMENT = openapi.document()


def _every(value: Any, key: str) -> list[Any]:
    """All values under ``key``, wherever it stands."""
    if isinstance(value, list):
        return [found for part in value for found in _every(part, key)]
    if not isinstance(value, dict):
        return []
    own = [value[key]] if key in value else []
    return own + [found for part in value.values() for found in _every(part, key)]


def _validator(schema: Any) -> Any:
    whole = {**schema, "components": DOCUMENT["components"]}
    return jsonschema_rs.Draft202012Validator(whole)


def test_it_is_served_with_an_etag(api: Lambdas):
    answer = api.call("GET", "/v1/openapi.json")
    assert answer.json == json.loads(json.dumps(DOCUMENT))
    assert answer.headers["content-type"] == "application/json"
    assert api.call("GET", "/v1/openapi.json", if_none_match=answer.headers["etag"]).status == 304


def test_it_has_each_operation_once():
    described = {
        (method.upper(), path): row["operationId"]
        for path, methods in DOCUMENT["paths"].items()
        for method, row in methods.items()
    }
    assert described == {(row.method, row.path): row.id for row in OPERATIONS}
    assert len(set(described.values())) == len(OPERATIONS)


def test_every_reference_leads_somewhere_and_every_schema_is_one():
    for reference in _every(DOCUMENT, "$ref"):
        root, *steps = reference.split("/")
        assert root == "#"
        found = DOCUMENT
        for step in steps:
            found = found[step]
    schemas = [*_every(DOCUMENT, "schema"), *DOCUMENT["components"]["schemas"].values()]
    for schema in {json.dumps(schema): schema for schema in schemas}.values():
        _validator(schema)


def test_patterns_are_for_any_reader():
    patterns = [found for found in _every(DOCUMENT, "pattern") if isinstance(found, str)]
    assert len(patterns) > 10
    assert not [pattern for pattern in patterns if "\\Z" in pattern or "\\ud800" in pattern]


def test_path_parameters_are_those_of_the_path():
    for path, methods in DOCUMENT["paths"].items():
        for row in methods.values():
            named = [p["name"] for p in row["parameters"] if p["in"] == "path"]
            assert named == re.findall(r"\{(\w+)\}", path)
            assert all("schema" in p for p in row["parameters"])


def test_every_operation_has_a_function_that_the_manifest_deploys():
    assert {row.function for row in OPERATIONS} <= {function.name for function in FUNCTIONS}


@pytest.mark.parametrize("row", OPERATIONS, ids=lambda row: row.id)
def test_what_handlers_answer_is_what_it_says(api: Lambdas, row: Any):
    run = api.start(run_id="the-run", input=[1], tags=["t"])
    api.append(run["id"])
    if row.id in ("deleteRun", "resumeRun"):
        api.finish(run["id"], "failed", resumable=True, error={"message": "m"})
    body = {
        "startRun": {"workflow": "w"},
        "finishRun": {"status": "failed", "error": {"message": "m"}, "code": 1},
        "appendToStream": [{"type": "x"}],
    }.get(row.id)
    described = DOCUMENT["paths"][row.path][row.method.lower()]
    for path in (row.path.replace("{id}", "the-run"), row.path.replace("{id}", "absent")):
        for authorizer in ({"namespace": "*", "role": "admin"}, {}):
            answer = api.call(row.method, path, body, authorizer=authorizer)
            said = described["responses"][str(answer.status)]
            documented = {name.lower() for name in said.get("headers", {})}
            free = {"content-type", "x-content-type-options", "www-authenticate", "retry-after"}
            assert answer.headers.keys() <= documented | free
            if answer.body:
                media = answer.headers["content-type"]
                _validator(said["content"][media]["schema"]).validate(answer.json)


def test_a_conflict_is_described_too(api: Lambdas):
    api.start(run_id="taken")
    answer = api.call("POST", "/v1/runs", {"workflow": "w", "run_id": "taken"})
    said = DOCUMENT["paths"]["/v1/runs"]["post"]["responses"]["409"]
    _validator(said["content"]["application/problem+json"]["schema"]).validate(answer.json)
