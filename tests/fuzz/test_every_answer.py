"""What every answer carries, whatever it says."""

from __future__ import annotations

import itertools
import uuid
from typing import Any

import httpx
import pytest

COUNT = itertools.count()
JSON = {"Content-Type": "application/json"}

ASKED: list[tuple[int, str, str, dict[str, Any]]] = [
    (201, "POST", "/v1/runs", {"json": {"workflow": "w"}}),
    (200, "GET", "/v1/runs?limit=1", {}),
    (200, "GET", "{run}", {}),
    (304, "GET", "{run}", {"headers": {"If-None-Match": "*"}}),
    (200, "GET", "{run}/wait?timeout_seconds=0", {}),
    (200, "GET", "{run}/stream", {}),
    (200, "GET", "{run}/stream?offset=now", {}),
    (200, "HEAD", "{run}/stream", {}),
    (200, "GET", "{run}/stream?offset=-1&live=sse", {}),
    (200, "GET", "{run}/stream?offset=-1&live=long-poll", {}),
    (204, "GET", "{run}/stream?offset=now&live=long-poll", {}),
    (204, "POST", "{run}/stream", {"json": {"type": "x"}}),
    (200, "GET", "/v1/health", {}),
    (200, "GET", "/v1/openapi.json", {}),
    (400, "POST", "/v1/runs", {"content": b"{", "headers": JSON}),
    (400, "GET", "/v1/runs?limit=0", {}),
    (400, "GET", "{run}/stream?offset=junk&live=sse", {}),
    (403, "GET", "{run}", {"headers": {"Origin": "http://evil.example"}}),
    (404, "GET", "{run}x", {}),
    (404, "HEAD", "{run}x/stream", {}),
    (404, "GET", "{run}x/stream?offset=-1&live=sse", {}),
    (404, "GET", "/nowhere", {}),
    (405, "PUT", "{run}/stream", {}),
    (405, "DELETE", "{run}/stream", {}),
    (405, "HEAD", "{run}", {}),
    (409, "DELETE", "{run}", {}),
    (409, "POST", "{run}/stream", {"content": b"x", "headers": {"Content-Type": "text/plain"}}),
    (413, "POST", "/v1/runs", {"json": {"workflow": "w", "input": "x" * 300_000}}),
    (413, "POST", "/v1/runs", {"content": b"x" * (11 * 1024 * 1024), "headers": JSON}),
    (415, "POST", "/v1/runs", {"content": b"x", "headers": {"Content-Type": "text/plain"}}),
]


@pytest.mark.parametrize(("status", "method", "path", "options"), ASKED)
def test_it_is_named_typed_and_cached_as_the_contract_says(
    http: httpx.Client, status: int, method: str, path: str, options: dict[str, Any]
):
    run = f"/v1/runs/answer-{next(COUNT)}"
    http.post("/v1/runs", json={"workflow": "w", "run_id": run.rpartition("/")[2]})
    answer = http.request(method, path.format(run=run), **options)
    assert answer.status_code == status
    uuid.UUID(answer.headers["x-request-id"])  # or it raises
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == (
        "private, no-cache" if "etag" in answer.headers else "no-store"
    )
    assert len(answer.headers.get_list("cache-control")) == len(answer.headers.get_list("x-request-id")) == 1
    assert "server" not in answer.headers
    if status >= 400 and method != "HEAD":
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["type"].startswith("urn:baton:")
        assert (problem["status"], bool(problem["title"]), bool(problem["detail"])) == (status, True, True)
    if answer.content:
        assert answer.headers["content-type"]
