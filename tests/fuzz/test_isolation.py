"""Another namespace's run is an absent one, byte for byte; what was signed for one use is good for no
other."""

from __future__ import annotations

import itertools
import json
from typing import Any

import httpx
import pytest

COUNT = itertools.count()
OWN_TO_EACH = {"date", "x-request-id"}


class Tenant:
    """Someone in a namespace of its own."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self.namespace = f"tenant-{next(COUNT)}"

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {"Baton-Namespace": self.namespace, **options.pop("headers", {})}
        return self._http.request(method, path, headers=headers, **options)

    def start(self, **wish: Any) -> httpx.Response:
        answer = self.ask("POST", "/v1/runs", json={"workflow": "w", **wish})
        assert answer.status_code == 201, answer.text
        return answer


@pytest.fixture
def mine(http: httpx.Client) -> Tenant:
    return Tenant(http)


@pytest.fixture
def yours(http: httpx.Client) -> Tenant:
    return Tenant(http)


@pytest.fixture
def nobodys(http: httpx.Client) -> Tenant:
    return Tenant(http)


def told(answer: httpx.Response) -> tuple[int, list[tuple[str, str]], bytes]:
    """All that an answer says, but its own id and time."""
    headers = sorted(pair for pair in answer.headers.multi_items() if pair[0] not in OWN_TO_EACH)
    return answer.status_code, headers, answer.content


def _tail_offset(answer: httpx.Response) -> str:
    return str(answer.json()["run"]["next_offset"])


ASKED: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "", {}),
    ("GET", "", {"headers": {"If-None-Match": "*"}}),
    ("DELETE", "", {}),
    ("GET", "/wait?timeout_seconds=0", {}),
    ("GET", "/wait", {}),
    ("GET", "/stream", {}),
    ("GET", "/stream?offset=now", {}),
    ("GET", "/stream?offset=-1&live=long-poll", {}),
    ("GET", "/stream?offset=-1&live=sse", {}),
    ("GET", "/stream?offset=0000000000000001_00000", {}),
    ("GET", "/stream?offset=0000000000000099_00000", {}),
    ("HEAD", "/stream", {}),
    ("POST", "/stream", {"json": {"type": "x"}}),
    ("POST", "/stream", {"json": {"type": "x"}, "headers": {"Baton-Attempt": "1"}}),
    ("POST", "/stream", {"json": {"type": "x"}, "headers": {"Baton-Attempt": "7"}}),
    ("POST", "/stream", {"content": b"x", "headers": {"Content-Type": "text/plain"}}),
    ("POST", "/stream", {"json": {"type": "end"}}),
    ("POST", "/finish", {"json": {"status": "failed"}}),
    ("POST", "/finish", {"json": {"status": "failed"}, "headers": {"Idempotency-Key": "k"}}),
    ("POST", "/finish", {"json": {"status": "failed", "output": "x" * 300_000}}),
    ("POST", "/finish", {"json": {"status": "dead"}}),
    ("POST", "/cancel", {"json": {}}),
    ("POST", "/cancel", {"json": {"force": True}}),
    ("POST", "/resume", {"json": {}}),
    ("POST", "/resume", {"json": {"force": True}, "headers": {"Idempotency-Key": "k"}}),
    ("POST", "/claim", {"json": {"worker_id": "w"}}),
    ("POST", "/claim", {"json": {"worker_id": "w"}, "headers": {"Idempotency-Key": "k"}}),
    ("POST", "/renew", {"json": {"worker_id": "w", "attempt": 1}}),
    ("POST", "/release", {"json": {"worker_id": "w", "attempt": 1}}),
    ("POST", "/release", {"json": {"worker_id": "w", "attempt": 7, "error": {"message": "m"}}}),
    ("POST", "/release", {"json": {"worker_id": "w"}}),
]


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize(("method", "end", "options"), ASKED)
def test_a_foreign_run_is_an_absent_one(
    mine: Tenant,
    yours: Tenant,
    nobodys: Tenant,
    method: str,
    end: str,
    options: dict[str, Any],
    settled: bool,
):
    made = mine.start(run_id="secret", input="theirs alone")
    if settled:
        mine.ask("POST", "/v1/runs/secret/finish", json={"status": "failed", "resumable": True})
    before = mine.ask("GET", "/v1/runs/secret").json()
    options = json.loads(json.dumps(options)) if "content" not in options else dict(options)
    if end == "/stream" and method == "POST":
        options["headers"] = {**options.get("headers", {}), "Baton-Tail": made.headers["baton-tail"]}
    path = f"/v1/runs/secret{end}"
    assert told(yours.ask(method, path, **dict(options))) == told(nobodys.ask(method, path, **dict(options)))
    assert mine.ask("GET", "/v1/runs/secret").json() == before


def test_what_waits_is_claimed_in_its_namespace_alone_also_by_one_key(mine: Tenant, yours: Tenant):
    wish = {"worker_id": "w", "workflows": ["shared"], "max": 5}
    for each in (mine, yours):
        body = {"workflow": "shared", "mode": "queued", "run_id": "same", "input": each.namespace}
        assert each.ask("POST", "/v1/runs", json=body).status_code == 201
    for each in (mine, yours):
        (run,) = each.ask("POST", "/v1/claims", json=wish, headers={"Idempotency-Key": "k"}).json()["runs"]
        assert (run["namespace"], run["input"]) == (each.namespace, each.namespace)
        held = {"worker_id": "w", "attempt": 1}
        assert each.ask("POST", "/v1/runs/same/renew", json=held).status_code == 200


def test_one_key_makes_a_run_in_each_namespace(mine: Tenant, yours: Tenant):
    key = {"Idempotency-Key": "the same"}
    made = [
        each.ask("POST", "/v1/runs", json={"workflow": "w", "input": each.namespace}, headers=key)
        for each in (mine, yours)
    ]
    assert [answer.status_code for answer in made] == [201, 201]
    assert [answer.json()["run"]["input"] for answer in made] == [mine.namespace, yours.namespace]


def test_a_list_and_its_cursor_stay_in_their_namespace(mine: Tenant, yours: Tenant):
    for number in range(3):
        mine.start(run_id=f"m{number}")
        yours.start(run_id=f"y{number}")
    token = mine.ask("GET", "/v1/runs?limit=1").json()["next_token"]
    assert yours.ask("GET", "/v1/runs", params={"next_token": token}).status_code == 400
    rest = mine.ask("GET", "/v1/runs", params={"next_token": token, "limit": 2}).json()
    assert [run["id"] for run in rest["runs"]] == ["m1", "m0"]
    assert {run["namespace"] for run in rest["runs"]} == {mine.namespace}


def test_a_cursor_is_good_for_its_list_alone(mine: Tenant):
    for number in range(3):
        mine.start(run_id=f"m{number}", context_ref="c", tags=["t"])
    token = mine.ask("GET", "/v1/runs?limit=1").json()["next_token"]
    for other in ("workflow=w", "state=running", "tag=t", "context_ref=c", "since=2020-01-01T00:00:00Z"):
        answer = mine.ask(
            "GET", f"/v1/runs?{other}", params={"next_token": token, **dict([other.split("=")])}
        )
        assert answer.json()["errors"][0]["loc"] == ["query", "next_token"], other


@pytest.mark.parametrize("spoil", [".", "x", "\x00", "é", "a.b", "=", "%"])
def test_a_cursor_that_was_touched_is_refused(mine: Tenant, spoil: str):
    for number in range(2):
        mine.start(run_id=f"m{number}")
    token = mine.ask("GET", "/v1/runs?limit=1").json()["next_token"]
    text, _, signature = token.partition(".")
    for forged in (
        spoil,
        spoil + token,
        f"{text}{spoil}.{signature}",
        f"{text}.{spoil}",
        f".{signature}",
    ):
        answer = mine.ask("GET", "/v1/runs", params={"next_token": forged})
        assert answer.status_code == 400, forged


def test_a_tail_is_no_cursor_and_a_cursor_no_tail(mine: Tenant):
    tail = mine.start(run_id="a").headers["baton-tail"]
    mine.start(run_id="b")
    token = mine.ask("GET", "/v1/runs?limit=1").json()["next_token"]
    assert mine.ask("GET", "/v1/runs", params={"next_token": tail}).status_code == 400
    said = mine.ask("POST", "/v1/runs/a/stream", json={"type": "x"}, headers={"Baton-Tail": token})
    assert said.status_code == 204


@pytest.mark.parametrize(
    "whose", ["other run", "other namespace", "past life", "forged", "junk", "huge", "old"]
)
def test_any_tail_but_the_true_one_is_ignored(mine: Tenant, yours: Tenant, whose: str):
    first = mine.start(run_id="a")
    other = mine.start(run_id="b")
    mine.ask("POST", "/v1/runs/b/stream", json=[{"type": "x"}] * 5)
    foreign = yours.start(run_id="a")
    own = first.headers["baton-tail"]
    if whose in ("past life", "old"):
        for _ in range(3):
            mine.ask("POST", "/v1/runs/a/stream", json={"type": "y"})
    if whose == "past life":
        mine.ask("POST", "/v1/runs/a/finish", json={"status": "failed"})
        assert mine.ask("DELETE", "/v1/runs/a").status_code == 204
        mine.start(run_id="a")
    tail = {
        "other run": other.headers["baton-tail"],
        "other namespace": foreign.headers["baton-tail"],
        "past life": own,
        "old": own,
        "forged": ("B" if own[0] != "B" else "C") + own[1:],
        "junk": "%00.é",
        "huge": "A" * 8000,
    }[whose]
    before = mine.ask("HEAD", "/v1/runs/a/stream").headers["stream-next-offset"]
    said = mine.ask(
        "POST",
        "/v1/runs/a/stream",
        json={"type": "x"},
        headers={"Baton-Tail": tail.encode("latin-1")},
    )
    assert said.status_code == 204
    log = mine.ask("GET", "/v1/runs/a/stream").json()
    assert [message["seq"] for message in log] == list(range(len(log)))
    assert [message["type"] for message in log].count("x") == 1
    assert mine.ask("GET", "/v1/runs/a/stream", params={"offset": before}).json()[0]["type"] == "x"


def test_an_offset_of_another_run_is_held_against_this_ones_log(mine: Tenant):
    mine.start(run_id="long")
    mine.ask("POST", "/v1/runs/long/stream", json=[{"type": "x"}] * 5)
    beyond = mine.ask("POST", "/v1/runs/long/stream", json=[{"type": "x"}] * 5).headers["stream-next-offset"]
    mine.start(run_id="short")
    for live in ({}, {"live": "sse"}, {"live": "long-poll"}):
        answer = mine.ask("GET", "/v1/runs/short/stream", params={"offset": beyond, **live})
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["loc"] == ["query", "offset"]
