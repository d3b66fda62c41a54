"""Live readers who come late, leave early, read slowly or come in crowds: each sees every message once."""

from __future__ import annotations

import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import httpx
import pytest

from infra.local.stack import Stack
from tests.fuzz.frames import Frame, frames
from tests.fuzz.wire import connect, raw

COUNT = itertools.count()
READERS = 60
PATIENCE = 60.0


@pytest.fixture
def run(client: httpx.Client) -> str:
    id_ = f"live-{next(COUNT)}"
    assert client.post("/v1/runs", json={"workflow": "w", "run_id": id_}).status_code == 201
    return f"/v1/runs/{id_}"


def append(client: httpx.Client, run: str, *data: Any) -> str:
    answer = client.post(f"{run}/stream", json=[{"type": "x", "data": each} for each in data])
    assert answer.status_code == 204
    return str(answer.headers["stream-next-offset"])


def finish(client: httpx.Client, run: str) -> None:
    assert client.post(f"{run}/finish", json={"status": "completed"}).status_code == 200


def under_way(stack: Stack) -> int:
    return len(stack._server._in_flight._calls)


def settled_down(stack: Stack, client: httpx.Client) -> bool:
    """Whether nothing but the asking itself is under way, soon."""
    return any(client.get("/v1/health").is_success and under_way(stack) == 0 for _ in range(3000))


def seqs(said: list[Frame]) -> list[int]:
    return [message["seq"] for frame in said if frame.event == "data" for message in json.loads(frame.data)]


class Reader:
    """One connection to an event stream, read as far as wanted."""

    def __init__(self, client: httpx.Client, run: str, **query: str) -> None:
        self._open = client.stream("GET", f"{run}/stream", params={"live": "sse", "offset": "-1", **query})
        self.said = b""

    def __enter__(self) -> Reader:
        self.answer = self._open.__enter__()
        self._pieces = self.answer.iter_raw()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._open.__exit__(*exc)

    def upto(self, mark: bytes) -> bytes:
        """Read on until ``mark`` has been said."""
        while mark not in self.said:
            self.said += next(self._pieces)
        return self.said

    def rest(self) -> list[Frame]:
        """All frames, to the end."""
        self.said += b"".join(self._pieces)
        return frames(self.said)


