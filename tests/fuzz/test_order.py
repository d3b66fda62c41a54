"""Several things wrong at once: told is the first of shape, absence, duplicate, fence, closure, the rest."""

from __future__ import annotations

import itertools
from typing import Any

import httpx
import pytest

COUNT = itertools.count()


@pytest.fixture
def run(http: httpx.Client) -> str:
    id_ = f"order-{next(COUNT)}"
    assert http.post("/v1/runs", json={"workflow": "w", "run_id": id_}).status_code == 201
    return f"/v1/runs/{id_}"


def slug(answer: httpx.Response) -> str:
    return str(answer.json()["type"]).removeprefix("urn:baton:")


SHAPES: list[tuple[str, dict[str, Any], str]] = [
    ("/stream", {"content": b"{", "headers": {"Content-Type": "application/json"}}, "invalid-request"),
    ("/stream", {"json": {"type": "end"}}, "invalid-request"),
    ("/stream", {"json": {"type": "x", "data": "x" * 300_000}}, "payload-too-large"),
    ("/stream", {"json": {"type": "x"}, "headers": {"Baton-Attempt": "x"}}, "invalid-request"),
    ("/stream", {"json": {"type": "x"}, "headers": {"Producer-Id": "p"}}, "invalid-request"),
    ("/stream", {"json": {"type": "x"}, "headers": {"Stream-Closed": "true"}}, "invalid-request"),
    ("/finish", {"json": {"status": "dead"}, "headers": {"Baton-Attempt": "9"}}, "invalid-request"),
    ("/finish", {"json": {"status": "failed", "output": "x" * 300_000}}, "payload-too-large"),
    ("/finish", {"content": b"x", "headers": {"Content-Type": "text/plain"}}, "unsupported-media-type"),
    ("/cancel", {"json": {"reason": "x" * 2000}}, "payload-too-large"),
    ("/resume", {"json": {"force": "yes"}}, "invalid-request"),
    ("/claim", {"json": {"worker_id": "a/b"}}, "invalid-request"),
    ("/claim", {"content": b"x", "headers": {"Content-Type": "text/plain"}}, "unsupported-media-type"),
    ("/renew", {"json": {"worker_id": "w", "attempt": 0}}, "invalid-request"),
    ("/release", {"json": {"worker_id": "w", "attempt": 9, "delay_seconds": -1}}, "invalid-request"),
    (
        "/release",
        {"json": {"worker_id": "w", "attempt": 9, "error": {"message": "m", "stack": "x" * 300_000}}},
        "payload-too-large",
    ),
]


@pytest.mark.parametrize("where", ["absent", "running", "settled", "attempt 2"])
@pytest.mark.parametrize(("end", "options", "refusal"), SHAPES)
def test_the_shape_is_looked_at_first(
    http: httpx.Client, run: str, where: str, end: str, options: dict[str, Any], refusal: str
):
    if where in ("settled", "attempt 2"):
        http.post(f"{run}/finish", json={"status": "failed", "resumable": True})
    if where == "attempt 2":
        http.post(f"{run}/resume", json={})
    target = f"{run}-not" if where == "absent" else run
    before = None if where == "absent" else http.get(run).json()
    assert slug(http.post(f"{target}{end}", **options)) == refusal
    assert before is None or http.get(run).json() == before


@pytest.mark.parametrize(
    ("end", "body"),
    [
        ("/stream", {"type": "x"}),
        ("/finish", {"status": "failed"}),
        ("/resume", {}),
        ("/claim", {"worker_id": "w"}),
        ("/renew", {"worker_id": "w", "attempt": 9}),
        ("/release", {"worker_id": "w", "attempt": 9}),
    ],
)
def test_then_absence(http: httpx.Client, run: str, end: str, body: Any):
    for headers in ({}, {"Baton-Attempt": "9"}, {"Idempotency-Key": "k"}):
        assert slug(http.post(f"{run}-not{end}", json=body, headers=headers)) == "not-found"
    assert http.get(f"{run}-not/stream?offset=0000000000000009_00000").status_code == 404


def producer(seq: int, attempt: int | None = None, epoch: int = 0) -> dict[str, str]:
    fence = {} if attempt is None else {"Baton-Attempt": str(attempt)}
    return {"Producer-Id": "p", "Producer-Epoch": str(epoch), "Producer-Seq": str(seq), **fence}


