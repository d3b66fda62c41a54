"""A path is what it was sent as: an encoded slash separates nothing, and no odd letter turns 404 into 405."""

from __future__ import annotations

import itertools

import httpx
import pytest

from tests.fuzz.wire import raw

COUNT = itertools.count()

NO_ID = [
    "%F0%9F%87%BA",  # an emoji
    "%C3%BC",
    "%00",
    "%0A",
    "%0D%0A",
    "%20",
    "%22",
    "%23",
    "%3F",
    "%25",
    "%5C",
    "%FF",  # no UTF-8
    "%ED%A0%80",
    "%E2%80%A8",
    "{id}",
    "$default",
    "..",
    "%2e%2e",
    ".",
    "%2F",
    "a%2Fb",
    "-a",
    "a" * 129,
    "k~a%00",
]
OPERATIONS = [
    ("GET", ""),
    ("DELETE", ""),
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
]


def _body(method: str, end: str) -> bytes:
    held = b'{"worker_id":"w","attempt":1}'
    said = {
        "/stream": b'{"type":"x"}',
        "/finish": b'{"status":"failed"}',
        "/claim": b'{"worker_id":"w"}',
        "/renew": held,
        "/release": held,
    }
    return said.get(end, b"{}") if method == "POST" else b""


@pytest.mark.parametrize(("method", "end"), OPERATIONS)
@pytest.mark.parametrize("id_", NO_ID)
def test_what_can_be_no_id_is_an_absent_run(http: httpx.Client, method: str, end: str, id_: str):
    status, headers, body = raw(http, method, f"/v1/runs/{id_}{end}", _body(method, end))
    assert status == 404
    assert headers["content-type"] == "application/problem+json"
    assert (body == b"") == (method == "HEAD")
    assert "allow" not in headers


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "a%2Fwait"),
        ("GET", "a%2Fstream"),
        ("HEAD", "a%2Fstream"),
        ("POST", "a%2Fcancel"),
        ("POST", "a%2Ffinish"),
        ("POST", "a%2Fstream"),
        ("GET", "..%2Fhealth"),
        ("GET", "x%2F..%2Fa"),
        ("GET", "/a"),
        ("GET", "a/"),
        ("GET", "a//stream"),
        ("POST", "a//finish"),
    ],
)
def test_an_encoded_slash_leads_nowhere(http: httpx.Client, method: str, path: str):
    namespace = f"paths-{next(COUNT)}"
    made = http.post(
        "/v1/runs", json={"workflow": "w", "run_id": "a"}, headers={"Baton-Namespace": namespace}
    )
    assert made.status_code == 201
    status, headers, _ = raw(http, method, f"/v1/runs/{path}", b"", baton_namespace=namespace)
    assert status in (404, 405)
    assert method not in headers.get("allow", "")
    run = http.get("/v1/runs/a", headers={"Baton-Namespace": namespace}).json()["run"]
    assert run["state"] == "running"


def test_an_encoded_letter_is_that_letter(http: httpx.Client):
    http.post("/v1/runs", json={"workflow": "w", "run_id": "Ab~1"})
    assert raw(http, "GET", "/v1/runs/%41%62%7E1", b"")[0] == 200
    assert raw(http, "GET", "/v1/%72uns/Ab~1", b"")[0] == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE", "QUERY", "PROPFIND"])
@pytest.mark.parametrize("path", ["/v1/runs", "/v1/runs/a", "/v1/runs/%F0%9F%87%BA/stream", "/v1/health"])
def test_another_method_is_told_which_there_are(http: httpx.Client, method: str, path: str):
    status, headers, _ = raw(http, method, path, b"")
    assert status == 405
    assert headers["allow"]
    assert headers["x-request-id"]


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/", "/v2/runs", "/v1/runs/a/b", "/v1/runs/", "//v1/runs", "*"]
)
def test_elsewhere_nothing_is_found(http: httpx.Client, path: str):
    assert raw(http, "GET", path, b"")[0] in (400, 404)
