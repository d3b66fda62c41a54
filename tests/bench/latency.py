"""From a run's settling to its subscriber's start on the local stack, beside the bare DynamoDB calls between.

The stack carries it as a laptop does: the table's stream, the pump, the publisher's function. What the
publisher asked of DynamoDB is then asked again by a plain client, of other tables in the same DynamoDB.
"""

import copy
import statistics
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from infra.local.settings import table_names
from infra.local.stack import Stack
from infra.local.testing import running_stack
from tests.bench.house import NAMESPACE, Tables, renamed, unheard

LIMIT = 10.0
WARM_UP = 3
WAIT_SECONDS = 10.0


@dataclass(frozen=True)
class Latency:
    """Milliseconds in the middle of ``rounds``: until the subscriber's row stood, until the publisher asked
    for anything at all, and the bare calls; and the middle of the rounds' ratios."""

    dynamodb: str
    rounds: int
    calls: float
    started_ms: float
    begun_ms: float
    bare_ms: float
    ratio: float

    @property
    def verdict(self) -> str:
        return "ok" if self.ratio <= LIMIT else "over"


@dataclass(eq=False)
class _Call:
    """One call that the stack made, and when, in seconds."""

    operation: str
    request: dict[str, Any]
    began: float
    ended: float = 0.0

    @property
    def starts_a_subscriber(self) -> bool:
        return self.operation == "PutItem" and "tb" in self.request["Item"]

    def records(self, run: str) -> bool:
        """Whether it is the publisher's last word on the run."""
        return self.operation == "UpdateItem" and self.request["Key"]["k"]["S"] == f"{NAMESPACE}#{run}"


@dataclass(frozen=True)
class _Round:
    calls: int
    started: float
    begun: float
    bare: float


def measure(endpoint: str, rounds: int) -> list[Latency]:
    """On DynamoDB in process, as `baton dev` has it, and on DynamoDB Local."""
    return [_measure("in process", None, rounds), _measure("DynamoDB Local", endpoint, rounds)]


def _measure(dynamodb: str, endpoint: str | None, rounds: int) -> Latency:
    with (
        unheard(),
        running_stack(endpoint_url=endpoint, schedules=False) as stack,
        _Chain(stack, endpoint) as chain,
    ):
        taken = [chain.round() for _ in range(WARM_UP + rounds)][WARM_UP:]
    return Latency(
        dynamodb=dynamodb,
        rounds=rounds,
        calls=statistics.median(each.calls for each in taken),
        started_ms=statistics.median(each.started for each in taken) * 1000,
        begun_ms=statistics.median(each.begun for each in taken) * 1000,
        bare_ms=statistics.median(each.bare for each in taken) * 1000,
        ratio=statistics.median(each.started / each.bare for each in taken),
    )


class _Chain:
    """A workflow and its subscriber on a stack, and a second set of tables that is kept like the stack's."""

    def __init__(self, stack: Stack, endpoint: str | None) -> None:
        self._twin = Tables(endpoint)
        settings = stack.runtime.settings
        self._names = {name: self._twin.names[role] for role, name in table_names(settings).items()}
        self._calls: list[_Call] = []
        self._recorded = threading.Event()
        self._run = ""
        events = stack.runtime.dynamo.connection.client.meta.events
        events.register("before-parameter-build.dynamodb", self._asked)
        events.register("after-call.dynamodb", self._answered)
        headers = {"Baton-Namespace": NAMESPACE}
        self._http = httpx.Client(base_url=stack.url, headers=headers, timeout=WAIT_SECONDS)
        self._catalog = stack.runtime.catalog

    def __enter__(self) -> "_Chain":
        wish = {"subscribes": [{"event": "run.completed:build"}]}
        self._http.put("/v1/workflows/report", json=wish).raise_for_status()
        self._catalog.snapshot(NAMESPACE, fresh=True)
        self._replay([])
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def round(self) -> _Round:
        """One run that settles, and what came of it."""
        self._recorded.clear()
        self._run = uuid.uuid4().hex
        self._post("/v1/runs", {"workflow": "build", "run_id": self._run})
        self._post(f"/v1/runs/{self._run}/finish", {"status": "completed", "output": {"pages": 117}})
        assert self._recorded.wait(WAIT_SECONDS), "the subscriber was not started"
        (settled,) = [call.ended for call in self._calls if call.operation == "TransactWriteItems"]
        (started,) = [call.ended for call in self._calls if call.starts_a_subscriber]
        between = [call for call in self._calls if call.began >= settled and call.ended <= started]
        bare = self._replay(between)
        return _Round(len(between), started - settled, between[0].began - settled, bare)

    def _post(self, path: str, body: Mapping[str, Any]) -> None:
        self._http.post(path, json=body).raise_for_status()

    def _replay(self, measured: list[_Call]) -> float:
        """The seconds that the ``measured`` take, of all calls since the last replay."""
        calls, self._calls = self._calls, []
        took = 0.0
        for call in calls:
            request = renamed(call.request, self._names)
            began = time.perf_counter()
            self._twin.replay(call.operation, request)
            if call in measured:
                took += time.perf_counter() - began
        return took

    def _asked(self, params: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        call = _Call(model.name, copy.deepcopy(params), time.perf_counter())
        context["bench_call"] = call
        self._calls.append(call)

    def _answered(self, context: dict[str, Any], **_: Any) -> None:
        call: _Call = context["bench_call"]
        call.ended = time.perf_counter()
        if call.records(self._run):
            self._recorded.set()
