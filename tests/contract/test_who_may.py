"""Who may do what: tokens, roles, namespaces. Authorisation comes before everything else."""

from __future__ import annotations

import re
from typing import Any

import pytest

from baton.api.contract import OPERATIONS
from baton.api.operation import Operation
from baton.domain.roles import Role
from tests.functions.lambdas import Lambdas
from tests.unit.house import House

GUARDED = [row for row in OPERATIONS if row.role is not None]


def _as(role: str, namespace: str = "*") -> dict[str, str]:
    return {"namespace": namespace, "role": role, "token_id": "t"}


def _path(row: Operation) -> str:
    return re.sub(r"\{\w+\}", "absent", row.path)


@pytest.mark.parametrize("row", GUARDED, ids=lambda row: row.id)
@pytest.mark.parametrize(
    "nobody", [{}, {"namespace": "", "role": ""}, {"namespace": "a"}, {"namespace": "a", "role": "king"}]
)
def test_who_is_not_known_is_refused_before_anything_is_read(api: Lambdas, row: Operation, nobody: Any):
    answer = api.call(row.method, _path(row), b"not json", authorizer=nobody)
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    if row.method != "HEAD":
        assert answer.slug == "unauthenticated"


@pytest.mark.parametrize("role", list(Role), ids=lambda role: role.name)
@pytest.mark.parametrize("row", GUARDED, ids=lambda row: row.id)
def test_each_role_may_what_the_table_says_and_no_more(api: Lambdas, row: Operation, role: Role):
    answer = api.call(row.method, _path(row), authorizer=_as(role.name.lower()))
    assert row.role is not None
    assert (answer.status == 403) == (role < row.role)


def test_the_role_table_is_that_of_the_contract():
    roles = {row.id: row.role for row in OPERATIONS}
    of_admins = {"createToken", "listTokens", "revokeToken", "listAudit"}
    for row in OPERATIONS:
        if row.method in ("GET", "HEAD") and row.id not in {"health", *of_admins}:
            assert roles[row.id] is Role.VIEWER
    assert roles["health"] is None
    assert {id_ for id_, role in roles.items() if role is Role.ADMIN} == of_admins
    republished = ("republishRun", "republish")
    for id_ in ("deleteRun", "putWorkflow", "deleteWorkflow", "publishEvent", *republished):
        assert roles[id_] is Role.OPERATOR
    held = ("claimRuns", "claimRun", "renewLease", "releaseRun", "putWorker")
    for id_ in ("startRun", "appendToStream", "finishRun", "cancelRun", "resumeRun", "suspendRun", *held):
        assert roles[id_] is Role.DRIVER


@pytest.mark.parametrize("verb", ["cancel", "resume"])
def test_force_is_an_operators(api: Lambdas, verb: str):
    run = api.start()
    path = f"/v1/runs/{run['id']}/{verb}"
    assert api.call("POST", path, {"force": True}, authorizer=_as("driver")).slug == "forbidden"
    assert api.call("POST", path, {"force": False}, authorizer=_as("driver")).status == 200
    assert api.call("POST", path, {"force": True}, authorizer=_as("operator")).status == 200


def test_health_needs_no_token(api: Lambdas):
    answer = api.call("GET", "/v1/health", authorizer={})
    assert (answer.status, answer.json) == (200, {"status": "ok"})


def test_a_token_of_all_namespaces_acts_in_the_one_it_names_and_else_in_default(api: Lambdas):
    assert api.start()["namespace"] == "default"
    answer = api.call("POST", "/v1/runs", {"workflow": "w"}, baton_namespace="other")
    assert answer.json["run"]["namespace"] == "other"


def test_a_token_of_one_namespace_acts_there_named_or_not(api: Lambdas):
    mine = _as("driver", "mine")
    cases: list[dict[str, Any]] = [{}, {"baton_namespace": "mine"}]
    for headers in cases:
        answer = api.call("POST", "/v1/runs", {"workflow": "w"}, authorizer=mine, **headers)
        assert answer.json["run"]["namespace"] == "mine"


def test_a_token_of_one_namespace_may_not_name_another(api: Lambdas):
    answer = api.call("GET", "/v1/runs", authorizer=_as("admin", "mine"), baton_namespace="yours")
    assert answer.slug == "forbidden"


