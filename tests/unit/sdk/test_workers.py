from __future__ import annotations

import json
from datetime import UTC, datetime

import httpx
import pytest

import baton_sdk
from baton_sdk import Lease, Released, RetryPolicy, Subscription
from tests.unit.sdk import service as faults
from tests.unit.sdk.answers import answering, worker_json
from tests.unit.sdk.service import NOW, problem, run_json

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
CLAIMED = run_json(mode="queued", lease={"worker_id": "w1", "expires_at": NOW})


def bodies(seen):
    return [json.loads(request.content) for request in seen]


def test_a_claim_sends_what_was_given_and_answers_runs_under_their_lease(connect):
    handler, seen = answering({"runs": [CLAIMED, CLAIMED | {"id": "r2", "attempt": 2}]}, {"runs": []})
    client = connect(handler)
    first, second = client.claim(
        "w1", ["build", "report"], max=2, lease_seconds=30, wait_seconds=20, idempotency_key="k"
    )
    assert first.lease == Lease(worker_id="w1", expires_at=NOON)
    assert (first.id, second.id, second.attempt) == ("r1", "r2", 2)
    assert client.claim("w1", ["build"]) == []
    assert bodies(seen) == [
        {
            "worker_id": "w1", "workflows": ["build", "report"], "max": 2, "lease_seconds": 30,
            "wait_seconds": 20,
        },
        {"worker_id": "w1", "workflows": ["build"], "max": 1, "wait_seconds": 0},
    ]  # fmt: skip
    assert (seen[0].url.path, seen[0].headers["idempotency-key"]) == ("/v1/claims", "k")


def test_a_claim_whose_reply_was_lost_is_asked_again_under_the_same_key(connect):
    handler, seen = answering({"runs": [CLAIMED]}, {"runs": [CLAIMED]}, {"runs": []})
    fates = [faults.lost_reply, faults.fine, faults.fine]
    client = connect(lambda request: fates.pop(0)(request, handler))
    assert [run.id for run in client.claim("w1", ["build"])] == ["r1"]
    client.claim("w1", ["build"])
    lost, repeated, next_one = (request.headers["idempotency-key"] for request in seen)
    assert lost == repeated != next_one


def test_a_claim_that_waits_is_read_for_longer_than_it_waits(connect):
    handler, seen = answering({"runs": []})
    connect(handler, timeout=5.0).claim("w1", ["build"], wait_seconds=20)
    assert seen[0].extensions["timeout"]["read"] > 20


def test_one_run_is_claimed_by_its_id_or_refused(connect):
    refused = problem(409, "in-flight", run=run_json(state="suspended"))
    handler, seen = answering({"run": CLAIMED}, refused)
    client = connect(handler)
    assert client.claim_run("r1", "w1", lease_seconds=900, idempotency_key="k").attempt == 1
    with pytest.raises(baton_sdk.InFlight) as caught:
        client.claim_run("r1", "w1")
    assert caught.value.run is not None and caught.value.run.state == "suspended"
    assert bodies(seen) == [{"worker_id": "w1", "lease_seconds": 900}, {"worker_id": "w1"}]
    assert (seen[0].url.path, seen[0].headers["idempotency-key"]) == ("/v1/runs/r1/claim", "k")


def test_a_renewal_tells_until_when_and_whether_to_stop(connect):
    handler, seen = answering(
        {"expires_at": NOW, "cancel_requested": None},
        {"expires_at": NOW, "cancel_requested": {"at": NOW, "reason": "enough"}},
    )
    client = connect(handler)
    assert client.renew("r1", "w1", 3).cancel_requested is None
    renewed = client.renew("r1", "w1", 3, lease_seconds=30)
    assert renewed.expires_at == NOON
    assert renewed.cancel_requested is not None and renewed.cancel_requested.reason == "enough"
    assert seen[0].url.path == "/v1/runs/r1/renew"
    assert bodies(seen) == [
        {"worker_id": "w1", "attempt": 3},
        {"worker_id": "w1", "attempt": 3, "lease_seconds": 30},
    ]


def test_who_lost_the_lease_is_told_so_at_once(connect, clock):
    handler, seen = answering(problem(409, "lease-lost", run=run_json(attempt=4)))
    with pytest.raises(baton_sdk.LeaseLost):
        connect(handler).renew("r1", "w1", 3)
    assert len(seen) == 1 and clock.slept == []


