"""A client of the Durable Streams protocol that knows nothing of Baton reads a run's log and appends to it.

The public package is of an older protocol, without closure: in a live read it goes on after the end, so these
tests stop when they have seen it. Nor does it send an `offset` of its own in a live read, where the protocol
asks for one, or come back when an event stream ends.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from durable_streams import DurableStream, SeqConflictError, StreamNotFoundError, stream

COUNT = itertools.count()
START = "-1"


@pytest.fixture
def url(client: httpx.Client) -> str:
    """A run's log."""
    id_ = f"durable-{next(COUNT)}"
    made = client.post("/v1/runs", json={"workflow": "w", "run_id": id_, "input": {"né": 0.1}})
    assert made.status_code == 201
    return f"{client.base_url}/v1/runs/{id_}/stream"


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "note", "data": text, **more}


def finish(client: httpx.Client, url: str) -> None:
    path = url.removeprefix(str(client.base_url)).replace("/stream", "/finish")
    assert client.post(path, json={"status": "completed"}).status_code == 200


def until_end(messages: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        yield message
        if message["type"] == "end":
            return


def test_it_finds_the_log_and_appends(client: httpx.Client, url: str):
    log = DurableStream.connect(url, client=client)
    head = log.head()
    assert (head.exists, head.content_type, head.offset) == (
        True,
        "application/json",
        "0000000000000001_00000",
    )
    first = log.append(said("\u2028 line\r\nends 👩"))
    second = log.append(said("2"), seq="a")
    assert first.next_offset < second.next_offset == log.head().offset
    with log.stream(live=False) as reading:
        messages = list(reading.iter_json())
    assert [message["seq"] for message in messages] == [0, 1, 2]
    assert [message["data"] for message in messages[1:]] == ["\u2028 line\r\nends 👩", "2"]
    assert messages[0]["data"]["input"] == {"né": 0.1}


def test_it_reads_on_from_an_offset(client: httpx.Client, url: str):
    log = DurableStream.connect(url, client=client)
    offset = log.append(said("1")).next_offset
    log.append(said("2"))
    with stream(url, offset=offset, live=False, client=client) as reading:
        assert [message["data"] for message in reading.iter_json()] == ["2"]


@pytest.mark.parametrize("live", ["long-poll", "sse", "auto"])
def test_it_follows_the_log_over_many_answers(client: httpx.Client, url: str, live: Any):
    log = DurableStream.connect(url, client=client)
    seen = []
    with stream(url, offset=START, live=live, client=client) as reading:
        for message in until_end(reading.iter_json()):
            seen.append(message["seq"])
            if message["seq"] < 5:
                log.append(said(f"after {message['seq']}"))
            elif message["type"] != "end":
                finish(client, url)
    assert seen == list(range(7))


def test_it_is_told_of_a_sequence_that_goes_back_and_of_a_log_that_is_closed(client: httpx.Client, url: str):
    log = DurableStream.connect(url, client=client)
    log.append(said("1"), seq="b")
    with pytest.raises(SeqConflictError):
        log.append(said("2"), seq="a")
    finish(client, url)
    with pytest.raises(SeqConflictError):
        log.append(said("3"), seq="c")
    with stream(url, live=False, client=client) as reading:
        assert [message["type"] for message in reading.iter_json()] == ["start", "note", "end"]


def test_it_is_told_that_there_is_no_log(client: httpx.Client, url: str):
    with pytest.raises(StreamNotFoundError):
        DurableStream.connect(url.replace("/stream", "x/stream"), client=client)
