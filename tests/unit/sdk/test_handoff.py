from __future__ import annotations

import json
from datetime import UTC, datetime

import httpx
import pytest

import baton_sdk
from baton_sdk import ContinueAsNew, Handed, Republished, Waiter
from tests.unit.sdk.answers import answering, owing_json, republished_json, stats_json
from tests.unit.sdk.service import NOW, run_json

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def bodies(seen):
    return [json.loads(request.content) for request in seen]


def test_a_run_is_republished_to_all_or_to_one(connect):
    handler, seen = answering(republished_json(runs=1, created=2), republished_json(runs=1, existing=1))
    client = connect(handler)
    assert client.republish_run("r1").created == 2
    assert client.republish_run("r1", subscriber="report").existing == 1
    assert {request.url.path for request in seen} == {"/v1/runs/r1/republish"}
    assert bodies(seen) == [{}, {"subscriber": "report"}]


def test_one_call_of_a_republish_sends_what_was_given(connect):
    refusal = {"run_id": "r7", "subscriber": "report", "error": {"message": "too deep"}}
    answer = republished_json(runs=3, re_owed=1, skipped=1, refused=[refusal], busy=["r9"], next_token="t")
    handler, seen = answering(answer)
    found = connect(handler).republish(
        "build", ending="failed", since=NOON, until="2026-11-30T00:00:00Z", limit=3, dry_run=True
    )
    assert bodies(seen) == [
        {
            "workflow": "build", "ending": "failed", "since": "2026-11-29T12:00:00+00:00",
            "until": "2026-11-30T00:00:00Z", "limit": 3, "dry_run": True,
        }
    ]  # fmt: skip
    assert (found.refused[0].run_id, found.busy, found.next_token) == ("r7", ("r9",), "t")
    assert found.as_json() == answer and not found.complete


def test_a_republish_of_all_follows_the_token_and_adds_up(connect):
    handler, seen = answering(
        republished_json(runs=100, created=90, existing=10, next_token="t1"),
        republished_json(runs=0, busy=["r5"], next_token="t2"),
        republished_json(runs=7, created=7),
    )
    total = Republished()
    for answer in connect(handler).republish_all("build", subscriber="report"):
        total = total.plus(answer)
    assert (total.runs, total.created, total.existing, total.busy) == (107, 97, 10, ("r5",))
    assert total.next_token is None and not total.complete
    assert [sent.get("next_token") for sent in bodies(seen)] == [None, "t1", "t2"]
    assert {(sent["subscriber"], sent["limit"]) for sent in bodies(seen)} == {("report", 25)}


def test_the_limit_of_a_republish_is_of_all_its_calls(connect):
    handler, seen = answering(
        republished_json(runs=25, next_token="t1"),
        republished_json(runs=10, next_token="t2"),
        republished_json(runs=5, next_token="t3"),
    )
    assert len(list(connect(handler).republish_all("build", limit=40))) == 3
    assert [sent["limit"] for sent in bodies(seen)] == [25, 15, 5]


def test_an_event_carries_an_id_and_says_what_it_did(connect):
    answer = {
        "event_id": "e1", "started": [{"subscriber": "report", "run_id": "h~1"}], "woken": 2, "kept": False,
    }  # fmt: skip
    handler, seen = answering(httpx.Response(202, json=answer), httpx.Response(202, json=answer))
    client = connect(handler)
    done = client.publish_event("order/paid", {"total": 0.1}, id="e1")
    client.publish_event("order/paid")
    assert done.started == (Handed(subscriber="report", run_id="h~1"),)
    assert (done.event_id, done.woken, done.kept) == ("e1", 2, False)
    assert seen[0].url.raw_path == b"/v1/events/order%2Fpaid"
    first, second = bodies(seen)
    assert first == {"payload": {"total": 0.1}, "id": "e1"}
    assert set(second) == {"id"}


