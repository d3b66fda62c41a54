"""A service in one process behind httpx's own seam: runs, leases, logs and waits by the contract."""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from baton_sdk.worker.clock import Clock
from tests.unit.sdk.service import Fault, fine, problem, run_json

TERMINAL = {"completed", "failed", "cancelled", "dead"}
ROUTE = re.compile(r"/v1/(?:runs/(?P<run>[^/]+)(?:/(?P<verb>\w+))?|(?P<rest>.*))")


class Hand(Clock):
    """Time that passes when somebody waits, or by hand. A keeper's thread waits for its end: renewals are
    made by the test."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 29, 12, tzinfo=UTC)
        self.waited: list[float] = []

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        if threading.current_thread().name.startswith("baton-"):
            return event.wait()
        self.waited.append(seconds)
        self.advance(seconds)
        return event.is_set()


class Line:
    """A worker's way to the service. ``cut``: from now on there is none. Its worker has died where its
    ``dies_at``-th request is not heard, or ``heard`` and its answer lost."""

    def __init__(self, baton: Baton, *, dies_at: int | None = None, heard: bool = False) -> None:
        self.baton = baton
        self.dies_at = dies_at
        self.heard = heard
        self.cut = False
        self.asked = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        dies = self.asked == self.dies_at
        self.asked += 1
        if dies and self.heard and not self.cut:
            self.baton(request)
        self.cut = self.cut or dies
        if self.cut:
            raise httpx.ConnectError("nobody there")
        return self.baton(request)


class Row:
    """A run and what the service remembers of it."""

    def __init__(self, run: dict[str, Any]) -> None:
        self.run = run
        self.log: list[dict[str, Any]] = []
        self.producers: dict[tuple[str, int], int] = {}
        self.claimed = False
        self.suspend_key: str | None = None
        self.finish_key: str | None = None
        self.released: tuple[str, int] | None = None
        self.lease_ends: float = 0.0
        self.error: Any = None
        self.delay: float | None = None


class Baton:
    """``fate[verb]`` are taken one per request of that verb (the last word of its path); without any,
    everything works. ``seen`` are the verbs as they came, ``bodies`` what they brought."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.rows: dict[str, Row] = {}
        self.keys: dict[str, str] = {}
        self.claims: dict[str, list[str]] = {}
        self.fate: dict[str, deque[Fault]] = defaultdict(deque)
        self.seen: list[str] = []
        self.bodies: dict[str, list[Any]] = defaultdict(list)
        self.headers: dict[str, list[httpx.Headers]] = defaultdict(list)
        self.page = 3
        self.refused = False
        self._lock = threading.RLock()
        self.queued = threading.Condition(self._lock)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        found = ROUTE.fullmatch(request.url.path)
        assert found is not None, request.url.path
        verb = found["verb"] or ("get" if found["run"] else found["rest"].split("/")[0])
        verb = "read" if verb == "stream" and request.method == "GET" else verb
        with self._lock:
            self.seen.append(verb)
            self.bodies[verb].append(json.loads(request.content) if request.content else None)
            self.headers[verb].append(request.headers)
            fate = self.fate[verb].popleft() if self.fate[verb] else fine
        return fate(request, lambda asked: self._answer(verb, found["run"], asked))

    # What a test does.

    def start(self, run_id: str, workflow: str = "report", input: Any = None, **over: Any) -> Row:
        run = run_json(
            run_id, workflow=workflow, state="pending", mode="queued", input=input, started_at=None, **over
        )
        with self._lock:
            row = self.rows[run_id] = Row(run)
            self.say(row, "start", {"input": input})
            self.queued.notify_all()
        return row

    def say(self, row: Row, type_: str, data: Any = None) -> None:
        row.log.append(
            {
                "run_id": row.run["id"], "seq": len(row.log), "attempt": row.run["attempt"], "type": type_,
                "ts": self.clock.now().isoformat(), "data": data,
            }
        )  # fmt: skip

    def wake(self, woken: str, **why: Any) -> None:
        row = self.rows[woken]
        assert row.run["state"] == "suspended"
        row.run["state"] = "pending"
        self.say(row, "woken", why)

    def settle(self, run_id: str, state: str, **outcome: Any) -> None:
        row = self.rows[run_id]
        row.run |= {"state": state, "lease": None, **outcome}
        self.say(row, "end", {"status": state})
        with self.queued:
            self.queued.notify_all()

    def resume(self, run_id: str) -> None:
        row = self.rows[run_id]
        row.run |= {"state": "pending", "attempt": row.run["attempt"] + 1, "cancel_requested": None}
        row.claimed = False
        self.say(row, "resumed", {"attempt": row.run["attempt"]})

    def expire(self, run_id: str) -> None:
        """The sweep has found the lease run out."""
        if self.rows[run_id].run["cancel_requested"] is not None:
            self.settle(run_id, "cancelled")
        else:
            self.rows[run_id].run |= {"state": "pending", "lease": None}

    def cancel(self, run_id: str, reason: str = "enough") -> None:
        row = self.rows[run_id]
        row.run["cancel_requested"] = {"at": None, "reason": reason}
        self.say(row, "cancel", {"reason": reason})

    def settled(self, *run_ids: str) -> bool:
        """Whether they all settle within a guard's time."""
        with self.queued:
            return self.queued.wait_for(lambda: all(self.state(run_id) in TERMINAL for run_id in run_ids), 20)

    def said(self, run_id: str, *types: str) -> list[Any]:
        """What the log has of these types, which are not Baton's."""
        return [entry["data"] for entry in self.rows[run_id].log if entry["type"] in types]

    def types(self, run_id: str) -> list[str]:
        return [entry["type"] for entry in self.rows[run_id].log]

    def state(self, run_id: str) -> str:
        return str(self.rows[run_id].run["state"])

    # What the service answers.

    def _answer(self, verb: str, run_id: str | None, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else {}
        if verb == "claims":
            return self._claims(request, body)
        with self._lock:
            if verb == "workers":
                return httpx.Response(200, json={"ttl_seconds": 60})
            if verb == "runs":
                return self._start(request, body)
            row = self.rows.get(run_id or "")
            if row is None:
                return problem(404, "not-found")
            answer: Callable[[Row, httpx.Request, Any], httpx.Response] = getattr(self, f"_{verb}")
            return answer(row, request, body)

    def _get(self, row: Row, request: httpx.Request, body: Any) -> httpx.Response:
        return httpx.Response(200, json={"run": row.run})

    def _start(self, request: httpx.Request, body: Any) -> httpx.Response:
        key = request.headers["idempotency-key"]
        if key in self.keys:
            row = self.rows[self.keys[key]]
            if row.run["input"] != body.get("input"):
                return problem(422, "idempotency-mismatch")
            return httpx.Response(200, json={"run": row.run, "started": False})
        run_id = self.keys[key] = f"k~{len(self.keys)}"
        self.start(run_id, body["workflow"], body.get("input"))
        return httpx.Response(201, json={"run": self.rows[run_id].run, "started": True})

    def _claims(self, request: httpx.Request, body: Any) -> httpx.Response:
        key = request.headers["idempotency-key"]
        with self._lock:
            if key not in self.claims:
                due = self._due(body)
                if not due and body["wait_seconds"]:
                    self.queued.wait(body["wait_seconds"])
                    due = self._due(body)
                for row in due:
                    self._claim_one(row, body)
                self.claims[key] = [str(row.run["id"]) for row in due]
            runs = [self.rows[run_id].run for run_id in self.claims[key]]
            return httpx.Response(200, json={"runs": runs})

    def _due(self, body: Any) -> list[Row]:
        due = [
            row
            for row in self.rows.values()
            if row.run["state"] == "pending" and row.run["workflow"] in body["workflows"]
        ]
        return due[: body["max"]]

    def _claim_one(self, row: Row, body: Any) -> None:
        seconds = body.get("lease_seconds") or 60
        row.lease_ends = self.clock.monotonic() + seconds
        lease = {"worker_id": body["worker_id"], "expires_at": self.clock.now().isoformat()}
        row.run |= {"state": "running", "lease": lease, "attempt": row.run["attempt"] + int(row.claimed)}
        row.claimed = True
        if row.run["attempt"] > 1:
            self.say(row, "claimed", {"attempt": row.run["attempt"], "worker_id": body["worker_id"]})

    def _claim(self, row: Row, request: httpx.Request, body: Any) -> httpx.Response:
        if row.run["state"] != "pending":
            return problem(409, "in-flight")
        self._claim_one(row, body)
        return httpx.Response(200, json={"run": row.run})

    def _held(self, row: Row, body: Any) -> httpx.Response | None:
        if row.run["state"] in TERMINAL:
            return problem(409, "run-terminal")
        lease = row.run["lease"]
        if row.run["state"] != "running" or lease is None or lease["worker_id"] != body["worker_id"]:
            return problem(409, "lease-lost")
        return None if row.run["attempt"] == body["attempt"] else problem(409, "lease-lost")

    def _renew(self, row: Row, request: httpx.Request, body: Any) -> httpx.Response:
        refusal = self._held(row, body)
        if refusal is not None:
            return refusal
        row.lease_ends = self.clock.monotonic() + body["lease_seconds"]
        return httpx.Response(
            200,
            json={
                "expires_at": self.clock.now().isoformat(),
                "cancel_requested": row.run["cancel_requested"],
            },
        )

    def _release(self, row: Row, request: httpx.Request, body: Any) -> httpx.Response:
        who = (body["worker_id"], body["attempt"])
        if row.released == who:
            return httpx.Response(200, json={"run": row.run})
        refusal = self._held(row, body)
        if refusal is not None:
            return refusal
        row.released, row.error, row.delay = who, body.get("error"), body.get("delay_seconds")
        if row.run["cancel_requested"] is not None:
            self.settle(str(row.run["id"]), "cancelled")
            return httpx.Response(200, json={"run": row.run})
        row.run |= {"state": "pending", "lease": None}
        return httpx.Response(200, json={"run": row.run})

    def _suspend(self, row: Row, request: httpx.Request, body: Any) -> httpx.Response:
        if row.suspend_key == request.headers["idempotency-key"]:
            return httpx.Response(200, json={"run": row.run})
        refusal = self._fenced(row, request)
        if refusal is not None:
            return refusal
        if "run" in body and body["run"] not in self.rows:
            return problem(404, "not-found")
        row.suspend_key = request.headers["idempotency-key"]
        row.run |= {"state": "suspended", "lease": None}
        self.say(row, "suspended", body)
        return httpx.Response(200, json={"run": row.run})

    def _finish(self, row: Row, request: httpx.Request, body: Any) -> httpx.Response:
        key = request.headers["idempotency-key"]
        if int(request.headers["baton-attempt"]) != row.run["attempt"]:
            return problem(409, "lease-lost")
        finished = row.run["state"] not in TERMINAL
        if finished:
            row.finish_key = key
            row.run["resumable"] = body.get("resumable", False)
            outcome = {name: body.get(name) for name in ("output", "error")}
            self.settle(str(row.run["id"]), body["status"], **outcome)
        return httpx.Response(200, json={"run": row.run, "finished": finished or row.finish_key == key})

    def _fenced(self, row: Row, request: httpx.Request) -> httpx.Response | None:
        if int(request.headers["baton-attempt"]) != row.run["attempt"]:
            return problem(409, "lease-lost")
        if row.run["state"] in TERMINAL:
            return problem(409, "run-terminal")
        return None if row.run["state"] == "running" else problem(409, "stream-conflict")

    def _stream(self, row: Row, request: httpx.Request, body: Any) -> httpx.Response:
        attempt, seq = int(request.headers["baton-attempt"]), int(request.headers["producer-seq"])
        producer = (request.headers["producer-id"], attempt)
        if seq <= row.producers.get(producer, -1):
            return httpx.Response(204, headers={"stream-next-offset": str(len(row.log))})
        refusal = self._fenced(row, request)
        if refusal is not None:
            return refusal
        row.producers[producer] = seq
        for event in body:
            self.say(row, event["type"], event.get("data"))
        return httpx.Response(200, headers={"stream-next-offset": str(len(row.log))})

    def _read(self, row: Row, request: httpx.Request, body: Any) -> httpx.Response:
        asked = request.url.params["offset"]
        begin = 0 if asked == "-1" else int(asked)
        page = row.log[begin : begin + self.page]
        headers = {"stream-next-offset": str(begin + len(page))}
        if begin + len(page) == len(row.log):
            headers["stream-up-to-date"] = "true"
        return httpx.Response(200, json=page, headers=headers)
