"""GET /v1/runs/{id}/stream?live=sse: the same frames from a gateway that streams and from one that can't."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pytest

from baton.api import streaming
from baton.errors import NotFound
from tests.functions.lambdas import Lambdas
from tests.unit.house import House


class Frame(NamedTuple):
    kind: str
    data: Any
    id: str | None = None


def _frames(chunks: Iterable[bytes]) -> Iterator[Frame]:
    """Frames as an EventSource reads them, comments and ``retry`` too. Source: WHATWG HTML, 9.2.6."""
    for block in b"".join(chunks).decode().split("\n\n"):
        if not block:
            continue
        fields: dict[str, list[str]] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))
        if "event" in fields:
            data = json.loads("\n".join(fields["data"]))
            yield Frame(fields["event"][0], data, fields.get("id", [None])[0])
        else:
            yield from (Frame(name or "comment", values[0]) for name, values in fields.items())


def _live(api: Lambdas, run_id: str, offset: str | None = "-1", **request: Any) -> list[Frame]:
    query = {"live": "sse", **({} if offset is None else {"offset": offset})}
    streamed = api.stream(f"/v1/runs/{run_id}/stream", query=query, **request)
    assert (streamed.status, streamed.headers["Content-Type"]) == (200, "text/event-stream")
    return list(_frames(streamed.body))


def _buffered(api: Lambdas, run_id: str, offset: str) -> list[Frame]:
    answer = api.call("GET", f"/v1/runs/{run_id}/stream", query={"live": "sse", "offset": offset})
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    return list(_frames([answer.body]))


def _types(frames: list[Frame]) -> list[str]:
    return [message["type"] for frame in frames if frame.kind == "data" for message in frame.data]


@pytest.fixture
def run_id(api: Lambdas) -> str:
    return str(api.start(run_id="the-run")["id"])


def test_a_reader_gets_the_past_then_what_comes_then_the_end(api: Lambdas, house: House, run_id: str):
    house.clock.plan(2, lambda: api.append(run_id, {"type": "a"}))
    house.clock.plan(9, lambda: api.append(run_id, {"type": "b"}, {"type": "c"}))
    house.clock.plan(11, lambda: api.finish(run_id, output="\r\n\u2028"))
    frames = _live(api, run_id)
    assert frames[0] == Frame("retry", "1000")
    assert _types(frames) == ["start", "a", "b", "c", "end"]
    spoken = frames[1:]
    assert [frame.kind for frame in spoken] == ["data", "control"] * 4
    for data, control in zip(spoken[::2], spoken[1::2], strict=True):
        assert data.id == control.data["streamNextOffset"]
        assert control.data["upToDate"] is True
    last = spoken[-1].data
    assert last == {"streamNextOffset": last["streamNextOffset"], "streamClosed": True, "upToDate": True}
    assert all("streamCursor" in frame.data for frame in spoken[1:-1:2])


def test_cursors_rise_along_a_stream(api: Lambdas, house: House, run_id: str):
    for second in (1, 2, 30):
        house.clock.plan(second, lambda: api.append(run_id))
    frames = _live(api, run_id, seconds=40)
    cursors = [int(frame.data["streamCursor"]) for frame in frames if frame.kind == "control"]
    assert len(cursors) == 4
    assert sorted(set(cursors)) == cursors


def test_at_the_tail_of_an_open_log_a_control_frame_comes_first(api: Lambdas, run_id: str):
    tail = api.read(run_id).headers["stream-next-offset"]
    for offset in (tail, "now"):
        _, first, *rest = _live(api, run_id, offset)
        assert first.kind == "control"
        assert first.data["upToDate"] is True
        assert first.data["streamNextOffset"] == tail
        assert {frame.kind for frame in rest} == {"comment"}


@pytest.mark.parametrize("offset", ["tail", "now"])
def test_a_settled_logs_end_is_told_at_once_and_that_is_all(
    api: Lambdas, house: House, run_id: str, offset: str
):
    tail = api.finish(run_id)["next_offset"]
    wanted = [Frame("control", {"streamNextOffset": tail, "streamClosed": True, "upToDate": True})]
    at = tail if offset == "tail" else offset
    assert _live(api, run_id, at)[1:] == _buffered(api, run_id, at)[1:] == wanted
    assert house.clock.slept == []


def test_a_quiet_stream_says_every_15_seconds_that_it_is_there_and_ends_in_its_window(
    api: Lambdas, house: House, run_id: str
):
    frames = _live(api, run_id, "now")
    assert [frame.kind for frame in frames] == ["retry", "control", "comment", "comment", "comment"]
    assert sum(house.clock.slept) == pytest.approx(55)


def test_a_window_ends_before_the_functions_time(api: Lambdas, house: House, run_id: str):
    _live(api, run_id, "now", seconds=12)
    assert sum(house.clock.slept) == pytest.approx(11)


def test_where_it_left_off_a_reader_goes_on_without_gap_or_repeat(api: Lambdas, house: House, run_id: str):
    api.append(run_id, {"type": "a"})
    first = _live(api, run_id, seconds=2)
    [last_id] = [frame.id for frame in first if frame.kind == "data"]
    api.append(run_id, {"type": "b"})
    api.finish(run_id)
    for offset in ("-1", "now", None, "malformed"):
        assert _types(_live(api, run_id, offset, last_event_id=last_id)) == ["b", "end"]


def test_a_malformed_last_event_id_is_named(api: Lambdas, run_id: str):
    for value in ("x", "0000000000000009_00000"):
        query = {"live": "sse", "offset": "-1"}
        answer = api.call("GET", f"/v1/runs/{run_id}/stream", query=query, last_event_id=value)
        assert answer.loc == ["header", "Last-Event-ID"]


def test_a_last_event_id_means_nothing_to_other_reads(api: Lambdas, run_id: str):
    answer = api.read(run_id, last_event_id="0000000000000001_00000")
    assert [message["type"] for message in answer.json] == ["start"]


def test_a_buffered_gateway_gets_the_answer_as_soon_as_there_is_something_to_say(
    api: Lambdas, house: House, run_id: str
):
    house.clock.plan(4, lambda: api.append(run_id, {"type": "a"}))
    house.clock.plan(5, lambda: api.append(run_id, {"type": "b"}))
    assert _types(_buffered(api, run_id, "-1")) == ["start"]
    assert house.clock.slept == []
    assert _types(_buffered(api, run_id, "now")) == ["a"]
    assert sum(house.clock.slept) < 5


def test_a_buffered_gateway_waits_20_seconds_at_most(api: Lambdas, house: House, run_id: str):
    assert _types(_buffered(api, run_id, "now")) == []
    assert sum(house.clock.slept) == pytest.approx(20)


def test_what_is_refused_is_refused_before_the_first_byte(api: Lambdas, run_id: str):
    refusals: list[tuple[str, dict[str, Any], int]] = [
        ("absent", {}, 404),
        (run_id, {"authorizer": {}}, 401),
        (run_id, {"baton_namespace": "other"}, 404),
        (run_id, {"query": {"live": "sse"}}, 400),
        (run_id, {"query": {"live": "sse", "offset": "x"}}, 400),
    ]
    for id_, request, status in refusals:
        asked = {"query": {"live": "sse", "offset": "-1"}, **request}
        streamed = api.stream(f"/v1/runs/{id_}/stream", **asked)
        assert streamed.status == status
        assert streamed.headers["Content-Type"] == "application/problem+json"
        assert json.loads(b"".join(streamed.body))["status"] == status


def test_other_reads_pass_through_the_streaming_door_unchanged(api: Lambdas, run_id: str):
    for query in ({"offset": "-1"}, {"offset": "-1", "live": "long-poll"}):
        whole = api.call("GET", f"/v1/runs/{run_id}/stream", query=query)
        streamed = api.stream(f"/v1/runs/{run_id}/stream", query=query)
        assert (streamed.status, b"".join(streamed.body)) == (200, whole.body)


def test_a_reader_that_leaves_ends_the_reading(api: Lambdas, house: House, run_id: str):
    streamed = api.stream(f"/v1/runs/{run_id}/stream", query={"live": "sse", "offset": "now"})
    body = streamed.body
    assert next(body).startswith(b"retry:")
    body.close()  # type: ignore[attr-defined]
    assert list(body) == []
    assert house.clock.slept == []


def test_a_stream_that_breaks_ends_so_that_its_reader_comes_again(
    api: Lambdas, run_id: str, monkeypatch: pytest.MonkeyPatch
):
    for fault in (NotFound("gone"), RuntimeError("a fault of ours")):

        def read(*_args: Any, _fault: Exception = fault, **_kwargs: Any) -> Any:
            raise _fault

        streamed = api.stream(f"/v1/runs/{run_id}/stream", query={"live": "sse", "offset": "now"})
        monkeypatch.setattr(api.runtime.streams, "read", read)
        assert [frame.kind for frame in _frames(streamed.body)] == ["retry", "control"]
        monkeypatch.undo()


def test_a_frame_holds_whatever_lines_its_data_has():
    assert streaming.event("data", b"a\r\nb\rc\nd", "7") == (
        b"event: data\nid: 7\ndata: a\ndata: b\ndata: c\ndata: d\n\n"
    )
    assert streaming.event("control", b"") == b"event: control\ndata: \n\n"
