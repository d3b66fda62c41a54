"""One key, one thing done: the same key with another body is told so on every path that takes one (I7)."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

COUNT = itertools.count()


@pytest.fixture
def key() -> dict[str, str]:
    return {"Idempotency-Key": f"key {next(COUNT)}"}


@pytest.fixture
def run(http: httpx.Client) -> str:
    id_ = f"once-{next(COUNT)}"
    assert http.post("/v1/runs", json={"workflow": "w", "run_id": id_}).status_code == 201
    return f"/v1/runs/{id_}"


def post(http: httpx.Client, path: str, body: str | bytes, headers: dict[str, str]) -> httpx.Response:
    content = body.encode() if isinstance(body, str) else body
    return http.post(path, content=content, headers={"Content-Type": "application/json", **headers})


SAME = [
    '{"workflow":"w","input":{"a":1,"b":"é"}}',
    '{ "input" : {"b":"\\u00e9" , "a":1},\n"workflow":"\\u0077" }',
    '{"workflow":"x","workflow":"w","input":{"a":1,"b":"é"}}',
]
OTHER = [
    '{"workflow":"w","input":{"a":1.0,"b":"é"}}',
    '{"workflow":"w","input":{"a":1,"b":"e\\u0301"}}',
    '{"workflow":"w","input":{"a":1,"b":"é"},"tags":[]}',
    '{"workflow":"w","input":{"a":1,"b":"é"},"tags":null}',
    '{"workflow":"w","input":{"a":1,"b":"é"},"priority":5}',
    '{"workflow":"w","input":{"a":1,"b":"é"},"run_id":"another"}',
    '{"workflow":"w"}',
    '{"workflow":"v","input":{"a":1,"b":"é"}}',
]


def test_a_start_is_the_same_however_it_is_spelled_and_another_when_it_says_other(
    http: httpx.Client, key: dict[str, str]
):
    made = post(http, "/v1/runs", SAME[0], key)
    assert made.status_code == 201
    for body in SAME:
        again = post(http, "/v1/runs", body, key)
        assert (again.status_code, again.json()["started"]) == (200, False)
        assert again.json()["run"]["id"] == made.json()["run"]["id"]
    for body in OTHER:
        other = post(http, "/v1/runs", body, key)
        assert other.status_code == 422, body
        assert other.json()["type"] == "urn:baton:idempotency-mismatch"
        assert other.json()["run"]["id"] == made.json()["run"]["id"]
    assert http.get("/v1/runs/another").status_code == 404


@pytest.mark.parametrize("named", [False, True])
def test_a_key_stands_for_its_run_as_long_as_it_lives(http: httpx.Client, key: dict[str, str], named: bool):
    wish: dict[str, Any] = {"workflow": "w", **({"run_id": f"named-{next(COUNT)}"} if named else {})}
    first = http.post("/v1/runs", json=wish, headers=key).json()["run"]
    path = f"/v1/runs/{first['id']}"
    http.post(f"{path}/finish", json={"status": "failed", "resumable": True})
    settled = http.post("/v1/runs", json=wish, headers=key)
    assert (settled.status_code, settled.json()["run"]["state"]) == (200, "failed")
    assert "baton-tail" not in settled.headers
    http.post(f"{path}/resume", json={})
    resumed = http.post("/v1/runs", json=wish, headers=key)
    assert (resumed.status_code, resumed.json()["run"]["attempt"]) == (200, 2)
    http.post(f"{path}/finish", json={"status": "failed"}, headers={"Baton-Attempt": "2"})
    assert http.delete(path).status_code == 204
    anew = http.post("/v1/runs", json={**wish, "input": "new"}, headers=key)
    assert (anew.status_code, anew.json()["run"]["attempt"]) == (201, 1)
    assert [message["type"] for message in http.get(f"{path}/stream").json()] == ["start"]


def test_the_key_decides_before_the_id(http: httpx.Client, key: dict[str, str]):
    taken = f"taken-{next(COUNT)}"
    http.post("/v1/runs", json={"workflow": "w", "run_id": taken})
    refused = http.post("/v1/runs", json={"workflow": "w", "run_id": taken}, headers=key)
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:baton:run-exists")
    free = http.post("/v1/runs", json={"workflow": "w"}, headers=key)
    assert free.status_code == 201
    both = http.post("/v1/runs", json={"workflow": "w", "run_id": taken}, headers=key)
    assert (both.status_code, both.json()["run"]["id"]) == (422, free.json()["run"]["id"])


def test_a_finish_is_the_same_request_by_its_key_and_body(http: httpx.Client, run: str, key: dict[str, str]):
    body = '{"status":"completed","output":[1.0,"é"]}'
    assert post(http, f"{run}/finish", body, key).json()["finished"] is True
    again = post(http, f"{run}/finish", '{"output" :[1.0,"\\u00e9"],"status":"completed"}', key)
    assert again.json()["finished"] is True
    for other in ('{"status":"completed","output":[1,"é"]}', '{"status":"succeeded","output":[1.0,"é"]}'):
        answer = post(http, f"{run}/finish", other, key)
        assert (answer.status_code, answer.json()["type"]) == (422, "urn:baton:idempotency-mismatch")
        assert answer.json()["run"]["output"] == [1.0, "é"]
    stranger = post(http, f"{run}/finish", body, {"Idempotency-Key": "another"})
    assert (stranger.status_code, stranger.json()["finished"]) == (200, False)
    keyless = post(http, f"{run}/finish", body, {})
    assert (keyless.status_code, keyless.json()["finished"]) == (200, False)


def test_a_finish_without_a_key_is_the_same_under_its_fence(http: httpx.Client, run: str):
    fence = {"Baton-Attempt": "1"}
    assert http.post(f"{run}/finish", json={"status": "failed"}, headers=fence).json()["finished"] is True
    assert http.post(f"{run}/finish", json={"status": "failed"}, headers=fence).json()["finished"] is True
    assert http.post(f"{run}/finish", json={"status": "failed"}).json()["finished"] is False
    assert http.post(f"{run}/finish", json={"status": "cancelled"}, headers=fence).json()["finished"] is False


def test_a_resume_is_the_same_request_by_its_key_and_body(http: httpx.Client, run: str, key: dict[str, str]):
    http.post(f"{run}/finish", json={"status": "failed", "resumable": True})
    assert http.post(f"{run}/resume", json={}, headers=key).json()["resumed"] is True
    assert http.post(f"{run}/resume", json={}, headers=key).json()["resumed"] is True
    assert http.post(f"{run}/resume", json={"force": True}, headers=key).status_code == 422
    ended = http.post(
        f"{run}/finish", json={"status": "failed", "resumable": True}, headers={"Baton-Attempt": "2"}
    )
    assert ended.status_code == 200
    late = http.post(f"{run}/resume", json={}, headers=key).json()
    assert (late["resumed"], late["run"]["attempt"], late["run"]["state"]) == (True, 2, "failed")
    assert (
        http.post(f"{run}/resume", json={}, headers={"Idempotency-Key": "new"}).json()["run"]["attempt"] == 3
    )


def test_one_key_on_several_routes_is_several_keys(http: httpx.Client, key: dict[str, str]):
    run = http.post("/v1/runs", json={"workflow": "w"}, headers=key).json()["run"]["id"]
    ended = http.post(f"/v1/runs/{run}/finish", json={"status": "failed", "resumable": True}, headers=key)
    assert ended.json()["finished"] is True
    assert http.post(f"/v1/runs/{run}/resume", json={}, headers=key).json()["resumed"] is True
    assert http.post("/v1/runs", json={"workflow": "w"}, headers=key).json()["started"] is False


@pytest.mark.parametrize("spelling", ["k", "K", "~", "!" * 255, "a, b", '"k"', "k~abc", "../../x", "%00"])
def test_any_printable_key_is_a_key_of_its_own(http: httpx.Client, spelling: str):
    namespace = {"Baton-Namespace": f"keys-{next(COUNT)}"}
    made = http.post("/v1/runs", json={"workflow": "w"}, headers={**namespace, "Idempotency-Key": spelling})
    assert made.status_code == 201
    for near in (spelling[:-1] + ("x" if spelling[-1] != "x" else "y"), spelling[:200] + "0"):
        other = http.post("/v1/runs", json={"workflow": "w"}, headers={**namespace, "Idempotency-Key": near})
        assert other.status_code == 201, near
    again = http.post("/v1/runs", json={"workflow": "w"}, headers={**namespace, "Idempotency-Key": spelling})
    assert again.json()["run"]["id"] == made.json()["run"]["id"]


@pytest.mark.parametrize("end", ["", "/finish", "/resume"])
@pytest.mark.parametrize("bad", ["", "k" * 256, "é", "\x80"])
def test_what_is_no_key_is_refused_on_every_path(http: httpx.Client, run: str, end: str, bad: str):
    path = f"{run}{end}" if end else "/v1/runs"
    body = {"": b'{"workflow":"w"}', "/finish": b'{"status":"failed"}', "/resume": b"{}"}[end]
    headers = [(b"Idempotency-Key", bad.encode("utf-8")), (b"Content-Type", b"application/json")]
    answer = http.post(path, content=body, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["loc"] == ["header", "Idempotency-Key"]


def test_a_crowd_with_one_key_and_two_bodies_makes_one_run(http: httpx.Client, key: dict[str, str]):
    def start(number: int) -> httpx.Response:
        return http.post("/v1/runs", json={"workflow": "w", "input": number % 2}, headers=key)

    with ThreadPoolExecutor(16) as crowd:
        answers = list(crowd.map(start, range(60)))
    assert [answer.status_code for answer in answers].count(201) == 1
    assert {answer.status_code for answer in answers} == {200, 201, 422}
    assert len({answer.json()["run"]["id"] for answer in answers}) == 1
    won = next(answer for answer in answers if answer.status_code == 201).json()["run"]["input"]
    for number, answer in enumerate(answers):
        assert (answer.status_code == 422) == (number % 2 != won)
