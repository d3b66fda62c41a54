"""Who may do what: tokens, roles, namespaces. Authorisation comes before everything else."""

from __future__ import annotations

import re
from typing import Any

import pytest

from baton.api.contract import OPERATIONS
from baton.api.operation import Operation
from baton.domain.roles import Role
from tests.functions.lambdas import Lambdas

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
    for row in OPERATIONS:
        if row.method in ("GET", "HEAD") and row.id != "health":
            assert roles[row.id] is Role.VIEWER
    assert roles["health"] is None
    for id_ in ("deleteRun", "putWorkflow", "deleteWorkflow", "publishEvent"):
        assert roles[id_] is Role.OPERATOR
    held = ("claimRuns", "claimRun", "renewLease", "releaseRun", "putWorker")
    for id_ in ("startRun", "appendToStream", "finishRun", "cancelRun", "resumeRun", *held):
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


@pytest.mark.parametrize(
    ("method", "end"),
    [
        ("GET", ""),
        ("GET", "/wait"),
        ("GET", "/stream"),
        ("HEAD", "/stream"),
        ("POST", "/stream"),
        ("POST", "/finish"),
        ("POST", "/cancel"),
        ("POST", "/resume"),
        ("POST", "/claim"),
        ("POST", "/renew"),
        ("POST", "/release"),
        ("DELETE", ""),
    ],
)
def test_a_foreign_run_is_as_absent_as_an_absent_one(api: Lambdas, method: str, end: str):
    run = api.start(run_id="the-run")
    held = {"worker_id": "w", "attempt": 1}
    bodies: dict[str, Any] = {
        "/stream": {"type": "x"},
        "/finish": {"status": "failed"},
        "/claim": {"worker_id": "w"},
        "/renew": held,
        "/release": held,
    }
    body = bodies.get(end) if method == "POST" else None
    foreign = api.call(method, f"/v1/runs/{run['id']}{end}", body, baton_namespace="other")
    absent = api.call(method, f"/v1/runs/{run['id']}{end}", body, baton_namespace="third")
    assert foreign.status == absent.status == 404
    assert foreign.body == absent.body
    assert api.call("GET", "/v1/runs/the-run").json["run"]["state"] == "running"


def test_a_list_holds_nothing_of_another_namespace(api: Lambdas):
    api.start()
    assert api.call("GET", "/v1/runs", baton_namespace="other").json == {"runs": []}
