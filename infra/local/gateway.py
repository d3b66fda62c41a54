"""The HTTP gateway: an ASGI application that turns requests into API Gateway events, and answers back."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from contextlib import suppress
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from baton.domain.clock import Clock
from baton.errors import BatonError, PayloadTooLarge, Unavailable
from infra.local.clock import Interrupted, InterruptibleClock
from infra.local.door import MAX_BODY, answer_to, check
from infra.local.events import HttpAnswer, HttpRequest, Malformed, answer_of, event_of
from infra.local.functions import Invoker, Streamed
from infra.local.inflight import InFlight
from infra.local.routing import Match, Router
from infra.local.vouching import Vouching

logger = logging.getLogger("infra.local")
access = logging.getLogger("infra.local.access")

T = TypeVar("T")

_READS = frozenset({"GET", "HEAD"})
_END = object()


class Call(NamedTuple):
    """One request on its way to a function."""

    match: Match
    event: dict[str, Any]
    request_id: str
    gone: threading.Event


class Gateway:
    """Serves the routes of ``router`` by the handlers of ``functions``, in the threads of ``threads``."""

    def __init__(
        self,
        router: Router,
        functions: Invoker,
        *,
        vouching: Vouching,
        clock: Clock,
        threads: Executor,
        in_flight: InFlight,
    ) -> None:
        self._router = router
        self._functions = functions
        self._vouching = vouching
        self._clock = clock
        self._threads = threads
        self._in_flight = in_flight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, start to end. Source: the ASGI specification, HTTP."""
        began = time.perf_counter()
        request_id = str(uuid.uuid4())
        status = 0
        try:
            status = await self._serve(scope, receive, send, request_id)
        except ClientDisconnect:
            status = 499  # as nginx has it: nobody there to tell
        except (Interrupted, asyncio.CancelledError):
            status = 599  # cut short: the server closes a connection whose answer is not complete
        finally:
            took = round((time.perf_counter() - began) * 1000)
            access.info("%s %s %d %d ms", scope["method"], _target(scope), status, took)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> int:
        request = _head(scope)
        try:
            check(request)
            body = await _body(Request(scope, receive))
        except BatonError as refused:
            return await _send(send, answer_to(refused, request_id))
        return await self._pass_on(request._replace(body=body), request_id, receive, send)

    async def _pass_on(self, request: HttpRequest, request_id: str, receive: Receive, send: Send) -> int:
        match = self._router.match(request.method, request.raw_path)
        streams = match.function.streams
        with self._in_flight.call(ends_at_drain=streams) as gone:
            said = self._vouching.known(request, match)
            if said is None:
                try:
                    said = await self._in_thread(gone, self._vouching.ask, request, match, request_id)
                except Interrupted:
                    return await _send(send, _stopping(request_id))
                except Exception:  # as AWS's gateway has it, which knows no other answer to that
                    logger.exception("the authoriser failed")
                    return await _send(send, _failed())
            event = event_of(request, match, request_id=request_id, at=self._clock.now(), authorizer=said)
            call = Call(match, event, request_id, gone)
            # What a caller who is gone asked for is still written, as on AWS; a read nobody waits for ends.
            watch = asyncio.create_task(_watch(receive, gone)) if request.method in _READS else None
            try:
                if streams:
                    return await self._stream(call, send, bodiless=request.method == "HEAD")
                return await _send(send, await self._answer(call))
            finally:
                if watch is not None:
                    watch.cancel()
                    with suppress(asyncio.CancelledError):
                        await watch

    async def _answer(self, call: Call) -> HttpAnswer:
        try:
            return answer_of(await self._in_thread(call.gone, self._functions.call, *_arguments(call)))
        except Interrupted:
            return _stopping(call.request_id)
        except Malformed as exc:
            logger.error("%s: %s", call.match.function.name, exc)
        except Exception:  # what a function raises is its own: the gateway lives on, as AWS's does
            logger.exception("the function %s failed", call.match.function.name)
        return _failed()

    async def _stream(self, call: Call, send: Send, *, bodiless: bool) -> int:
        try:
            opened: Streamed = await self._in_thread(call.gone, self._functions.stream, *_arguments(call))
        except Interrupted:
            return await _send(send, _stopping(call.request_id))
        except Exception:  # as above
            logger.exception("the function %s failed", call.match.function.name)
            return await _send(send, _failed())
        headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in opened.headers.items()
        ]
        await send({"type": "http.response.start", "status": opened.status, "headers": headers})
        body = iter(opened.body)
        try:
            if not bodiless and opened.status not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
                if _is_endless(opened):
                    await self._events(call, body, send)
                else:
                    await self._chunks(call, body, send)
        finally:
            close: Callable[[], None] | None = getattr(body, "close", None)
            if close is not None:
                await self._in_thread(call.gone, close)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return opened.status

    async def _chunks(self, call: Call, body: Any, send: Send) -> None:
        """Pass on each chunk before asking for the next."""
        while await self._next_chunk(call, body, send):
            pass

    async def _events(self, call: Call, body: Any, send: Send) -> None:
        """The same, until nobody reads on or the stack stops: between two events their stream may end at any
        time. Any other answer must not look whole when it is not."""
        with suppress(Interrupted):
            while not call.gone.is_set() and await self._next_chunk(call, body, send):
                pass

    async def _next_chunk(self, call: Call, body: Any, send: Send) -> bool:
        chunk = await self._in_thread(call.gone, next, body, _END)
        if chunk is _END:
            return False
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
        return True

    def _in_thread(self, gone: threading.Event, work: Callable[..., T], *arguments: Any) -> Awaitable[T]:
        """Handlers block: each call has a thread, in which the clock knows what interrupts it."""
        clock = self._clock

        def run() -> T:
            if not isinstance(clock, InterruptibleClock):
                return work(*arguments)
            with clock.interruptible(gone):
                return work(*arguments)

        return asyncio.get_running_loop().run_in_executor(self._threads, run)