@pytest.mark.parametrize(
    "call",
    [
        lambda c, retry: c.renew("r1", "w1", 1, retry=retry),
        lambda c, retry: c.release("r1", "w1", 1, retry=retry),
    ],
)
def test_how_long_a_lease_is_fought_for_is_the_callers_to_say(call, client, service):
    service.faults.extend([faults.unavailable] * 3)
    with pytest.raises(baton_sdk.Unavailable):
        call(client, RetryPolicy(attempts=1))
    assert len(service.requests) == 1


def test_a_release_may_be_for_later_or_a_failure(connect):
    pending = {"run": run_json(state="pending", mode="queued")}
    handler, seen = answering(pending, pending, pending)
    client = connect(handler)
    assert client.release("r1", "w1", 2).state == "pending"
    client.release("r1", "w1", 2, delay_seconds=0, error="no room")
    client.release("r1", "w1", 2, error={"message": "no", "type": "OSError"})
    assert seen[0].url.path == "/v1/runs/r1/release"
    held = {"worker_id": "w1", "attempt": 2}
    assert bodies(seen) == [
        held,
        held | {"delay_seconds": 0, "error": {"message": "no room"}},
        held | {"error": {"message": "no", "type": "OSError"}},
    ]


@pytest.mark.parametrize("error", [None, {"message": "the lease of worker w1 ran out", "type": "lease"}])
def test_a_run_that_came_back_says_why(error, connect):
    released = {"worker_id": "w1", "attempt": 2, "error": error}
    handler, _ = answering({"run": run_json(state="pending"), "released": released})
    assert connect(handler).get("r1").released == Released(worker_id="w1", attempt=2, error=error)


def test_an_announcement_tells_nothing_of_subscriptions_apart_from_none(connect):
    handler, seen = answering({"ttl_seconds": 60})
    served = {"build": None, "mail": [], "report": [Subscription(event="a", where="b"), {"event": "c"}]}
    assert connect(handler).announce("host:1", served, runtime="python 3.12") == 60
    assert (seen[0].method, seen[0].url.raw_path) == ("PUT", b"/v1/workers/host%3A1")
    assert bodies(seen) == [
        {
            "runtime": "python 3.12",
            "workflows": [
                {"name": "build"},
                {"name": "mail", "subscribes": []},
                {"name": "report", "subscribes": [{"event": "a", "where": "b"}, {"event": "c"}]},
            ],
        }
    ]


def test_the_live_workers_are_listed_over_all_pages(connect):
    handler, seen = answering(
        {"workers": [worker_json("a", runtime="python 3.12")], "next_token": "t"},
        {"workers": [worker_json("b", workflows=["build", "mail"])]},
    )
    first, second = connect(handler).workers()
    assert (first.worker_id, first.runtime, first.seen_at) == ("a", "python 3.12", NOON)
    assert (second.worker_id, second.runtime, second.workflows) == ("b", None, ("build", "mail"))
    assert [request.url.params.get("next_token") for request in seen] == [None, "t"]


@pytest.mark.parametrize("worker_id", ["", ".", ".."])
def test_a_worker_id_that_would_name_another_path_is_refused(worker_id, connect):
    handler, seen = answering()
    with pytest.raises(baton_sdk.InvalidRequest):
        connect(handler).announce(worker_id, {})
    assert seen == []


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        ({}, lambda c: c.claim("w1", ["w"])),
        ({"runs": [{}]}, lambda c: c.claim("w1", ["w"])),
        ({}, lambda c: c.claim_run("r1", "w1")),
        ({}, lambda c: c.renew("r1", "w1", 1)),
        ({"expires_at": None}, lambda c: c.renew("r1", "w1", 1)),
        ({"expires_at": NOW, "cancel_requested": "yes"}, lambda c: c.renew("r1", "w1", 1)),
        ({"run": None}, lambda c: c.release("r1", "w1", 1)),
        ({"run": run_json(), "released": {}}, lambda c: c.get("r1")),
        ({"ttl_seconds": None}, lambda c: c.announce("w1", {})),
        ({"workers": [{}]}, lambda c: list(c.workers())),
        ({"workers": [worker_json(seen_at="soon")]}, lambda c: list(c.workers())),
        (httpx.Response(200, text="<html>"), lambda c: c.claim("w1", ["w"])),
    ],
)
def test_an_answer_of_something_else_is_told(answer, call, connect):
    with pytest.raises(baton_sdk.BadAnswer):
        call(connect(answering(answer)[0]))
