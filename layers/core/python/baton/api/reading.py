"""Reading a log over HTTP as the Durable Streams protocol has it: at once, by long poll, by SSE."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from baton.api import models, response, streaming
from baton.api.identity import Caller
from baton.api.request import JSON, Request
from baton.api.response import Response
from baton.domain.clock import Millis, millis, recent
from baton.domain.offset import NOW, START, Offset
from baton.errors import BatonError, InvalidRequest, TryAgain
from baton.observability import logger
from baton.services.streams import Chunk, Reading

if TYPE_CHECKING:
    from baton.services.runtime import Runtime

EVENTS = "text/event-stream"
RETRY_MILLIS = 1000
BUFFERED_SECONDS = 20
"""How long an event stream waits for its first word where the gateway passes on only whole answers."""

# Source: protocol, 10.1.
CURSOR_EPOCH: Millis = 1_728_432_000_000
CURSOR_SECONDS = 20
CURSOR_JITTER_SECONDS = 3600

_encode = msgspec.json.Encoder().encode


def head(runtime: Runtime, request: Request) -> Response:
    """HEAD: where the log ends, and whether it is closed."""
    _, tail = runtime.streams.tail(request.namespace, request.run_id)
    headers = {"Content-Type": JSON, "Stream-Next-Offset": str(tail.offset)}
    if tail.header.closed:
        headers["Stream-Closed"] = "true"
    return Response(status=200, headers=headers)


def read(runtime: Runtime, request: Request) -> Response:
    """GET: what follows an offset. All that can be refused is refused before the first byte."""
    query = request.query(models.StreamQuery)
    if query.live is None:
        return _catch_up(runtime, request, query)
    last_id = request.header("last-event-id") if query.live is models.Live.SSE else None
    if last_id is None and query.offset is None:
        raise InvalidRequest.at(["query", "offset"], "required in a live read")
    with _named(last_id):
        offset = last_id if last_id is not None else query.offset or ""
        reading = runtime.streams.open(request.namespace, request.run_id, offset)
        if query.live is models.Live.SSE:
            return _events(runtime, request, query, reading)
        return _long_poll(runtime, request, query, reading)


def cursor(now: Millis, given: str | None) -> str:
    """The number of the present interval, or one beyond ``given``: it never goes back, so that no cache
    answers a reader the same for ever."""
    interval = (now - CURSOR_EPOCH) // millis(CURSOR_SECONDS)
    if given is None or int(given) < interval:
        return str(interval)
    return str(int(given) + max(1, random.randint(1, CURSOR_JITTER_SECONDS) // CURSOR_SECONDS))


@contextmanager
def _named(last_id: str | None) -> Iterator[None]:
    """An offset that came as Last-Event-ID is refused as that."""
    try:
        yield
    except InvalidRequest as exc:
        if last_id is None:
            raise
        raise InvalidRequest.at(["header", "Last-Event-ID"], "not an offset of this log") from exc


def _catch_up(runtime: Runtime, request: Request, query: models.StreamQuery) -> Response:
    offset = START if query.offset is None else query.offset
    reading = runtime.streams.open(request.namespace, request.run_id, offset)
    chunk = next(runtime.streams.follow(reading, until=0))
    assert chunk is not None
    headers = _headers(chunk.next, up_to_date=chunk.up_to_date, closed=chunk.closed)
    if offset != NOW:
        headers |= _tag(chunk)
        if response.known(request, headers["ETag"]):
            return Response(status=304, headers=headers)
    return response.json(200, chunk.messages, headers)


def _long_poll(runtime: Runtime, request: Request, query: models.StreamQuery, reading: Reading) -> Response:
    until = _until(runtime, request, runtime.settings.long_poll_seconds)
    closed = False
    for chunk in runtime.streams.follow(reading, until):
        if chunk is not None and chunk.messages:
            headers = _headers(chunk.next, up_to_date=chunk.up_to_date, closed=chunk.closed) | _tag(chunk)
            headers["Stream-Cursor"] = cursor(runtime.clock.now(), query.cursor)
            return response.json(200, chunk.messages, headers)
        closed = chunk is not None and chunk.closed
    headers = _headers(reading.position, up_to_date=True, closed=closed)
    if not closed:
        headers["Stream-Cursor"] = cursor(runtime.clock.now(), query.cursor)
    return Response(status=204, headers=headers)


def _events(runtime: Runtime, request: Request, query: models.StreamQuery, reading: Reading) -> Response:
    settings = runtime.settings
    wish = (
        settings.sse_window_seconds
        if request.streaming
        else min(settings.long_poll_seconds, BUFFERED_SECONDS)
    )
    until = _until(runtime, request, wish)
    chunks = runtime.streams.follow(reading, until)
    first = next(chunks)  # also an offset inside a batch, where nothing begins, is refused by now
    theirs = _while_it_counts(runtime, request.caller, chain((first,), chunks))
    frames = _frames(runtime, theirs, query.cursor, whole=not request.streaming)
    return Response(status=200, headers={"Content-Type": EVENTS}, body=_unbroken(frames, request))


def _while_it_counts(
    runtime: Runtime, caller: Caller, chunks: Iterator[Chunk | None]
) -> Iterator[Chunk | None]:
    """The chunks until the caller's token is seen to be revoked or expired, which is looked at as often as a
    silent stream speaks: their reader comes back and is told so. A store that can't say ends nothing."""
    clock, pause = runtime.clock, millis(runtime.settings.sse_comment_seconds)
    looked = clock.now()
    for chunk in chunks:
        now = clock.now()
        if caller.token_id is not None and not recent(looked, now, pause):
            if not _counts(runtime, caller.token_id):
                return
            looked = now
        yield chunk


