"""Bytes on the wire that no library would send: each is answered, none does harm, and 5xx is for none."""

from __future__ import annotations

import itertools
import re
import socket
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from infra.local.stack import Stack
from tests.fuzz.wire import address, connect, exchange, parsed, raw

COUNT = itertools.count()
STATUS = re.compile(rb"HTTP/1\.1 (\d+) ")
MB = 1024 * 1024
JSON = "Content-Type: application/json\r\n"


@pytest.fixture
def run(http: httpx.Client) -> str:
    id_ = f"wire-{next(COUNT)}"
    assert http.post("/v1/runs", json={"workflow": "w", "run_id": id_}).status_code == 201
    return f"/v1/runs/{id_}"


def head(http: httpx.Client, start: str, *lines: str) -> bytes:
    host, port = address(http)
    return "\r\n".join((start, f"Host: {host}:{port}", "Connection: close", *lines, "", "")).encode("latin-1")


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (*pieces, b""))


# ---- bodies


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_chunked_body_is_a_body(http: httpx.Client, run: str, size: int):
    body = '{"type":"x","data":"é👩"}'.encode()
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    sent = head(
        http, f"POST {run}/stream HTTP/1.1", "Content-Type: application/json", "Transfer-Encoding: chunked"
    )
    assert parsed(exchange(http, sent + chunked(*pieces)))[0] == 204
    assert http.get(f"{run}/stream").json()[-1]["data"] == "é👩"


@pytest.mark.parametrize(
    "body",
    [
        b"\xff",
        b'"\xc3"',
        b'{"type":"x","data":"\xed\xa0\x80"}',
        b'{"type":"x","data":"\xc0\x80"}',
        b"\x00",
        b"{\x00}",
    ],
)
@pytest.mark.parametrize(
    "media", ["application/json", "application/json; charset=latin-1", "APPLICATION/JSON;"]
)
def test_what_is_no_utf8_is_refused(http: httpx.Client, run: str, body: bytes, media: str):
    answer = http.post(f"{run}/stream", content=body, headers={"Content-Type": media})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["loc"] == ["body"]


def test_utf16_is_no_utf8_whatever_it_is_called(http: httpx.Client, run: str):
    body = '{"type":"x"}'.encode("utf-16")
    answer = http.post(
        f"{run}/stream", content=body, headers={"Content-Type": "application/json; charset=utf-16"}
    )
    assert answer.status_code == 400


@pytest.mark.parametrize("end", ["", "/stream", "/finish", "/cancel", "/resume"])
@pytest.mark.parametrize("over", [10 * MB + 1, 25 * MB])
def test_a_body_over_the_gateways_limit_is_refused(http: httpx.Client, run: str, end: str, over: int):
    answer = http.post(
        f"{run}{end}" if end else "/v1/runs",
        content=b"x" * over,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 413
    assert answer.json()["type"] == "urn:baton:payload-too-large"
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize("end", ["", "/stream", "/finish"])
def test_a_body_over_its_own_limit_is_refused_and_names_the_field(http: httpx.Client, run: str, end: str):
    big = "x" * (9 * MB)
    body = {
        "": {"workflow": "w", "input": big},
        "/stream": [{"type": "x", "data": big}],
        "/finish": {"status": "failed", "output": big},
    }[end]
    answer = http.post(f"{run}{end}" if end else "/v1/runs", json=body)
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:baton:payload-too-large")
    assert answer.json()["errors"]


def test_an_endless_body_is_cut_off(http: httpx.Client, run: str):
    with closing(connect(http)) as wire:
        wire.sendall(
            head(
                http,
                f"POST {run}/stream HTTP/1.1",
                "Content-Type: application/json",
                "Transfer-Encoding: chunked",
            )
        )
        piece = b"%x\r\n%s\r\n" % (MB, b"x" * MB)
        with pytest.raises(OSError, match=r".+"):
            wire.sendall(piece * 100)
    assert http.get("/v1/health").status_code == 200


def test_a_body_that_never_ends_does_nothing(http: httpx.Client, run: str):
    with closing(connect(http)) as wire:
        wire.sendall(
            head(http, f"POST {run}/stream HTTP/1.1", "Content-Type: application/json", "Content-Length: 100")
        )
        wire.sendall(b'{"type":"x"}')
    assert len(http.get(f"{run}/stream").json()) == 1


def test_a_read_with_a_body_is_a_read(http: httpx.Client, run: str):
    assert http.request("GET", run, content=b"\xff" * 1000).status_code == 200
    assert http.request("GET", f"{run}/stream", content=b"{}").status_code == 200
    assert http.request("DELETE", run, content=b"{}").json()["type"] == "urn:baton:in-flight"


def test_a_request_by_drips_is_a_request(http: httpx.Client, run: str):
    sent = head(http, f"GET {run} HTTP/1.1")
    with closing(connect(http)) as wire:
        for at in range(0, len(sent), 3):
            wire.sendall(sent[at : at + 3])
        said = b""
        while chunk := wire.recv(65536):
            said += chunk
    assert parsed(said)[0] == 200


def test_pipelined_requests_are_answered_in_order(http: httpx.Client, run: str):
    host, port = address(http)
    first = f"GET {run} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
    said = exchange(http, first + first + head(http, f"GET {run}x HTTP/1.1"))
    assert STATUS.findall(said) == [b"200", b"200", b"404"]


def test_no_answers_body_waits_until_its_head_is_acknowledged(stack: Stack):
    assert stack._server._listener.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


# ---- headers


@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Length: 5", "Content-Length: 6"],
        ["Content-Length: -1"],
        ["Content-Length: x"],
        ["Content-Length: 99999999999999999999"],
        ["Content-Length: 4", "Transfer-Encoding: chunked"],
        ["Bad Name: x"],
        ["X-Nul: a\x00b"],
        [" folded: x"],
        ["Transfer-Encoding: gzip, nonsense"],
    ],
)
def test_a_head_that_is_none_is_refused(http: httpx.Client, run: str, lines: list[str]):
    said = exchange(http, head(http, f"POST {run}/cancel HTTP/1.1", *lines) + b"0\r\n\r\n")
    assert not said or parsed(said)[0] in (400, 413, 415)
    assert http.get(run).json()["run"]["cancel_requested"] is None