def test_a_crowd_of_readers_who_come_at_any_time_sees_everything_once(client: httpx.Client, run: str):
    joined = threading.Barrier(READERS // 2 + 1)

    def read(number: int) -> list[int]:
        with Reader(client, run) as reader:
            if number < READERS // 2:
                reader.upto(b"upToDate")
                joined.wait(PATIENCE)
            return seqs(reader.rest())

    with ThreadPoolExecutor(READERS) as crowd:
        reading = [crowd.submit(read, number) for number in range(READERS // 2)]
        joined.wait(PATIENCE)
        for number in range(20):
            append(client, run, number, number)
            if number == 10:
                reading += [crowd.submit(read, READERS) for _ in range(READERS // 2)]
        finish(client, run)
        seen = [each.result(PATIENCE) for each in reading]
    assert len(seen) == READERS
    assert all(each == list(range(42)) for each in seen)


def test_a_reader_who_drops_and_rejoins_by_the_last_id_misses_and_repeats_nothing(
    client: httpx.Client, run: str
):
    seen: list[int] = []
    last = ""
    for number in range(6):
        append(client, run, *range(number + 1))
        headers = {"Last-Event-ID": last} if last else {}
        query = {"live": "sse"} if last else {"live": "sse", "offset": "-1"}
        with client.stream("GET", f"{run}/stream", params=query, headers=headers) as answer:
            said = b""
            for piece in answer.iter_raw():
                said += piece
                if b"upToDate" in said and said.endswith(b"\n\n"):
                    break
        got = frames(said)
        seen += seqs(got)
        last = [frame.id for frame in got if frame.id][-1] or ""
    assert seen == list(range(1 + sum(range(1, 7))))


def test_a_reader_who_is_gone_is_let_go(patient: Stack, client: httpx.Client, run: str):
    for _ in range(3):
        readers = [Reader(client, run) for _ in range(20)]
        for reader in readers:
            reader.__enter__().upto(b"upToDate")
        assert under_way(patient) == 20
        for reader in readers:
            reader.__exit__(None, None, None)
        assert settled_down(patient, client)


@pytest.mark.parametrize("query", ["live=long-poll&offset=now", "live=sse&offset=now"])
def test_one_who_hangs_up_before_any_answer_is_let_go(
    patient: Stack, client: httpx.Client, run: str, query: str
):
    for _ in range(10):
        with closing(connect(client)) as wire:
            host, port = wire.getpeername()
            wire.sendall(f"GET {run}/stream?{query} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    assert settled_down(patient, client)


def test_a_wait_that_nobody_waits_for_ends(patient: Stack, client: httpx.Client, run: str):
    wires = [connect(client) for _ in range(5)]
    for wire in wires:
        host, port = wire.getpeername()
        wire.sendall(f"GET {run}/wait HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    for wire in wires:
        wire.close()
    assert settled_down(patient, client)


def test_one_who_does_not_read_holds_nobody_up(patient: Stack, client: httpx.Client, run: str):
    for _ in range(12):
        append(client, run, "x" * 250_000)
    stalled = [connect(client) for _ in range(10)]
    for wire in stalled:
        host, port = wire.getpeername()
        wire.sendall(f"GET {run}/stream?live=sse&offset=-1 HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    append(client, run, "last")
    finish(client, run)
    with Reader(client, run) as reader:
        assert seqs(reader.rest()) == list(range(15))
    for wire in stalled:
        wire.close()
    assert settled_down(patient, client)


def test_a_stream_goes_on_through_cancel_and_ends_with_the_end(client: httpx.Client, run: str):
    with Reader(client, run, offset="now") as reader:
        reader.upto(b"upToDate")
        client.post(f"{run}/cancel", json={"reason": "r\r\n\r\nevent: control\ndata: {}"})
        reader.upto(b'"type":"cancel"')
        append(client, run, "bye")
        finish(client, run)
        said = reader.rest()
    assert seqs(said) == [1, 2, 3]
    assert [frame.event for frame in said if frame.event not in ("data", "control")] == []
    assert b'"streamClosed":true' in said[-1].data


def test_a_stream_that_was_open_when_its_run_was_deleted_and_made_anew_ends_with_its_own_end(
    client: httpx.Client, run: str
):
    with Reader(client, run) as reader:
        reader.upto(b"upToDate")
        finish(client, run)
        assert client.delete(run).status_code == 204
        client.post("/v1/runs", json={"workflow": "w", "run_id": run.rpartition("/")[2], "input": "new life"})
        append(client, run, "new", "new")
        said = reader.rest()
    assert seqs(said) == [0, 1]
    assert b"new" not in b"".join(frame.data for frame in said)


def test_a_comment_goes_out_while_nothing_is_said(client: httpx.Client, run: str):
    with Reader(client, run, offset="now") as reader:
        reader.upto(b":\n\n:\n\n")
        finish(client, run)
        assert seqs(reader.rest()) == [1]


GARBAGE = ["", "-2", "x", "0", "0000000000000001", "0000000000000001_00000;", "now,", "9" * 22, "é", "-1,-1"]
GARBAGE += ["0000000000000001_99999", "9999999999999999_99999", "0000000000000099_00000", "x" * 20_000, "%00"]


@pytest.mark.parametrize("last_id", GARBAGE)
def test_a_last_event_id_that_is_no_offset_of_this_log_is_refused_before_the_first_byte(
    client: httpx.Client, run: str, last_id: str
):
    sent = {b"Last-Event-ID": last_id.encode()}
    for query in ("live=sse", "live=sse&offset=-1"):
        answer = client.get(f"{run}/stream?{query}", headers=sent)
        assert answer.status_code == 400
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["errors"][0]["loc"] == ["header", "Last-Event-ID"]


def test_a_last_event_id_is_nothing_to_the_other_reads(client: httpx.Client, run: str):
    for query in ("", "?offset=-1", "?offset=-1&live=long-poll"):
        assert client.get(f"{run}/stream{query}", headers={"Last-Event-ID": "junk"}).status_code == 200


def test_a_head_of_a_live_read_does_not_wait(client: httpx.Client, run: str):
    for live in ("sse", "long-poll"):
        status, headers, body = raw(client, "HEAD", f"{run}/stream?offset=now&live={live}", b"")
        assert (status, body) == (200, b"")
        assert headers["stream-next-offset"] == "0000000000000001_00000"


@pytest.mark.parametrize("cursor", ["0", "1", "9" * 15, "99999999"])
def test_a_cursor_never_goes_back(client: httpx.Client, run: str, cursor: str):
    answer = client.get(f"{run}/stream?offset=-1&live=long-poll&cursor={cursor}")
    assert int(answer.headers["stream-cursor"]) > int(cursor)
    following = answer.headers["stream-cursor"]
    if len(following) <= 15:
        again = client.get(f"{run}/stream?offset=-1&live=long-poll&cursor={following}")
        assert int(again.headers["stream-cursor"]) > int(following)


@pytest.mark.parametrize("live", ["", "&live=long-poll", "&live=sse"])
@pytest.mark.parametrize(
    "offset",
    ["0000000000000000_00001", "0000000000000002_00000", "0000000000000001_00003", "0000000000000004_00001"],
)
def test_an_offset_that_never_was_is_refused_before_the_first_byte(
    client: httpx.Client, run: str, offset: str, live: str
):
    append(client, run, 1, 2, 3)
    append(client, run, 4, 5)
    append(client, run, 6)
    for where in ("1_00001", "1_00002", "4_00000"):
        assert client.get(f"{run}/stream?offset=000000000000000{where}").status_code == 200
    answer = client.get(f"{run}/stream?offset={offset.replace('4_00001', '3_00000')}{live}")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["loc"] == ["query", "offset"]
    if live == "&live=sse":
        last = client.get(
            f"{run}/stream?live=sse", headers={"Last-Event-ID": offset.replace("4_00001", "3_00000")}
        )
        assert last.json()["errors"][0]["loc"] == ["header", "Last-Event-ID"]