def _is_endless(opened: Streamed) -> bool:
    media = next((value for name, value in opened.headers.items() if name.lower() == "content-type"), "")
    return media.startswith("text/event-stream")


def _arguments(call: Call) -> tuple[Any, dict[str, Any], str]:
    return call.match.function, call.event, call.request_id


def _head(scope: Scope) -> HttpRequest:
    client = scope.get("client")
    return HttpRequest(
        method=scope["method"],
        raw_path=scope["raw_path"].decode("latin-1"),
        raw_query=scope["query_string"].decode("latin-1"),
        headers=[
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]
        ],
        body=b"",
        source_ip=client[0] if client else "127.0.0.1",
        protocol=f"HTTP/{scope['http_version']}",
    )


async def _body(request: Request) -> bytes:
    """The whole body. Raises PayloadTooLarge over the limit; what is over is read and forgotten, within
    reason: a client that still sends does not look at the answer."""
    body, size = bytearray(), 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= MAX_BODY:
            body += chunk
        elif size > 4 * MAX_BODY:
            break
    if size > MAX_BODY:
        raise PayloadTooLarge(f"a request holds at most {MAX_BODY} bytes")
    return bytes(body)


async def _watch(receive: Receive, gone: threading.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    gone.set()


async def _send(send: Send, answer: HttpAnswer) -> int:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
    if answer.status not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
        headers = [pair for pair in headers if pair[0] != b"content-length"]
        headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})
    return answer.status


def _stopping(request_id: str) -> HttpAnswer:
    return answer_to(Unavailable("the local stack is stopping"), request_id)


def _failed() -> HttpAnswer:
    """What API Gateway answers for a function that failed."""
    return HttpAnswer(500, [("content-type", "application/json")], b'{"message":"Internal Server Error"}')


def _target(scope: Scope) -> str:
    path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path