def test_a_run_waits_for_one_thing(connect):
    suspended = {"run": run_json(state="suspended")}
    handler, seen = answering(suspended, suspended, suspended)
    client = connect(handler)
    assert client.suspend("r1", until=NOON, attempt=3).state == "suspended"
    client.suspend("r1", run="r0", idempotency_key="mine")
    client.suspend("r1", event="approved")
    assert bodies(seen) == [{"until": "2026-11-29T12:00:00+00:00"}, {"run": "r0"}, {"event": "approved"}]
    assert seen[0].headers["baton-attempt"] == "3" and "baton-attempt" not in seen[1].headers
    assert seen[1].headers["idempotency-key"] == "mine" and seen[2].headers["idempotency-key"]


@pytest.mark.parametrize("given", [{}, {"run": "r0", "event": "e"}, {"until": NOON, "run": "r0"}])
def test_a_wait_for_nothing_or_for_two_things_reaches_nobody(given, connect):
    handler, seen = answering()
    with pytest.raises(baton_sdk.InvalidRequest, match="one thing"):
        connect(handler).suspend("r1", **given)
    assert seen == []


def test_what_is_owed_is_named(connect):
    handler, _ = answering(
        stats_json(owed=1, oldest_owed_seconds=34.5, due=4, owing=[owing_json()], complete=False)
    )
    stats = connect(handler).stats()
    assert (stats.owed, stats.oldest_owed_seconds, stats.due, stats.complete) == (1, 34.5, 4, False)
    (owing,) = stats.owing
    assert (owing.run_id, owing.subscribers, owing.since) == ("r1", ("report",), NOON)


def test_a_run_comes_with_all_that_hangs_on_it(connect):
    delivery = {
        "subscriber": "report", "event": "run.completed:build", "attempt": 1, "state": "started",
        "run_id": "h~1", "run_state": "running", "error": None, "at": NOW,
    }  # fmt: skip
    wait = {"kind": "run", "run_id": "r0", "run_state": "running"}
    answer = {
        "run": run_json(),
        "deliveries": [delivery, delivery | {"subscriber": "mail", "state": "failed", "error": "no input"}],
        "subscribers": ["mail", "report"],
        "waits_for": [wait, {"kind": "time", "until": NOW}, {"kind": "event", "event": "approved"}],
        "awaited_by": [{"run_id": "r2", "run_state": "suspended"}],
    }
    detail = connect(answering(answer)[0]).get("r1")
    started, failed = detail.deliveries
    assert (started.run_id, started.run_state, started.at) == ("h~1", "running", NOON)
    assert (failed.state, failed.error) == ("failed", "no input")
    assert [(w.kind, w.run_id or w.until or w.event) for w in detail.waits_for] == [
        ("run", "r0"), ("time", NOON), ("event", "approved"),
    ]  # fmt: skip
    assert detail.awaited_by == (Waiter(run_id="r2", run_state="suspended"),)
    assert detail.subscribers == ("mail", "report")
    assert detail.released is None


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (ContinueAsNew(), {}),
        (ContinueAsNew(input=[0.1], run_id="r2"), {"input": [0.1], "run_id": "r2"}),
        ({"input": 1}, {"input": 1}),
    ],
)
def test_a_finish_may_name_its_successor(given, sent, connect):
    handler, seen = answering(
        {"run": run_json(state="completed", continued_as="r2"), "finished": True},
    )
    answer = connect(handler).finish("r1", "completed", continue_as_new=given)
    assert answer.run.continued_as == "r2"
    assert bodies(seen) == [{"status": "completed", "continue_as_new": sent}]


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        ({}, lambda c: c.republish("w")),
        (republished_json(runs=None), lambda c: c.republish("w")),
        (republished_json(refused=[{}]), lambda c: c.republish_run("r1")),
        ({"started": []}, lambda c: c.publish_event("e")),
        ({"event_id": "e", "started": [{}]}, lambda c: c.publish_event("e")),
        ({"owed": 1}, lambda c: c.stats()),
        (stats_json(owing=[{}]), lambda c: c.stats()),
        (stats_json(owing=[owing_json(since="soon")]), lambda c: c.stats()),
        ({"run": run_json(), "awaited_by": [{}]}, lambda c: c.get("r1")),
        ({"run": run_json(), "deliveries": [{"subscriber": "x"}]}, lambda c: c.get("r1")),
    ],
)
def test_an_answer_of_something_else_is_told(answer, call, connect):
    with pytest.raises(baton_sdk.BadAnswer):
        call(connect(answering(answer)[0]))
