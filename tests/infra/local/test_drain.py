"""Stopping: nothing new comes in, what is under way ends, and what would not end is ended."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

SECONDS = 10


def streamed(media, body):
    return SimpleNamespace(status=200, headers={"Content-Type": media}, body=body)


@pytest.fixture
def caller():
    with ThreadPoolExecutor(4) as threads:
        yield threads


def test_a_request_under_way_is_answered_and_the_next_is_not_taken(serve, caller):
    began, go_on = threading.Event(), threading.Event()

    def slow(name, event):
        began.set()
        assert go_on.wait(SECONDS)
        return {"statusCode": 201}

    served = serve(slow)
    answer = caller.submit(served.client.post, "/v1/runs")
    assert began.wait(SECONDS)
    stopping = caller.submit(served.server.stop)
    go_on.set()
    assert answer.result(SECONDS).status_code == 201
    assert stopping.result(SECONDS)
    with pytest.raises(httpx.ConnectError):
        httpx.post(f"{served.server.url}/v1/runs")


def test_a_live_stream_is_ended_as_a_whole_answer(serve, caller):
    closed = threading.Event()

    def body():
        try:
            yield b"first"
            served.clock.sleep(60)
            yield b"never"
        finally:
            closed.set()

    served: Any = serve(stream=lambda name, event: streamed("text/event-stream", body()))
    with served.client.stream("GET", "/v1/runs/x/stream") as answer:
        chunks = answer.iter_raw()
        assert next(chunks) == b"first"
        stopping = caller.submit(served.server.stop)
        assert list(chunks) == []
    assert stopping.result(SECONDS)
    assert closed.is_set()


def test_an_answer_under_way_that_is_no_event_stream_is_given_whole(serve, caller):
    go_on = threading.Event()

    def body():
        yield b"["
        assert go_on.wait(SECONDS)
        yield b"]"

    served = serve(stream=lambda name, event: streamed("application/json", body()))
    with served.client.stream("GET", "/v1/runs/x/stream") as answer:
        chunks = answer.iter_raw()
        assert next(chunks) == b"["
        stopping = caller.submit(served.server.stop)
        go_on.set()
        assert b"".join(chunks) == b"]"
    assert stopping.result(SECONDS)


def test_an_answer_that_can_not_be_given_whole_is_cut_and_not_ended(serve, caller):
    def body():
        yield b"["
        served.clock.sleep(60)
        yield b"]"

    served: Any = serve(stream=lambda name, event: streamed("application/json", body()))
    with served.client.stream("GET", "/v1/runs/x/stream") as answer:
        chunks = answer.iter_raw()
        assert next(chunks) == b"["
        stopping = caller.submit(served.server.stop)
        with pytest.raises(httpx.RemoteProtocolError):
            list(chunks)
    assert stopping.result(SECONDS)


def test_a_request_that_waits_for_something_is_told_to_come_again(serve, caller):
    began = threading.Event()

    def wait(name, event):
        began.set()
        served.clock.sleep(60)

    served: Any = serve(wait)
    answer = caller.submit(served.client.get, "/v1/runs/x/wait")
    assert began.wait(SECONDS)
    assert served.server.stop()
    refused = answer.result(SECONDS)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json()["type"] == "urn:baton:unavailable"