def test_no_header_of_ours_can_be_smuggled_by_a_line_end(http: httpx.Client, run: str):
    for id_ in ("x%0d%0aX-Evil:%201", "x%0aX-Evil:%201"):
        status, headers, _ = raw(http, "GET", f"/v1/runs/{id_}", b"")
        assert status == 404
        assert "x-evil" not in headers
    for query in ("offset=-1%0d%0aX-Evil:%201", "offset=-1&live=long-poll&cursor=1%0d%0aX-Evil:1"):
        status, headers, _ = raw(http, "GET", f"{run}/stream?{query}", b"")
        assert status == 400
        assert "x-evil" not in headers


HEADERS = [
    "Baton-Namespace",
    "Baton-Attempt",
    "Baton-Tail",
    "Idempotency-Key",
    "Producer-Id",
    "Producer-Epoch",
]
HEADERS += ["Producer-Seq", "Stream-Seq", "Stream-Closed", "If-None-Match", "Last-Event-ID", "traceparent"]
HEADERS += ["Content-Type", "Accept", "Cookie", "Authorization", "X-Request-Id", "X-Forwarded-For", "Range"]
VALUES = {
    "non-ascii": "\xe9\xff",
    "utf-8": "é👩".encode().decode("latin-1"),
    "long": "x" * 30_000,
    "commas": "," * 1000,
    "quotes": '"\\"' * 50,
    "percent": "%0d%0a%00",
    "format": "{0.__class__} %s %n ${jndi:x} {{7*7}}",
    "digits": "9" * 5000,
    "minus": "-1",
    "nan": "nan",
}
PATHS = [("GET", ""), ("GET", "/stream"), ("GET", "/stream?offset=-1&live=sse"), ("POST", "/stream")]
PATHS += [("POST", "/finish"), ("POST", "/resume"), ("POST", "/cancel")]


@pytest.mark.slow
@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("value", VALUES)
def test_no_header_makes_a_fault_of_ours(http: httpx.Client, run: str, name: str, value: str):
    for method, end in PATHS:
        body = {"/stream": b'{"type":"x"}', "/finish": b'{"status":"failed","resumable":true}'}.get(
            end, b"{}"
        )
        status, headers, _ = raw(
            http,
            method,
            run + end,
            body if method == "POST" else b"",
            **{name.replace("-", "_"): VALUES[value]},
        )
        assert status < 500, (method, end)
        assert headers.get("x-request-id") != VALUES[value]


@pytest.mark.parametrize("name", [name for name in HEADERS if name != "Cookie"])
def test_a_header_that_comes_twice_is_its_list(http: httpx.Client, run: str, name: str):
    for method, end in PATHS:
        lines = [f"{name}: 1", f"{name}: 2"]
        body = {"/stream": b'{"type":"x"}', "/finish": b'{"status":"failed"}'}.get(end, b"{}")
        if method == "POST":
            lines.append(f"Content-Length: {len(body)}")
        sent = head(http, f"{method} {run}{end} HTTP/1.1", *lines)
        assert parsed(exchange(http, sent + (body if method == "POST" else b"")))[0] < 500


def test_many_headers_and_long_ones_are_borne_or_refused(http: httpx.Client, run: str):
    for lines in ([f"X-{n}: {n}" for n in range(2000)], ["X-Long: " + "x" * 500_000]):
        said = exchange(http, head(http, f"GET {run} HTTP/1.1", *lines))
        assert not said or parsed(said)[0] in (200, 400, 431)
    assert http.get("/v1/health").status_code == 200


