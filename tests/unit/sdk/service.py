"""A service in one process behind httpx's own seam: runs and one log by the contract, and failures on
request."""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Callable, Iterator

import httpx

Handler = Callable[[httpx.Request], httpx.Response]
Fault = Callable[[httpx.Request, Handler], httpx.Response]

NOW = "2026-11-29T12:00:00.000Z"


def run_json(run_id: str = "r1", **over: object) -> dict[str, object]:
    run: dict[str, object] = {
        "id": run_id, "namespace": "default", "workflow": "build", "state": "running", "attempt": 1,
        "mode": "attached", "context_ref": None, "agent_id": None, "tags": [], "input": None, "output": None,
        "error": None, "code": None, "signal": None, "resumable": False, "session_ref": None, "priority": 5,
        "created_at": NOW, "started_at": NOW, "updated_at": NOW, "ended_at": None, "available_at": None,
        "inactivity_timeout_seconds": 86400, "max_attempts": 3, "cancel_requested": None, "lease": None,
        "triggered_by": None, "depth": 0, "continued_from": None, "continued_as": None,
        "next_offset": offset(1), "traceparent": None,
    }  # fmt: skip
    return run | over


def offset(seq: int) -> str:
    return f"{seq:08d}_0000"


def message(seq: int, type_: str = "stdout", data: object = None, attempt: int = 1) -> dict[str, object]:
    return {"run_id": "r1", "seq": seq, "attempt": attempt, "type": type_, "ts": NOW, "data": data}


def problem(
    status: int, slug: str, detail: str = "no", headers: dict[str, str] | None = None, **more: object
):
    document = {"type": f"urn:baton:{slug}", "title": slug, "status": status, "detail": detail, **more}
    return httpx.Response(
        status,
        json=document,
        headers={"content-type": "application/problem+json", "x-request-id": "req-1"} | (headers or {}),
    )


# What any other call is answered: each takes the fields it looks for.
ANSWERS = {
    "run": run_json(), "started": False, "finished": True, "resumed": True, "event_id": "e",
    "workflow": {"name": "w"}, "workflows": [], "workers": [], "ttl_seconds": 60, "expires_at": NOW,
    "token": {"id": "t", "namespace": "n", "role": "driver"}, "secret": "s", "tokens": [], "audit": [],
    "owed": 0, "due": 0, "runs": 0, "created": 0, "existing": 0, "re_owed": 0, "skipped": 0,
}  # fmt: skip


# Failures: each is one request's fate.


def fine(request: httpx.Request, handler: Handler) -> httpx.Response:
    return handler(request)


def refused(request: httpx.Request, handler: Handler) -> httpx.Response:
    raise httpx.ConnectError("connection refused")


def lost_before(request: httpx.Request, handler: Handler) -> httpx.Response:
    raise httpx.ReadError("connection reset")


def lost_reply(request: httpx.Request, handler: Handler) -> httpx.Response:
    handler(request)
    raise httpx.ReadError("connection reset")


def timed_out(request: httpx.Request, handler: Handler) -> httpx.Response:
    handler(request)
    raise httpx.ReadTimeout("no answer")


def unavailable(request: httpx.Request, handler: Handler) -> httpx.Response:
    return problem(503, "unavailable", headers={"retry-after": "7"})


def throttled(request: httpx.Request, handler: Handler) -> httpx.Response:
    return problem(429, "too-many-requests", headers={"retry-after": "2"})


def bad_gateway(request: httpx.Request, handler: Handler) -> httpx.Response:
    return httpx.Response(502, text="<html>", headers={"content-type": "text/html"})


def died(request: httpx.Request, handler: Handler) -> httpx.Response:
    handler(request)
    return httpx.Response(500, json={"message": "Internal Server Error"})


def broken(request: httpx.Request, handler: Handler) -> httpx.Response:
    return problem(500, "internal")