def test_then_a_producers_duplicate_then_the_fence_then_the_closing(http: httpx.Client, run: str):
    def append(**headers: str) -> httpx.Response:
        return http.post(f"{run}/stream", json={"type": "x"}, headers=headers)

    assert append(**producer(0, 1)).status_code == 200
    assert http.post(f"{run}/finish", json={"status": "failed", "resumable": True}).status_code == 200

    known = append(**producer(0, 1))
    assert (known.status_code, known.headers["stream-closed"], known.headers["producer-seq"]) == (
        204,
        "true",
        "0",
    )
    assert "baton-tail" not in known.headers
    assert slug(append(**producer(0, 7))) == "lease-lost"
    assert slug(append(**producer(9, 7))) == "lease-lost"
    for refused in (append(**producer(1, 1)), append(**producer(9)), append(**{"Stream-Seq": "0"}), append()):
        assert slug(refused) == "run-terminal"
        assert refused.headers["stream-closed"] == "true"
        assert refused.headers["stream-next-offset"] == "0000000000000003_00000"
        assert refused.json()["run"]["state"] == "failed"

    assert http.post(f"{run}/resume", json={}).json()["resumed"] is True
    assert append().json()["errors"][0]["loc"] == ["header", "Baton-Attempt"]
    assert append(**producer(0, 1)).status_code == 204
    late = append(**producer(1, 1))
    assert (slug(late), late.json()["run"]["attempt"]) == ("lease-lost", 2)
    assert slug(append(**producer(5, 2))) == "stream-conflict"
    assert append(**producer(0, 2)).status_code == 200
    log = http.get(f"{run}/stream").json()
    assert [message["type"] for message in log] == ["start", "x", "end", "resumed", "x"]


def test_a_stale_epoch_a_gap_and_a_crowd_of_producers_come_last(http: httpx.Client, run: str):
    def append(**headers: str) -> httpx.Response:
        return http.post(f"{run}/stream", json={"type": "x"}, headers=headers)

    assert append(**producer(0, epoch=2)).status_code == 200
    stale = append(**producer(0, epoch=1))
    assert (stale.status_code, stale.headers["producer-epoch"]) == (403, "2")
    gap = append(**producer(5, epoch=2))
    assert (gap.status_code, gap.headers["producer-expected-seq"], gap.headers["producer-received-seq"]) == (
        409,
        "1",
        "5",
    )
    assert append(**producer(3, epoch=3)).status_code == 400
    for number in range(15):
        assert append(**{**producer(0), "Producer-Id": f"q{number}"}).status_code == 200
    assert slug(append(**{**producer(0), "Producer-Id": "the 17th"})) == "stream-conflict"
    assert append(**producer(1, epoch=2)).status_code == 200


def test_a_run_that_waits_for_a_driver_takes_no_append_and_ends_under_its_attempt_alone(http: httpx.Client):
    run = http.post("/v1/runs", json={"workflow": "w", "mode": "queued"}).json()["run"]
    path = f"/v1/runs/{run['id']}"
    assert run["state"] == "pending"
    assert slug(http.post(f"{path}/stream", json={"type": "x"})) == "stream-conflict"
    assert (
        slug(http.post(f"{path}/stream", json={"type": "x"}, headers={"Baton-Attempt": "2"})) == "lease-lost"
    )
    assert slug(http.post(f"{path}/finish", json={"status": "failed"})) == "in-flight"
    assert (
        slug(http.post(f"{path}/finish", json={"status": "failed"}, headers={"Baton-Attempt": "2"}))
        == "lease-lost"
    )
    assert slug(http.delete(path)) == "in-flight"
    assert http.post(f"{path}/finish", json={"status": "failed"}, headers={"Baton-Attempt": "1"}).is_success


def test_a_wrong_media_type_on_a_log_is_the_protocols_conflict_after_its_closing(
    http: httpx.Client, run: str
):
    def append(path: str) -> httpx.Response:
        return http.post(f"{path}/stream", content=b"x", headers={"Content-Type": "text/plain"})

    wrong = append(run)
    assert (wrong.status_code, slug(wrong)) == (409, "stream-conflict")
    assert append(f"{run}-not").status_code == 404
    http.post(f"{run}/finish", json={"status": "failed"})
    closed = append(run)
    assert (closed.status_code, closed.headers["stream-closed"]) == (409, "true")


@pytest.mark.parametrize("end", ["/renew", "/release"])
def test_of_a_lease_the_attempt_is_looked_at_before_the_state(http: httpx.Client, run: str, end: str):
    mine, stale = {"worker_id": "w", "attempt": 1}, {"worker_id": "w", "attempt": 9}
    assert [slug(http.post(f"{run}{end}", json=body)) for body in (mine, stale)] == ["lease-lost"] * 2
    http.post(f"{run}/finish", json={"status": "failed", "resumable": True})
    told = [slug(http.post(f"{run}{end}", json=body)) for body in (mine, stale)]
    assert told == ["run-terminal", "lease-lost"]
