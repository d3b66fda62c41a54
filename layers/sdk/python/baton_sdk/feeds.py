"""The three ways to read a log over HTTP: a page at once, long-poll, and server-sent events. Each yields
pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
from httpx_sse import EventSource, ServerSentEvent

from baton_sdk import payload
from baton_sdk.errors import BadAnswer, BatonError
from baton_sdk.log import START, Page, events_from, next_offset
from baton_sdk.transport import Request, Transport, reading

LIVE_READ_TIMEOUT = 45.0
"""Seconds of silence after which a live connection counts as dead: three of the server's comments, two
long-polls."""

# What a gateway that can't stream may say to the question for SSE.
_NO_SSE = frozenset({405, 406, 415, 501})


class SseNotOffered(Exception):
    """The answer is no event stream: read on by long-poll."""


def read_page(transport: Transport, path: str, offset: str) -> Page:
    """What the log holds from ``offset``, at once."""
    request = Request(method="GET", path=path, params={"offset": offset}, repeatable=True)
    return _page(transport.send(request))


def long_poll(transport: Transport, path: str, offset: str, cursor: str | None) -> Iterator[Page]:
    """One page as soon as there is something after ``offset``, an empty one when the server's window has
    passed."""
    request = _live(path, offset, cursor, "long-poll", {})
    yield _page(transport.send_once(request))


def server_sent(transport: Transport, path: str, offset: str, cursor: str | None) -> Iterator[Page]:
    """A page per frame until the server ends the connection. Raises SseNotOffered, or Unreachable when
    cut."""
    resumed = {} if offset == START else {"last-event-id": offset}
    request = _live(path, offset, cursor, "sse", {"accept": "text/event-stream", **resumed})
    try:
        with transport.stream(request) as response:
            if "text/event-stream" not in response.headers.get("content-type", ""):
                raise SseNotOffered
            yield from _frames(response, transport.address.url)
    except BatonError as error:
        if error.status in _NO_SSE:
            raise SseNotOffered from error
        raise


def _live(path: str, offset: str, cursor: str | None, live: str, headers: dict[str, str]) -> Request:
    # Parameters in lexicographic order: caches on the way then see one URL (protocol, section 10).
    params = {"cursor": cursor, "live": live, "offset": offset}
    return Request(
        method="GET",
        path=path,
        params={name: value for name, value in params.items() if value is not None},
        headers=headers,
        repeatable=True,
        read_timeout=LIVE_READ_TIMEOUT,
    )


def _page(response: httpx.Response) -> Page:
    headers = response.headers
    return Page(
        events=events_from(payload.decode(response.content)) if response.content else (),
        next_offset=next_offset(headers),
        cursor=headers.get("stream-cursor"),
        up_to_date=_true(headers.get("stream-up-to-date")),
        closed=_true(headers.get("stream-closed")),
    )


def _frames(response: httpx.Response, url: str) -> Iterator[Page]:
    # A frame counts only when its closing blank line has come: what a dropped connection cut off is read
    # again.
    frames = EventSource(response).iter_sse()
    while True:
        with reading(url):
            frame = next(frames, None)
        if frame is None:
            return
        page = _frame(frame)
        if page is not None:
            yield page


def _frame(frame: ServerSentEvent) -> Page | None:
    if frame.event == "data":
        return Page(events=events_from(payload.decode(frame.data)), next_offset=frame.id or None)
    if frame.event == "control":
        return _control(payload.decode(frame.data))
    return None  # a comment's blank line, or an event of a later version


def _control(control: Any) -> Page:
    if not isinstance(control, dict):
        raise BadAnswer("a control frame of the log is not a JSON object")
    return Page(
        next_offset=control.get("streamNextOffset"),
        cursor=control.get("streamCursor"),
        up_to_date=bool(control.get("upToDate") or control.get("streamClosed")),
        closed=bool(control.get("streamClosed")),
    )


def _true(value: str | None) -> bool:
    return (value or "").lower() == "true"
