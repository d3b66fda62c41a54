"""PUT /v1/workers/{worker_id}; GET /v1/workers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton.domain.clock import rfc3339
from tests.functions.lambdas import Answer, Context, Lambdas
from tests.unit.house import House
from tests.unit.manual_clock import MIDNIGHT

BUILT = "run.completed:build"
PATH = "/v1/workers/w1"
REPORT = {"name": "report", "subscribes": [{"event": BUILT, "where": "run.output.ok"}, {"event": "nightly"}]}


def _hear(api: Lambdas, *workflows: Any, worker_id: str = "w1", **given: Any) -> Answer:
    """A heartbeat; a plain name is a workflow of which nothing else is said."""
    body = {"workflows": [{"name": each} if isinstance(each, str) else each for each in workflows]}
    headers = {name: given.pop(name) for name in ("authorizer", "baton_namespace") if name in given}
    return api.call("PUT", f"/v1/workers/{worker_id}", {**body, **given}, **headers)


def _as(role: str) -> dict[str, str]:
    return {"namespace": "default", "role": role, "token_id": "t"}


def _listed(api: Lambdas, **headers: Any) -> list[Any]:
    return list(api.call("GET", "/v1/workers", **headers).json["workers"])


def test_a_heartbeat_is_answered_with_how_long_it_holds(api: Lambdas, house: House):
    answer = _hear(api, REPORT, "mail", runtime="python 3.13")
    assert (answer.status, answer.json) == (200, {"ttl_seconds": 60})
    house.clock.advance(15)
    assert _hear(api, REPORT, "mail", runtime="python 3.13").json == answer.json


def test_workers_are_listed_as_they_were_heard_last_while_they_live(api: Lambdas, house: House):
    _hear(api, REPORT, "a/b", runtime="python 3.13")
    house.clock.advance(30)
    _hear(api, "mail", worker_id="w~2:b")
    assert _listed(api) == [
        {
            "worker_id": "w1",
            "runtime": "python 3.13",
            "workflows": ["report", "a/b"],
            "seen_at": rfc3339(MIDNIGHT),
            "expires_at": rfc3339(MIDNIGHT + 60_000),
        },
        {
            "worker_id": "w~2:b",
            "runtime": None,
            "workflows": ["mail"],
            "seen_at": rfc3339(MIDNIGHT + 30_000),
            "expires_at": rfc3339(MIDNIGHT + 90_000),
        },
    ]
    house.clock.advance(30)
    assert [each["worker_id"] for each in _listed(api)] == ["w~2:b"]


def test_the_list_goes_on_where_a_page_ended(api: Lambdas):
    for number in range(5):
        _hear(api, "mail", worker_id=f"w{number}")
    ids: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = api.call("GET", "/v1/workers", query=query).json
        ids += [each["worker_id"] for each in page["workers"]]
        if "next_token" not in page:
            break
        query["next_token"] = page["next_token"]
    assert ids == [f"w{number}" for number in range(5)]
    elsewhere = api.call("GET", "/v1/workers", query=query, baton_namespace="other")
    assert (elsewhere.slug, elsewhere.loc) == ("invalid-request", ["query", "next_token"])
    other_list = api.call("GET", "/v1/workflows", query=query)
    assert (other_list.slug, other_list.loc) == ("invalid-request", ["query", "next_token"])


def test_an_announced_workflow_is_seen_wherever_a_registered_one_is(api: Lambdas):
    _hear(api, REPORT)
    shown = {
        "name": "report",
        "namespace": "default",
        "description": None,
        "target": {"kind": "worker", "arn": None},
        "subscribes": [
            {"event": BUILT, "where": "run.output.ok", "input": None},
            {"event": "nightly", "where": None, "input": None},
        ],
        "batch": None,
        "inactivity_timeout_seconds": None,
        "max_attempts": None,
        "backoff": None,
        "retention_seconds": None,
        "announced": True,
        "created_at": rfc3339(MIDNIGHT),
        "updated_at": rfc3339(MIDNIGHT),
    }
    link = {
        "workflow": "report",
        "event": BUILT,
        "where": "run.output.ok",
        "input": None,
        "batch": None,
        "announced": True,
    }
    assert api.call("GET", "/v1/workflows").json == {"workflows": [shown]}
    detail = api.call("GET", "/v1/workflows/report").json
    assert detail["workflow"] == shown
    assert detail["started_by"][0] == link
    graph = api.call("GET", "/v1/graph").json
    assert graph["workflows"] == [
        {
            "name": "report",
            "description": None,
            "target": {"kind": "worker", "arn": None},
            "batch": None,
            "announced": True,
        }
    ]
    assert graph["edges"][0] == link
    _hear(api, {"name": "build"})
    assert api.call("GET", "/v1/workflows/build").json["starts_on_settle"] == [link]


def test_a_run_of_an_announced_workflow_waits_for_a_worker_which_claims_it(api: Lambdas):
    _hear(api, "report")
    run = api.start(workflow="report")
    assert (run["mode"], run["state"]) == ("queued", "pending")
    claimed = api.call("POST", "/v1/claims", {"worker_id": "w1", "workflows": ["report"]}).json["runs"]
    assert [each["id"] for each in claimed] == [run["id"]]


def test_what_an_operator_puts_outranks_what_workers_announce(api: Lambdas):
    _hear(api, REPORT)
    put = api.call("PUT", "/v1/workflows/report", {"description": "d"})
    assert put.status == 201
    workflow = put.json["workflow"]
    assert [each["event"] for each in workflow["subscribes"]] == [BUILT, "nightly"]
    assert (workflow["target"]["kind"], workflow["announced"]) == ("worker", True)
    put = api.call("PUT", "/v1/workflows/report", {"subscribes": []})
    assert (put.status, put.json["workflow"]["subscribes"]) == (200, [])
    _hear(api, REPORT, worker_id="w2")
    assert api.call("GET", "/v1/workflows/report").json["workflow"]["subscribes"] == []
    assert api.call("DELETE", "/v1/workflows/report").status == 204
    assert api.call("GET", "/v1/workflows/report").slug == "not-found"


# Who may.


@pytest.mark.parametrize("subscribes", [REPORT["subscribes"], []])
def test_to_say_what_starts_a_workflow_takes_an_operator(api: Lambdas, house: House, subscribes: Any):
    served = {"name": "report", "subscribes": subscribes}
    refused = _hear(api, "mail", served, authorizer=_as("driver"))
    assert refused.slug == "forbidden"
    assert "announcing subscriptions needs the role operator" in refused.json["detail"]
    assert house.items(house.settings.catalog_table) == []
    assert _hear(api, "mail", served, authorizer=_as("operator")).status == 200
    assert _hear(api, "mail", served, authorizer=_as("driver")).slug == "forbidden"


def test_to_be_alive_takes_a_driver_and_to_see_who_is_a_viewer(api: Lambdas):
    assert _hear(api, {"name": "report", "subscribes": None}, authorizer=_as("driver")).status == 200
    assert _hear(api, "report", authorizer=_as("viewer")).slug == "forbidden"
    assert len(_listed(api, authorizer=_as("viewer"))) == 1


def test_another_namespace_sees_nothing_of_it(api: Lambdas):
    _hear(api, REPORT)
    other: dict[str, Any] = {"baton_namespace": "other"}
    assert _listed(api, **other) == []
    assert api.call("GET", "/v1/workflows", **other).json == {"workflows": []}
    assert api.call("GET", "/v1/workflows/report", **other).slug == "not-found"
    run = api.call("POST", "/v1/runs", {"workflow": "report"}, **other).json["run"]
    assert run["mode"] == "attached"
    _hear(api, {"name": "report", "subscribes": []}, **other)
    assert len(api.call("GET", "/v1/workflows/report").json["workflow"]["subscribes"]) == 2
    assert [each["workflows"] for each in _listed(api)] == [["report"]]


# What can't be right.

WRONG: list[tuple[Any, list[Any], str]] = [
    ({}, ["body", "workflows"], "required"),
    ({"workflows": []}, ["body", "workflows"], "length >= 1"),
    ({"workflows": [{"name": f"w{at}"} for at in range(129)]}, ["body", "workflows"], "length <= 128"),
    ({"workflows": ["report"]}, ["body", "workflows", 0], "object"),
    ({"workflows": [{}]}, ["body", "workflows", 0, "name"], "required"),
    ({"workflows": [{"name": "__own"}]}, ["body", "workflows", 0, "name"], ""),
    ({"workflows": [{"name": "a"}, {"name": "a"}]}, ["body", "workflows", 1, "name"], "named before"),
    ({"workflows": [{"name": "a", "batch": {}}]}, ["body", "workflows", 0, "batch"], "unknown field"),
    ({"workflows": [{"name": "a"}], "runtime": "x" * 257}, ["body", "runtime"], "length <= 256"),
    ({"workflows": [{"name": "a"}], "runtime": "a\nb"}, ["body", "runtime"], ""),
    ({"workflows": [{"name": "a"}], "id": "w1"}, ["body", "id"], "unknown field"),
    (
        {"workflows": [{"name": "a"}, {"name": "b", "subscribes": [{"event": "run.started:a"}]}]},
        ["body", "workflows", 1, "subscribes", 0, "event"],
        "",
    ),
    (
        {"workflows": [{"name": "a", "subscribes": [{"event": "a"}] * 65}]},
        ["body", "workflows", 0, "subscribes"],
        "length <= 64",
    ),
    (
        {"workflows": [{"name": "a", "subscribes": [{"event": "a"}, {"event": "a", "where": "b == "}]}]},
        ["body", "workflows", 0, "subscribes", 1, "where"],
        "ends too early at character 6",
    ),
]


@pytest.mark.parametrize(("body", "loc", "why"), WRONG, ids=lambda value: str(value)[:40])
def test_what_can_not_be_right_is_refused_before_any_write(
    api: Lambdas, house: House, body: Any, loc: list[Any], why: str
):
    answer = api.call("PUT", PATH, body)
    assert (answer.status, answer.slug, answer.loc) == (400, "invalid-request", loc)
    assert why in answer.json["errors"][0]["msg"]
    assert house.items(house.settings.catalog_table) == []


def test_as_many_workflows_as_may_be_are_announced(api: Lambdas):
    names = [f"w{at:03}" for at in range(128)]
    assert _hear(api, *names).status == 200
    assert _listed(api)[0]["workflows"] == names


@pytest.mark.parametrize("worker_id", ["a%20b", "x" * 129, "%25", "-a", "a%2Fb", "a%0A"])
def test_an_id_that_is_none_is_refused(api: Lambdas, worker_id: str):
    answer = _hear(api, "report", worker_id=worker_id)
    assert (answer.slug, answer.loc) == ("invalid-request", ["path", "worker_id"])


@pytest.mark.parametrize(
    ("parameters", "path"),
    [({"worker_id": "a:b~c"}, "/v1/workers/a:b~c"), (None, "/v1/workers/a%3Ab%7Ec")],
)
def test_an_id_is_understood_however_the_gateway_passes_it_on(
    api: Lambdas, parameters: dict[str, str] | None, path: str
):
    event, match = api.event("PUT", "/v1/workers/a%3Ab~c", {"workflows": [{"name": "report"}]})
    assert match.function.name == "workers"
    event |= {"rawPath": path, "pathParameters": parameters}
    assert json.loads(api.module("workers").handler(event, Context())["body"]) == {"ttl_seconds": 60}
    assert [each["worker_id"] for each in _listed(api)] == ["a:b~c"]


def test_other_methods_are_named(api: Lambdas):
    answer = api.call("DELETE", PATH)
    assert (answer.slug, answer.headers["allow"]) == ("method-not-allowed", "PUT")