@pytest.mark.parametrize(
    "query",
    [
        "a" * 60_000,
        "&" * 30_000,
        "state=running&" * 2000,
        "%" * 1000,
        "offset=%FF",
        "=&=&=",
        "offset=-1&offset=-1",
        "OFFSET=-1",
        "offset[]=-1",
        "live=sse%00",
    ],
)
@pytest.mark.parametrize("end", ["", "/stream", "/wait"])
def test_no_query_makes_a_fault_of_ours(http: httpx.Client, run: str, query: str, end: str):
    http.post(f"{run}/finish", json={"status": "failed"})  # so that there is nothing to wait for
    for path in (f"{run}{end}?{query}", f"/v1/runs?{query}"):
        said = exchange(http, head(http, f"GET {path} HTTP/1.1"))
        assert not said or parsed(said)[0] in (200, 400, 414, 431), path[:80]


# ---- who may come in


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "[::1",
        "127.0.0.1@evil.example",
        "0.0.0.0",
        "evil.example#localhost",
    ],
)
def test_a_foreign_host_stays_outside(http: httpx.Client, host: str):
    said = exchange(http, f"GET /v1/runs HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert parsed(said)[0] in (400, 403)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1", "file://"]
)
def test_a_foreign_page_stays_outside(http: httpx.Client, run: str, origin: str):
    for method, end in PATHS:
        assert http.request(method, run + end, headers={"Origin": origin}).status_code == 403
    assert http.get(run, headers={"Origin": str(http.base_url).rstrip("/")}).status_code == 200


def test_what_stands_in_a_refused_body_is_no_request(http: httpx.Client, run: str):
    host, port = address(http)
    hidden = head(http, f"POST {run}/cancel HTTP/1.1", "Content-Length: 2") + b"{}"
    first = f"POST {run}/stream HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: http://evil.example\r\n"
    refused = (
        f"{first}Content-Type: application/json\r\nContent-Length: {len(hidden)}\r\n\r\n".encode() + hidden
    )
    said = exchange(http, refused + head(http, f"GET {run} HTTP/1.1"))
    assert STATUS.findall(said) in ([b"403", b"200"], [b"403"])
    assert http.get(run).json()["run"]["cancel_requested"] is None


def test_two_hosts_are_none(http: httpx.Client):
    host, port = address(http)
    sent = f"GET /v1/runs HTTP/1.1\r\nHost: {host}:{port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert parsed(exchange(http, sent.encode()))[0] in (400, 403)


def test_an_absolute_target_is_held_against_the_host(http: httpx.Client):
    said = exchange(http, head(http, "GET http://evil.example/v1/runs HTTP/1.1"))
    assert not said or parsed(said)[0] in (200, 400, 403, 404)


@pytest.mark.parametrize(
    "line", ["Upgrade: websocket\r\nConnection: Upgrade", "Upgrade: h2c", "TE: trailers", "Via: 1.1 x"]
)
def test_another_protocol_is_not_spoken(http: httpx.Client, run: str, line: str):
    said = exchange(http, head(http, f"GET {run} HTTP/1.1", line))
    assert parsed(said)[0] == 200


def test_who_asks_before_sending_a_body_is_told_to_go_on(http: httpx.Client, run: str):
    body = b'{"type":"x"}'
    lines = ["Expect: 100-continue", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    with closing(connect(http)) as wire:
        wire.sendall(head(http, f"POST {run}/stream HTTP/1.1", *lines))
        assert STATUS.findall(wire.recv(1000)) == [b"100"]
        wire.sendall(body)
        assert STATUS.findall(wire.recv(1000)) == [b"204"]


def test_a_request_of_http_1_0_needs_a_host_too(http: httpx.Client, run: str):
    host, port = address(http)
    assert parsed(exchange(http, f"GET {run} HTTP/1.0\r\n\r\n".encode()))[0] == 403
    said = exchange(
        http, f"GET {run}/stream?offset=-1&live=sse HTTP/1.0\r\nHost: {host}:{port}\r\n\r\n".encode()
    )
    assert parsed(said)[0] == 200
    assert b"upToDate" in said


# ---- HEAD


def test_a_head_says_what_get_would_and_nothing_more(http: httpx.Client, run: str) -> None:
    status, headers, body = raw(http, "HEAD", f"{run}/stream", b"")
    assert (status, body) == (200, b"")
    assert headers["stream-next-offset"] == "0000000000000001_00000"
    assert headers["content-type"] == "application/json"
    assert headers["cache-control"] == "no-store"
    for path in (f"{run}x/stream", f"{run}/stream?live=sse&offset=-1", f"{run}/stream?offset=junk"):
        assert raw(http, "HEAD", path, b"")[2] == b""


def test_after_a_head_the_connection_is_of_use(http: httpx.Client, run: str) -> None:
    def lines() -> Iterator[str]:
        host, port = address(http)
        for target in (f"HEAD {run}/stream", f"HEAD {run}x/stream", f"GET {run}"):
            yield (
                f"{target} HTTP/1.1\r\nHost: {host}:{port}\r\n"
                + ("Connection: close\r\n" if "GET" in target else "")
                + "\r\n"
            )

    said = exchange(http, "".join(lines()).encode())
    assert STATUS.findall(said) == [b"200", b"404", b"200"]
