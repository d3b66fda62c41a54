"""PUT, GET, DELETE /v1/workflows; GET /v1/graph."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton.domain.clock import rfc3339
from tests.functions.lambdas import Answer, Context, Lambdas
from tests.unit.house import House
from tests.unit.manual_clock import MIDNIGHT

BUILT = "run.completed:build"
PATH = "/v1/workflows/report"
ARN = "arn:aws:lambda:eu-central-1:123456789012:function:report"

FULL: dict[str, Any] = {
    "description": "Sends the report.",
    "target": {"kind": "lambda", "arn": ARN},
    "subscribes": [
        {"event": BUILT, "where": "run.output.ok", "input": "{id: run.id}"},
        {"event": "nightly", "where": None, "input": None},
    ],
    "batch": {
        "mode": "batch",
        "window_seconds": 60,
        "key": "run.context_ref",
        "max_size": 10,
        "max_wait_seconds": 90.5,
    },
    "inactivity_timeout_seconds": 30,
    "max_attempts": 5,
    "backoff": {"base_seconds": 0.5, "max_seconds": 60},
    "retention_seconds": 86400,
}


def _put(api: Lambdas, name: str = "report", **wish: Any) -> Answer:
    return api.call("PUT", f"/v1/workflows/{name}", wish)


def test_a_workflow_is_answered_as_it_was_put(api: Lambdas):
    answer = _put(api, **FULL)
    assert answer.status == 201
    about = {
        "name": "report",
        "namespace": "default",
        "announced": False,
        "created_at": rfc3339(MIDNIGHT),
        "updated_at": rfc3339(MIDNIGHT),
    }
    assert answer.json == {"workflow": {**FULL, **about}}
    assert b'"window_seconds":60,' in answer.body
    assert api.call("GET", PATH).json["workflow"] == answer.json["workflow"]


def test_what_was_left_out_is_there_and_empty_or_the_default(api: Lambdas):
    workflow = _put(api, batch={"mode": "debounce", "window_seconds": 1.5}).json["workflow"]
    assert set(workflow) == {*FULL, "name", "namespace", "announced", "created_at", "updated_at"}
    assert workflow["batch"] == {
        "mode": "debounce",
        "window_seconds": 1.5,
        "key": None,
        "max_size": 100,
        "max_wait_seconds": 15,
    }
    assert workflow["subscribes"] == []
    settings = ("inactivity_timeout_seconds", "max_attempts", "backoff", "retention_seconds")
    for empty in ("description", "target", *settings):
        assert workflow[empty] is None


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (b"{}", b'{"base_seconds":1,"max_seconds":300}'),
        (b'{"base_seconds":0}', b'{"base_seconds":0,"max_seconds":300}'),
        (b'{"max_seconds":86400.0}', b'{"base_seconds":1,"max_seconds":86400}'),
        (b'{"base_seconds":0.25,"max_seconds":0.25}', b'{"base_seconds":0.25,"max_seconds":0.25}'),
    ],
)
def test_a_backoff_is_shown_with_its_defaults_as_they_apply(api: Lambdas, sent: bytes, shown: bytes):
    answer = api.call("PUT", PATH, b'{"backoff":' + sent + b"}")
    assert b'"backoff":' + shown in answer.body


def test_the_second_put_answers_200_and_replaces_all_of_it(api: Lambdas, house: House):
    _put(api, **FULL)
    house.clock.advance(1)
    answer = _put(api)
    assert answer.status == 200
    assert answer.json["workflow"]["description"] is None
    assert answer.json["workflow"]["created_at"] == rfc3339(MIDNIGHT)
    assert answer.json["workflow"]["updated_at"] == rfc3339(MIDNIGHT + 1000)
    house.clock.advance(1)
    assert _put(api).json == answer.json  # it says the same: nothing was written


def test_a_body_that_is_missing_registers_the_name_alone(api: Lambdas):
    assert api.call("PUT", PATH).status == 201


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({"name": "a/b:c"}, "/v1/workflows/a/b:c"),
        ({"name": "a%2Fb%3Ac"}, "/v1/workflows/a%2Fb%3Ac"),
        (None, "/v1/workflows/a%2Fb%3Ac"),
    ],
)
def test_a_name_is_understood_however_the_gateway_passes_it_on(
    api: Lambdas, parameters: dict[str, str] | None, path: str
):
    assert _put(api, "a%2Fb:c").json["workflow"]["name"] == "a/b:c"
    event, match = api.event("GET", "/v1/workflows/a%2Fb%3Ac")
    assert match.function.name == "workflows"
    event |= {"rawPath": path, "pathParameters": parameters}
    answer = api.module("workflows").handler(event, Context())
    assert json.loads(answer["body"])["workflow"]["name"] == "a/b:c"
    assert api.call("DELETE", "/v1/workflows/a%2Fb:c").status == 204


def test_a_slash_that_came_as_one_is_another_path(api: Lambdas):
    assert api.call("PUT", "/v1/workflows/a/b", {}).slug == "not-found"


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("name", ["absent", "__own", "a%20b", "x" * 129])
def test_what_is_not_registered_is_not_found(api: Lambdas, method: str, name: str):
    assert api.call(method, f"/v1/workflows/{name}").slug == "not-found"


def test_a_deleted_one_is_gone_and_starts_nothing(api: Lambdas):
    _put(api, **FULL)
    _put(api, "build")
    answer = api.call("DELETE", PATH)
    assert (answer.status, answer.body) == (204, b"")
    assert api.call("GET", PATH).slug == "not-found"
    assert api.call("DELETE", PATH).slug == "not-found"
    assert api.call("GET", "/v1/workflows/build").json["starts_on_settle"] == []
    assert _put(api, **FULL).status == 201


def test_a_workflow_comes_with_its_links(api: Lambdas):
    _put(api, **FULL)
    _put(api, "build", subscribes=[{"event": "run.failed:build"}])
    link = {"workflow": "report", **FULL["subscribes"][0], "batch": FULL["batch"], "announced": False}
    again = {
        "workflow": "build",
        "event": "run.failed:build",
        "where": None,
        "input": None,
        "batch": None,
        "announced": False,
    }
    answer = api.call("GET", "/v1/workflows/build").json
    assert answer["starts_on_settle"] == [link, again]
    assert answer["started_by"] == [again]
    report = api.call("GET", PATH).json
    assert [each["event"] for each in report["started_by"]] == [BUILT, "nightly"]
    assert report["starts_on_settle"] == []


def test_the_graph_has_every_workflow_and_every_link(api: Lambdas):
    assert api.call("GET", "/v1/graph").json == {"workflows": [], "edges": []}
    _put(api, **FULL)
    _put(api, "alarm", subscribes=[{"event": "run.failed:unregistered"}])
    graph = api.call("GET", "/v1/graph").json
    assert graph["workflows"] == [
        {"name": "alarm", "description": None, "target": None, "batch": None, "announced": False},
        {
            "name": "report",
            "description": "Sends the report.",
            "target": FULL["target"],
            "batch": FULL["batch"],
            "announced": False,
        },
    ]
    assert [(edge["event"], edge["workflow"]) for edge in graph["edges"]] == [
        ("run.failed:unregistered", "alarm"),
        (BUILT, "report"),
        ("nightly", "report"),
    ]


def test_workflows_are_listed_by_name_to_the_end(api: Lambdas):
    for name in ("c", "a", "b"):
        _put(api, name)
    names: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = api.call("GET", "/v1/workflows", query=query).json
        names += [each["name"] for each in page["workflows"]]
        if "next_token" not in page:
            break
        query["next_token"] = page["next_token"]
    assert names == ["a", "b", "c"]


def test_a_token_of_a_list_is_good_for_no_other(api: Lambdas):
    for name in ("a", "b"):
        _put(api, name)
        api.call("PUT", f"/v1/workflows/{name}", {}, baton_namespace="other")
    token = api.call("GET", "/v1/workflows", query={"limit": 1}).json["next_token"]
    for path, namespace in (("/v1/workflows", "other"), ("/v1/runs", "default")):
        answer = api.call("GET", path, query={"next_token": token}, baton_namespace=namespace)
        assert (answer.slug, answer.loc) == ("invalid-request", ["query", "next_token"])


def test_nothing_of_another_namespace_shows(api: Lambdas):
    _put(api, **FULL)
    foreign: dict[str, Any] = {"baton_namespace": "other"}
    assert api.call("GET", PATH, **foreign).slug == "not-found"
    assert api.call("DELETE", PATH, **foreign).slug == "not-found"
    assert api.call("GET", "/v1/workflows", **foreign).json == {"workflows": []}
    assert api.call("GET", "/v1/graph", **foreign).json == {"workflows": [], "edges": []}


def test_a_start_is_queued_where_a_target_is_registered(api: Lambdas):
    _put(api, target={"kind": "worker"}, max_attempts=7)
    run = api.start(workflow="report")
    assert (run["mode"], run["max_attempts"]) == ("queued", 7)


WRONG: list[tuple[Any, list[Any], str]] = [
    ({"name": "report"}, ["body", "name"], "unknown field"),
    ({"description": "x" * 1025}, ["body", "description"], "length <= 1024"),
    ({"target": {}}, ["body", "target", "kind"], "required"),
    ({"target": {"kind": "cron"}}, ["body", "target", "kind"], "cron"),
    ({"target": {"kind": "worker", "arn": ARN}}, ["body", "target", "arn"], "has none"),
    ({"target": {"kind": "sqs"}}, ["body", "target", "arn"], "required"),
    ({"target": {"kind": "sqs", "arn": ARN}}, ["body", "target", "arn"], "not the ARN"),
    ({"subscribes": {}}, ["body", "subscribes"], "array"),
    ({"subscribes": [{}]}, ["body", "subscribes", 0, "event"], "required"),
    ({"subscribes": [{"event": "run.started:a"}]}, ["body", "subscribes", 0, "event"], ""),
    ({"subscribes": [{"event": "run.failed:__a"}]}, ["body", "subscribes", 0, "event"], ""),
    ({"subscribes": [{"event": "a\n"}]}, ["body", "subscribes", 0, "event"], ""),
    ({"subscribes": [{"event": "a"}] * 65}, ["body", "subscribes"], "length <= 64"),
    ({"subscribes": [{"event": "a", "if": "b"}]}, ["body", "subscribes", 0, "if"], "unknown field"),
    (
        {"subscribes": [{"event": "a"}, {"event": "a", "where": "b == "}]},
        ["body", "subscribes", 1, "where"],
        "ends too early at character 6",
    ),
    (
        {"subscribes": [{"event": "a", "input": "size(@)"}]},
        ["body", "subscribes", 0, "input"],
        "no function size() at character 1",
    ),
    ({"batch": {"window_seconds": 1}}, ["body", "batch", "mode"], "required"),
    ({"batch": {"mode": "batch"}}, ["body", "batch", "window_seconds"], "required"),
    ({"batch": {"mode": "batch", "window_seconds": 0.5}}, ["body", "batch", "window_seconds"], ">= 1"),
    ({"batch": {"mode": "batch", "window_seconds": 86401}}, ["body", "batch", "window_seconds"], "<= 86400"),
    ({"batch": {"mode": "batch", "window_seconds": "1"}}, ["body", "batch", "window_seconds"], "float"),
    (
        {"batch": {"mode": "batch", "window_seconds": 1, "max_size": 0}},
        ["body", "batch", "max_size"],
        ">= 1",
    ),
    (
        {"batch": {"mode": "batch", "window_seconds": 1, "max_size": 1.5}},
        ["body", "batch", "max_size"],
        "int",
    ),
    (
        {"batch": {"mode": "batch", "window_seconds": 1, "max_wait_seconds": 0}},
        ["body", "batch", "max_wait_seconds"],
        ">= 1",
    ),
    ({"batch": {"mode": "batch", "window_seconds": 1, "key": "a["}}, ["body", "batch", "key"], "character 3"),
    ({"backoff": 1}, ["body", "backoff"], "object"),
    ({"backoff": {"factor": 2}}, ["body", "backoff", "factor"], "unknown field"),
    ({"backoff": {"base_seconds": -0.1}}, ["body", "backoff", "base_seconds"], ">= 0"),
    ({"backoff": {"max_seconds": 86400.1}}, ["body", "backoff", "max_seconds"], "<= 86400"),
    ({"backoff": {"base_seconds": 9, "max_seconds": 8}}, ["body", "backoff", "max_seconds"], "which is 9"),
    ({"backoff": {"base_seconds": 301}}, ["body", "backoff", "max_seconds"], "which is 301"),
    ({"inactivity_timeout_seconds": 0.5}, ["body", "inactivity_timeout_seconds"], "at least 1"),
    ({"max_attempts": 101}, ["body", "max_attempts"], "<= 100"),
    ({"retention_seconds": 86399}, ["body", "retention_seconds"], "at least 86400"),
    ([], ["body"], "object"),
]


@pytest.mark.parametrize(("body", "loc", "why"), WRONG, ids=lambda value: str(value)[:40])
def test_what_can_not_be_right_is_refused_before_any_write(
    api: Lambdas, house: House, body: Any, loc: list[Any], why: str
):
    answer = api.call("PUT", PATH, body)
    assert (answer.status, answer.slug, answer.loc) == (400, "invalid-request", loc)
    assert why in answer.json["errors"][0]["msg"]
    assert house.items(house.settings.catalog_table) == []


def test_an_expression_over_its_size_is_too_large(api: Lambdas):
    answer = _put(api, subscribes=[{"event": "a", "where": "a" * 1023}])
    assert (answer.slug, answer.loc) == ("payload-too-large", ["body", "subscribes", 0, "where"])
    assert _put(api, subscribes=[{"event": "a", "where": "a" * 1022}]).status == 201


@pytest.mark.parametrize("name", ["__own", "a%20b", "x" * 129, "%25"])
def test_a_name_that_is_none_can_not_be_registered(api: Lambdas, name: str):
    answer = api.call("PUT", f"/v1/workflows/{name}", {})
    assert (answer.slug, answer.loc) == ("invalid-request", ["path", "name"])


def test_other_media_types_are_refused(api: Lambdas):
    answer = api.call("PUT", PATH, b"a: b", content_type="application/yaml")
    assert answer.slug == "unsupported-media-type"


def test_other_methods_are_named(api: Lambdas):
    answer = api.call("POST", PATH, {})
    assert (answer.slug, answer.headers["allow"]) == ("method-not-allowed", "DELETE, GET, PUT")
