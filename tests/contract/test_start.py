"""POST /v1/runs: once, whoever sends it and however often."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.lambdas import Lambdas
from tests.unit.house import House

NOW = "2026-01-01T00:00:00.000Z"
FIELDS = {
    "id", "namespace", "workflow", "state", "attempt", "mode", "context_ref", "agent_id", "tags", "input",
    "output", "error", "code", "signal", "resumable", "session_ref", "priority", "created_at", "started_at",
    "updated_at", "ended_at", "available_at", "inactivity_timeout_seconds", "max_attempts",
    "cancel_requested", "lease", "triggered_by", "depth", "continued_from", "continued_as", "next_offset",
    "traceparent",
}  # fmt: skip


def test_a_run_has_every_field_with_the_defaults_that_apply(api: Lambdas):
    run = api.start(workflow="deploy/eu:main", run_id="a.b:c~d-E")
    assert set(run) == FIELDS
    assert run == {
        **dict.fromkeys(FIELDS),
        "id": "a.b:c~d-E",
        "namespace": "default",
        "workflow": "deploy/eu:main",
        "state": "running",
        "attempt": 1,
        "mode": "attached",
        "tags": [],
        "resumable": False,
        "priority": 5,
        "created_at": NOW,
        "started_at": NOW,
        "updated_at": NOW,
        "inactivity_timeout_seconds": 86400,
        "max_attempts": 3,
        "depth": 0,
        "next_offset": run["next_offset"],
    }
    assert (
        run["next_offset"] == api.call("HEAD", f"/v1/runs/{run['id']}/stream").headers["stream-next-offset"]
    )


def test_a_queued_run_is_pending_and_watched_by_no_one(api: Lambdas):
    run = api.start(mode="queued")
    assert (run["state"], run["mode"], run["started_at"]) == ("pending", "queued", None)
    assert run["available_at"] == NOW
    assert run["inactivity_timeout_seconds"] == 0


def test_everything_given_is_kept(api: Lambdas):
    given = {
        "input": {"a": [1, None]},
        "context_ref": "session 42 \u00e9",
        "agent_id": "agent",
        "tags": ["one", "two"],
        "mode": "queued",
        "inactivity_timeout_seconds": 1.5,
        "max_attempts": 100,
        "available_at": "2026-02-01T01:00:00.5+01:00",
        "priority": 9,
    }
    run = api.start(**given)
    expected = {**given, "available_at": "2026-02-01T00:00:00.500Z"}
    assert {name: run[name] for name in given} == expected
    assert api.call("GET", f"/v1/runs/{run['id']}").json["run"] == run


def test_the_limits_themselves_are_within_the_limits(api: Lambdas):
    run = api.start(
        workflow="w" * 128,
        run_id="r" * 128,
        tags=["t" * 64] * 16,
        context_ref="\U0001f600" * 256,
        agent_id="a" * 256,
        max_attempts=1,
        priority=0,
        inactivity_timeout_seconds=2592000,
    )
    assert repr(run["inactivity_timeout_seconds"]) == "2592000"


def test_the_same_key_and_body_again_is_the_same_start(api: Lambdas):
    body = {"workflow": "w", "input": {"a": 0.1, "b": 2}}
    first = api.call("POST", "/v1/runs", body, idempotency_key="K")
    api.finish(first.json["run"]["id"], output="late")
    again = api.call("POST", "/v1/runs", b'{"input":{"b":2,"a":0.1}, "workflow":"w"}', idempotency_key="K")
    assert (first.status, again.status) == (201, 200)
    assert again.json["started"] is False
    assert again.json["run"]["state"] == "completed"  # as it is now
    assert again.json["run"]["output"] == "late"
    assert "baton-tail" not in again.headers


@pytest.mark.parametrize(
    "other",
    [
        {"workflow": "w2"},
        {"workflow": "w", "input": 1},
        {"workflow": "w", "input": None},  # as sent, before defaults
        {"workflow": "w", "priority": 5},
        {"workflow": "w", "run_id": "mine"},
    ],
)
def test_the_same_key_with_another_body_is_told_so(api: Lambdas, other: Any):
    first = api.call("POST", "/v1/runs", {"workflow": "w"}, idempotency_key="K").json["run"]
    answer = api.call("POST", "/v1/runs", other, idempotency_key="K")
    assert answer.slug == "idempotency-mismatch"
    assert answer.json["run"] == first


def test_a_key_belongs_to_its_namespace(api: Lambdas):
    first = api.call("POST", "/v1/runs", {"workflow": "w"}, idempotency_key="K")
    other = api.call("POST", "/v1/runs", {"workflow": "v"}, idempotency_key="K", baton_namespace="other")
    assert (first.status, other.status) == (201, 201)


def test_a_key_may_be_any_printable_ascii(api: Lambdas):
    for key in ("k" * 255, "!", "a b ~", '{"x": 1}'):
        answer = api.call("POST", "/v1/runs", {"workflow": "w"}, idempotency_key=key)
        assert answer.status == 201
        assert answer.json["run"]["id"].startswith("k~")


def test_a_taken_id_is_refused_with_the_run_that_has_it(api: Lambdas):
    first = api.start(run_id="mine", input={"first": True})
    answer = api.call("POST", "/v1/runs", {"workflow": "w", "run_id": "mine"})
    assert answer.slug == "run-exists"
    assert answer.json["run"] == first


def test_with_key_and_id_both_the_key_decides_first(api: Lambdas):
    body = {"workflow": "w", "run_id": "mine"}
    assert api.call("POST", "/v1/runs", body, idempotency_key="K").status == 201
    assert api.call("POST", "/v1/runs", body, idempotency_key="K").status == 200
    assert api.call("POST", "/v1/runs", body, idempotency_key="L").slug == "run-exists"
    assert api.call("POST", "/v1/runs", body).slug == "run-exists"
    other = {"workflow": "w", "run_id": "else"}
    assert api.call("POST", "/v1/runs", other, idempotency_key="K").slug == "idempotency-mismatch"


def test_an_id_and_a_key_are_free_again_once_their_run_is_deleted(api: Lambdas):
    body = {"workflow": "w", "run_id": "mine"}
    api.call("POST", "/v1/runs", body, idempotency_key="K")
    api.append("mine", {"type": "note", "data": "of the past"})
    api.finish("mine")
    assert api.call("DELETE", "/v1/runs/mine").status == 204
    again = api.call("POST", "/v1/runs", {**body, "input": "new"}, idempotency_key="K")
    assert (again.status, again.json["started"]) == (201, True)
    assert [message["type"] for message in api.read("mine").json] == ["start"]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", True),
        ("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", False),
        ("00-00000000000000000000000000000000-b7ad6b7169203331-01", False),
        ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", False),
        ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", False),
        ("garbage", False),
    ],
)
def test_a_traceparent_is_kept_and_a_malformed_one_ignored(api: Lambdas, sent: str, kept: bool):
    answer = api.call("POST", "/v1/runs", {"workflow": "w"}, traceparent=sent)
    assert answer.status == 201
    assert answer.json["run"]["traceparent"] == (sent if kept else None)


def test_a_tail_comes_with_a_start_that_may_be_appended_to(api: Lambdas):
    attached = api.call("POST", "/v1/runs", {"workflow": "w"})
    queued = api.call("POST", "/v1/runs", {"workflow": "w", "mode": "queued"})
    assert "baton-tail" in attached.headers
    assert "baton-tail" not in queued.headers


def test_a_start_entry_says_what_was_asked(api: Lambdas):
    run = api.start(input=[1], context_ref="c", agent_id="a")
    [message] = api.read(run["id"]).json
    assert message == {
        "run_id": run["id"],
        "seq": 0,
        "attempt": 1,
        "type": "start",
        "ts": NOW,
        "data": {"workflow": "build", "input": [1], "context_ref": "c", "agent_id": "a"},
    }


def test_what_is_refused_leaves_nothing_behind(api: Lambdas, house: House):
    big = "x" * (256 * 1024)
    assert api.call("POST", "/v1/runs", {"workflow": "w", "input": big}).slug == "payload-too-large"
    assert house.rows() == house.log() == []