@pytest.mark.parametrize("name", ["A", "-a", "a_b", "a" * 64, "a b", "*", "a\n", "ä"])
def test_a_malformed_namespace_is_refused(api: Lambdas, name: str):
    answer = api.call("GET", "/v1/runs", baton_namespace=name)
    assert answer.slug == "invalid-request"
    assert answer.loc == ["header", "Baton-Namespace"]


def _narrow(*workflows: str) -> dict[str, str]:
    return {"namespace": "*", "role": "driver", "token_id": "t", "workflows": " ".join(workflows)}


@pytest.mark.parametrize(
    ("end", "body"),
    [
        ("stream", {"type": "x"}),
        ("finish", {"status": "completed"}),
        ("cancel", {}),
        ("resume", {}),
        ("suspend", {"event": "e"}),
        ("claim", {"worker_id": "w"}),
        ("renew", {"worker_id": "w", "attempt": 1}),
        ("release", {"worker_id": "w", "attempt": 1}),
    ],
)
def test_a_driver_of_some_workflows_drives_their_runs_alone(api: Lambdas, house: House, end: str, body: Any):
    api.start(run_id="r", workflow="build")
    path, before = f"/v1/runs/r/{end}", house.rows()
    refused = api.call("POST", path, body, authorizer=_narrow("other", "build2", "buil"))
    assert refused.slug == "forbidden"
    assert house.rows() == before
    assert api.call("POST", path, body, authorizer=_narrow("other", "build")).status != 403
    absent = f"/v1/runs/absent/{end}"
    assert api.call("POST", absent, body, authorizer=_narrow("other")).slug == "not-found"
    assert api.call("GET", "/v1/runs/r", authorizer=_narrow("other")).status == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/runs", {"workflow": "build"}),
        ("POST", "/v1/claims", {"worker_id": "w", "workflows": ["other", "build"]}),
        ("PUT", "/v1/workers/w", {"workflows": [{"name": "other"}, {"name": "build"}]}),
    ],
)
def test_nor_does_it_begin_or_serve_others(api: Lambdas, house: House, method: str, path: str, body: Any):
    assert api.call(method, path, body, authorizer=_narrow("other")).slug == "forbidden"
    assert house.rows() == []
    assert api.call(method, path, body, authorizer=_narrow("other", "build")).status in (200, 201)


def test_nor_does_it_take_the_place_of_a_worker_that_serves_others(api: Lambdas, house: House):
    both: Any = {"workflows": [{"name": "build"}, {"name": "other"}]}
    assert api.call("PUT", "/v1/workers/w", both).status == 200
    mine: Any = {"workflows": [{"name": "other"}]}
    before = house.items(house.settings.catalog_table)
    assert api.call("PUT", "/v1/workers/w", mine, authorizer=_narrow("other")).slug == "forbidden"
    assert house.items(house.settings.catalog_table) == before
    assert api.call("PUT", "/v1/workers/mine", mine, authorizer=_narrow("other")).status == 200
    assert api.call("PUT", "/v1/workers/w", mine, authorizer=_narrow("other", "build")).status == 200
    assert api.call("PUT", "/v1/workers/w", both).status == 200
    house.clock.advance(house.settings.worker_memory_seconds)
    assert api.call("PUT", "/v1/workers/w", mine, authorizer=_narrow("other")).status == 200


def test_a_run_goes_on_as_its_like_alone_and_so_within_what_its_driver_may_drive(api: Lambdas):
    api.start(run_id="r", workflow="build")
    body = {"status": "completed", "continue_as_new": {"run_id": "next"}}
    assert api.call("POST", "/v1/runs/r/finish", body, authorizer=_narrow("build")).status == 200
    assert api.call("GET", "/v1/runs/next").json["run"]["workflow"] == "build"


def test_what_starts_a_workflow_is_an_operators_to_announce(api: Lambdas):
    subscribes = [{"event": "run.completed:build"}]
    body = {"workflows": [{"name": "w", "subscribes": subscribes}]}
    assert api.call("PUT", "/v1/workers/w", body, authorizer=_as("driver")).slug == "forbidden"
    assert api.call("GET", "/v1/workflows").json == {"workflows": []}
    assert api.call("PUT", "/v1/workers/w", body, authorizer=_as("operator")).status == 200


def test_a_list_holds_nothing_of_another_namespace(api: Lambdas):
    api.start()
    assert api.call("GET", "/v1/runs", baton_namespace="other").json == {"runs": []}
