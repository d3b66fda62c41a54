"""ETags change with what they stand for, and 304 says so and no more."""

from __future__ import annotations

import itertools

import httpx
import pytest

COUNT = itertools.count()


@pytest.fixture
def run(http: httpx.Client) -> str:
    id_ = f"conditional-{next(COUNT)}"
    assert http.post("/v1/runs", json={"workflow": "w", "run_id": id_}).status_code == 201
    return f"/v1/runs/{id_}"


def etag(http: httpx.Client, path: str) -> str:
    answer = http.get(path)
    assert answer.headers["cache-control"] == "private, no-cache"
    return answer.headers["etag"]


PLACES = ["", "/stream", "/stream?offset=-1", "/stream?offset=0000000000000001_00000"]


@pytest.mark.parametrize("end", PLACES)
@pytest.mark.parametrize(
    "spelling", ["{}", "W/{}", '"x", {}', '{} , "y"', '"a,b",{}', "*", '"", W/"z",   W/{}']
)
def test_what_is_known_is_not_sent_again(http: httpx.Client, run: str, end: str, spelling: str):
    tag = etag(http, run + end)
    answer = http.get(run + end, headers={"If-None-Match": spelling.format(tag)})
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["etag"] == tag
    assert answer.headers["cache-control"] == "private, no-cache"
    assert "content-type" not in answer.headers
    assert ("stream-next-offset" in answer.headers) == end.startswith("/stream")


@pytest.mark.parametrize("end", PLACES)
@pytest.mark.parametrize(
    "spelling", ["", '"x"', "{}x", "x{}", '"*"', "**", "W/", ",", "{}".upper(), '"', "é"]
)
def test_what_is_not_known_is_sent(http: httpx.Client, run: str, end: str, spelling: str):
    tag = etag(http, run + end)
    given = spelling.format(tag.upper() if spelling == "{}" else tag).encode("latin-1")
    answer = http.get(run + end, headers={b"If-None-Match": given})
    assert answer.status_code == 200
    assert answer.headers["etag"] == tag


def test_a_runs_tag_changes_with_all_that_is_told_of_it(http: httpx.Client, run: str):
    seen = [etag(http, run)]
    for method, end, body in (
        ("POST", "/stream", {"type": "x"}),
        ("POST", "/cancel", {"reason": "r"}),
        ("POST", "/finish", {"status": "failed", "resumable": True}),
        ("POST", "/resume", {}),
    ):
        assert http.request(method, run + end, json=body).is_success
        seen.append(etag(http, run))
    assert len(set(seen)) == len(seen)
    assert http.get(run, headers={"If-None-Match": seen[-1]}).status_code == 304
    assert http.get(run, headers={"If-None-Match": ", ".join(seen[:-1])}).status_code == 200


def test_a_logs_tag_changes_with_its_end_and_its_closing(http: httpx.Client, run: str):
    tags = [etag(http, f"{run}/stream")]
    http.post(f"{run}/stream", json={"type": "x"})
    tags.append(etag(http, f"{run}/stream"))
    at_end = http.get(f"{run}/stream").headers["stream-next-offset"]
    open_end = etag(http, f"{run}/stream?offset={at_end}")
    http.post(f"{run}/finish", json={"status": "failed", "resumable": True})
    tags.append(etag(http, f"{run}/stream"))
    closed = http.get(f"{run}/stream", headers={"If-None-Match": open_end})
    assert closed.status_code == 200
    assert closed.headers["stream-closed"] == "true"
    end = closed.headers["stream-next-offset"]
    tags.append(etag(http, f"{run}/stream?offset={end}"))
    assert http.get(f"{run}/stream?offset={end}", headers={"If-None-Match": tags[-1]}).headers[
        "stream-closed"
    ]
    http.post(f"{run}/resume", json={})
    again = http.get(f"{run}/stream?offset={end}", headers={"If-None-Match": tags[-1]})
    assert (again.status_code, again.json()[0]["type"]) == (200, "resumed")
    assert "stream-closed" not in again.headers
    assert len({*tags, again.headers["etag"]}) == len(tags) + 1


def test_an_id_used_again_is_not_what_was_known_of_it(http: httpx.Client, run: str):
    http.post(f"{run}/finish", json={"status": "failed"})
    tags = [etag(http, run), etag(http, f"{run}/stream")]
    http.delete(run)
    for tag in (*tags, "*"):
        assert http.get(run, headers={"If-None-Match": tag}).status_code == 404
        assert http.get(f"{run}/stream", headers={"If-None-Match": tag}).status_code == 404
    http.post("/v1/runs", json={"workflow": "w", "run_id": run.rpartition("/")[2]})
    http.post(f"{run}/finish", json={"status": "failed"})
    for tag in tags:
        assert http.get(run, headers={"If-None-Match": tag}).status_code == 200
        assert http.get(f"{run}/stream", headers={"If-None-Match": tag}).status_code == 200


def test_now_has_no_tag(http: httpx.Client, run: str):
    answer = http.get(f"{run}/stream?offset=now", headers={"If-None-Match": "*"})
    assert (answer.status_code, answer.json()) == (200, [])
    assert "etag" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"


def test_the_document_has_a_tag_of_its_own(http: httpx.Client):
    tag = etag(http, "/v1/openapi.json")
    assert http.get("/v1/openapi.json", headers={"If-None-Match": tag}).status_code == 304
