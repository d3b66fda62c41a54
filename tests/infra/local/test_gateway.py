"""The gateway over a real socket: who may come in, what streams, and what becomes of those who leave."""

import json
import logging
import socket
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from infra.local.clock import Interrupted
from infra.local.door import MAX_BODY

SECONDS = 10


def ok(name, event):
    return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(event)}


def streamed(body, status=200, **headers):
    return SimpleNamespace(status=status, headers={"content-type": "text/event-stream", **headers}, body=body)


def get(served, path, **headers):
    return served.client.get(path, headers=headers)


def test_everyone_on_loopback_is_admin_of_every_namespace(serve):
    event = get(serve(ok), "/v1/runs/x").json()
    assert event["requestContext"]["authorizer"] == {"lambda": {"namespace": "*", "role": "admin"}}


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:4437", "LOCALHOST:9", "127.9.9.9"])
def test_the_names_of_loopback_may_come_in(serve, host):
    assert get(serve(ok), "/v1/health", host=host).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "10.0.0.1:4437", "169.254.169.254", ""]
)
def test_a_foreign_host_is_refused_before_any_function_is_called(serve, host):
    answer = get(serve(), "/v1/runs", host=host)
    assert answer.status_code == 403
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "urn:baton:forbidden"
    assert {"x-request-id", "x-content-type-options", "cache-control"} <= set(answer.headers)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "https://127.0.0.1"])
def test_a_page_of_another_origin_is_refused(serve, origin):
    assert get(serve(), "/v1/runs", origin=origin).status_code == 403


def test_a_page_of_its_own_may_come_in(serve):
    served = serve(ok)
    assert get(served, "/v1/health", origin=served.server.url).status_code == 200


def test_a_body_over_the_limit_is_refused_and_one_at_the_limit_passed_on(serve):
    sizes = []

    def measure(name, event):
        sizes.append(len(event["body"]))
        return {"statusCode": 204}

    client = serve(measure).client
    headers = {"content-type": "application/json"}
    refused = client.post("/v1/runs", content=b" " * (MAX_BODY + 1), headers=headers)
    assert (refused.status_code, refused.json()["type"]) == (413, "urn:baton:payload-too-large")
    assert client.post("/v1/runs", content=b" " * MAX_BODY, headers=headers).status_code == 204
    assert sizes == [MAX_BODY]


def test_cookies_are_set_one_by_one_and_bytes_stay_bytes(serve):
    def answer(name, event):
        return {"statusCode": 200, "cookies": ["a=1", "b=2"], "body": "iVA=", "isBase64Encoded": True}

    got = get(serve(answer), "/v1/health")
    assert got.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert got.content == b"\x89P"


@pytest.mark.parametrize(
    ("method", "path"), [("DELETE", "/v1/runs"), ("GET", "/nowhere"), ("HEAD", "/v1/runs")]
)
def test_what_no_route_matches_is_answered_by_the_default_function(serve, method, path):
    asked = []

    def answer(name, event):
        asked.append((name, event["routeKey"]))
        return {"statusCode": 405, "headers": {"allow": "GET"}, "body": "{}"}

    assert serve(answer).client.request(method, path).status_code == 405
    assert asked == [("meta", "$default")]


def test_a_function_that_fails_is_logged_and_answered_as_api_gateway_does(serve, caplog):
    def fail(name, event):
        raise LookupError("broken on purpose")

    answer = get(serve(fail), "/v1/health")
    assert (answer.status_code, answer.json()) == (500, {"message": "Internal Server Error"})
    assert "broken on purpose" in caplog.text


def test_each_request_has_one_line_in_the_access_log(serve, caplog):
    served = serve(ok)
    with caplog.at_level(logging.INFO, "infra.local.access"):
        served.client.get("/v1/runs?limit=1").raise_for_status()
        assert served.server.stop()  # the line comes after the answer
    assert [record.args[:3] for record in caplog.records if record.name == "infra.local.access"] == [
        ("GET", "/v1/runs?limit=1", 200)
    ]


def test_the_first_chunk_arrives_before_the_second_is_made(serve):
    arrived = threading.Event()

    def body():
        yield b"first"
        assert arrived.wait(SECONDS)
        yield b"second"

    with serve(stream=lambda name, event: streamed(body())).client.stream(
        "GET", "/v1/runs/x/stream"
    ) as answer:
        chunks = answer.iter_raw()
        assert next(chunks) == b"first"
        arrived.set()
        assert b"".join(chunks) == b"second"


def test_nothing_is_made_for_head_or_for_an_answer_without_a_body(serve):
    closed = threading.Event()

    class Untouched:
        def __iter__(self):
            return self

        def __next__(self):
            raise AssertionError("asked for a chunk")

        def close(self):
            closed.set()

    served = serve(stream=lambda name, event: streamed(Untouched(), **{"stream-next-offset": "7"}))
    answer = served.client.head("/v1/runs/x/stream")
    assert (answer.status_code, answer.headers["stream-next-offset"], answer.content) == (200, "7", b"")
    assert closed.wait(SECONDS)
    not_modified = serve(stream=lambda name, event: streamed(Untouched(), status=304))
    assert get(not_modified, "/v1/runs/x/stream").status_code == 304


def test_a_reader_who_leaves_ends_the_stream_also_while_it_sleeps(serve):
    ended = threading.Event()

    def body(clock):
        try:
            yield b"first"
            clock.sleep(SECONDS)
        finally:
            ended.set()

    served: Any = serve(stream=lambda name, event: streamed(body(served.clock)))
    with served.client.stream("GET", "/v1/runs/x/stream") as answer:
        assert next(answer.iter_raw()) == b"first"
    assert ended.wait(SECONDS / 2)


def test_a_stream_that_breaks_is_cut_and_not_ended_as_if_it_were_whole(serve, caplog):
    def body():
        yield b"first"
        raise LookupError("broken on purpose")

    served = serve(stream=lambda name, event: streamed(body()))
    with socket.create_connection(served.client.base_url.netloc.decode().split(":")) as raw:
        raw.settimeout(SECONDS)
        raw.sendall(b"GET /v1/runs/x/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        said = b""
        while more := raw.recv(65536):
            said += more
    assert b"first" in said
    assert not said.endswith(b"0\r\n\r\n")
    assert "broken on purpose" in caplog.text


def test_a_read_whose_reader_left_stops_waiting(serve):
    began, stopped = threading.Event(), threading.Event()

    def wait(name, event):
        began.set()
        try:
            served.clock.sleep(SECONDS)
        except Interrupted:
            stopped.set()
            raise

    served: Any = serve(wait)
    with socket.create_connection(served.client.base_url.netloc.decode().split(":")) as raw:
        raw.sendall(b"GET /v1/runs/x/wait HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert began.wait(SECONDS)
    assert stopped.wait(SECONDS / 2)


def test_a_write_whose_writer_left_is_carried_out(serve):
    began, left, written = threading.Event(), threading.Event(), threading.Event()

    def write(name, event):
        began.set()
        assert left.wait(SECONDS)
        served.clock.sleep(0.01)
        written.set()
        return {"statusCode": 204}

    served: Any = serve(write)
    with socket.create_connection(served.client.base_url.netloc.decode().split(":")) as raw:
        raw.sendall(b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        assert began.wait(SECONDS)
    left.set()
    assert written.wait(SECONDS / 2)