class Chunks(httpx.SyncByteStream):
    """A body in small pieces, which may be cut off by a broken connection."""

    def __init__(self, body: bytes, *, cut: int | None = None, size: int = 97) -> None:
        self._body = body
        self._cut = cut
        self._size = size

    def __iter__(self) -> Iterator[bytes]:
        whole = self._body if self._cut is None else self._body[: self._cut]
        for begin in range(0, len(whole), self._size):
            yield whole[begin : begin + self._size]
        if self._cut is not None:
            raise httpx.RemoteProtocolError("peer closed connection")


class Service:
    """``faults`` are taken one per request; when they are used up, everything works."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.faults: deque[Fault] = deque()
        self.log: list[dict[str, object]] = []
        self.closed = False
        self.closed_error: httpx.Response | None = None
        self.frame_size = 3
        self.cuts: deque[int | None] = deque()
        self.before_read: Callable[[], None] = lambda: None
        self.offers_sse = True
        self.ids_in_frames = True
        self._producers: dict[str, tuple[int, int]] = {}
        self._tails = itertools.count()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        fault = self.faults.popleft() if self.faults else fine
        return fault(request, self._answer)

    def lines(self) -> list[object]:
        return [entry["data"] for entry in self.log]

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/stream"):
            return {"POST": self._append, "GET": self._read, "HEAD": self._head}[request.method](request)
        return httpx.Response(200, json=ANSWERS)

    def _append(self, request: httpx.Request) -> httpx.Response:
        if self.closed_error is not None:
            return self.closed_error
        producer = request.headers.get("producer-id")
        if producer is not None:
            epoch, seq = int(request.headers["producer-epoch"]), int(request.headers["producer-seq"])
            _, last = self._producers.get(producer, (epoch, -1))
            if seq <= last:
                return httpx.Response(204, headers=self._tail())
            if seq > last + 1:
                return problem(409, "stream-conflict", headers={"producer-expected-seq": str(last + 1)})
            self._producers[producer] = (epoch, seq)
        for event in json.loads(request.content):
            self.log.append(message(len(self.log), event["type"], event.get("data")))
        return httpx.Response(200 if producer else 204, headers=self._tail())

    def _tail(self) -> dict[str, str]:
        return {"stream-next-offset": offset(len(self.log)), "baton-tail": f"tail-{next(self._tails)}"}

    def _head(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"stream-next-offset": offset(len(self.log))})

    def _read(self, request: httpx.Request) -> httpx.Response:
        self.before_read()
        begin = self._position(request)
        live = request.url.params.get("live")
        if live == "sse" and not self.offers_sse:
            return problem(406, "not-acceptable")
        if live == "sse":
            cut = self.cuts.popleft() if self.cuts else None
            body = Chunks(self._frames(begin), cut=cut)
            return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=body)
        page = self.log[begin : begin + self.frame_size]
        end = begin + len(page)
        headers = {"stream-next-offset": offset(end), "stream-cursor": "7"}
        if end == len(self.log):
            headers["stream-up-to-date"] = "true"
            if self.closed:
                headers["stream-closed"] = "true"
        if live == "long-poll" and not page:
            return httpx.Response(204, headers=headers)
        return httpx.Response(200, json=page, headers=headers)

    def _position(self, request: httpx.Request) -> int:
        asked = request.headers.get("last-event-id") or request.url.params["offset"]
        return 0 if asked == "-1" else int(asked.split("_")[0])

    def _frames(self, begin: int) -> bytes:
        parts = ["retry: 1000\n\n", ": hello\n\n"]
        while begin < len(self.log):
            page = self.log[begin : begin + self.frame_size]
            begin += len(page)
            position = f"id: {offset(begin)}\n" if self.ids_in_frames else ""
            data = "\n".join(f"data: {line}" for line in json.dumps(page, indent=1).split("\n"))
            parts.append(f"event: data\n{position}{data}\n\n{self._control(begin)}")
        return "".join([*parts, self._control(begin)]).encode()

    def _control(self, position: int) -> str:
        control: dict[str, object] = {"streamNextOffset": offset(position), "streamCursor": "7"}
        if position == len(self.log):
            control["upToDate"] = True
            if self.closed:
                control["streamClosed"] = True
        return f"event: control\ndata: {json.dumps(control)}\n\n"