def _counts(runtime: Runtime, token_id: str) -> bool:
    try:
        return runtime.tokens.still_good(token_id) is not None
    except TryAgain as error:
        logger.warning("it could not be seen whether a token counts", reason=error.detail)
        return True


def _frames(
    runtime: Runtime, chunks: Iterator[Chunk | None], given: str | None, *, whole: bool
) -> Iterator[bytes]:
    """The frames of one connection. ``whole``: its answer is passed on only when it ends, which is
    then as soon as it has something to say."""
    clock, pause = runtime.clock, millis(runtime.settings.sse_comment_seconds)
    yield streaming.retry(RETRY_MILLIS)
    spoke = clock.now()
    for chunk in chunks:
        now = clock.now()
        if chunk is not None:
            given = cursor(now, given)
            said = (
                streaming.event("data", _encode(chunk.messages), str(chunk.next)) if chunk.messages else b""
            )
            yield said + streaming.event("control", _control(chunk, given))
            spoke = now
            if whole and chunk.messages:
                return
        elif not recent(spoke, now, pause):
            yield streaming.COMMENT
            spoke = now


def _control(chunk: Chunk, cursor_: str) -> bytes:
    said: dict[str, Any] = {"streamNextOffset": str(chunk.next)}
    if chunk.closed:
        said["streamClosed"] = True
    else:
        said["streamCursor"] = cursor_
    if chunk.up_to_date:
        said["upToDate"] = True
    return _encode(said)


def _unbroken(frames: Iterator[bytes], request: Request) -> Iterator[bytes]:
    """Once begun, an answer can only end: the reader comes back with its offset and is told then."""
    place: dict[str, Any] = {"namespace": request.namespace, "request_id": request.id}
    try:
        yield from frames
    except BatonError as error:
        logger.warning("an event stream ended early", reason=error.detail, **place)
    except Exception:  # noqa: BLE001 - an edge: nothing after the first byte can be answered
        logger.exception("an event stream broke", **place)


def _headers(next_: Offset, *, up_to_date: bool, closed: bool) -> dict[str, str]:
    headers = {"Stream-Next-Offset": str(next_)}
    if up_to_date:
        headers["Stream-Up-To-Date"] = "true"
    if closed:
        headers["Stream-Closed"] = "true"
    return headers


def _tag(chunk: Chunk) -> dict[str, str]:
    etag = f'"{chunk.birth}:{chunk.start}:{chunk.next}{":c" if chunk.closed else ""}"'
    return {"ETag": etag, "Cache-Control": response.PRIVATE}


def _until(runtime: Runtime, request: Request, wish: float) -> Millis:
    return runtime.clock.now() + millis(request.seconds(wish))
