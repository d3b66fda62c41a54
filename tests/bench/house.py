"""A house on DynamoDB Local: its tables, and containers that answer HTTP requests as Lambda runs them."""

import io
import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import boto3
from botocore.exceptions import ClientError

from baton.bootstrap import SystemClock, build
from baton.config import Settings
from baton.domain.clock import Millis
from infra.local.events import HttpAnswer, HttpRequest, answer_of, event_of
from infra.local.functions import Functions
from infra.local.routing import Match, Router
from infra.local.tables import create
from infra.manifest import FUNCTIONS, TABLES, function

REGION = "us-east-1"
IDENTITY = {"namespace": "*", "role": "admin", "token_id": "bench"}
SIGNING_KEY = b"the containers of one house share it"
NAMESPACE = "bench"


class StandingClock(SystemClock):
    """Stands still, but for what somebody sleeps: what is a container's age of anything is the script's to
    say."""

    def __init__(self) -> None:
        self._now = float(super().now())

    def now(self) -> Millis:
        return round(self._now)

    def sleep(self, seconds: float) -> None:
        self._now += seconds * 1000


class SkippingClock(SystemClock):
    """The wall clock, whose sleeper wakes at once, later: nobody waits for a long poll to find nothing."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def now(self) -> Millis:
        return super().now() + round(self._skipped * 1000)

    def sleep(self, seconds: float) -> None:
        self._skipped += seconds


@dataclass(frozen=True)
class Request:
    """One HTTP request of the contract; where there is no method, a call with ``event``, by default the
    schedule's."""

    function: str
    method: str = ""
    path: str = ""
    query: str = ""
    headers: Mapping[str, str] | None = None
    body: bytes = b""
    event: Mapping[str, Any] = field(default_factory=lambda: {"source": "aws.events"})


class Tables:
    """One set of Baton's tables, and the plain client that made it. Without an endpoint they are in this
    process."""

    def __init__(self, endpoint: str | None) -> None:
        self.endpoint = endpoint
        self.client = boto3.client("dynamodb", endpoint_url=endpoint, region_name=REGION)
        house = uuid.uuid4().hex[:12]
        self.names = {spec.name: f"{spec.name}-{house}" for spec in TABLES}
        self.specs = {self.names[spec.name]: spec for spec in TABLES}
        create(self.client, self.names)

    def replay(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Send a recorded request by the plain client; a refusal is an answer like any other."""
        try:
            answer: dict[str, Any] = getattr(self.client, _METHODS[operation])(**request)
        except ClientError as refusal:
            return dict(refusal.response)
        return answer


class Container:
    """One Lambda container of each function: a runtime with a memory of its own, the handlers loaded
    under it."""

    def __init__(self, tables: Tables, clock: SystemClock) -> None:
        settings = Settings(
            runs_table=tables.names["runs"],
            log_table=tables.names["log"],
            catalog_table=tables.names["catalog"],
            signing_keys=(SIGNING_KEY,),
            region=REGION,
            endpoint_url=tables.endpoint,
            # One request in 20 is counted, a write unit, and which one is chance: not what is measured here.
            token_requests_per_second=0,
        )
        self.runtime = build(settings, clock)
        with unheard():
            self._functions = Functions(FUNCTIONS, self.runtime)

    def event(self, request: Request) -> dict[str, Any]:
        """What the function is called with."""
        if not request.method:
            return dict(request.event)
        headers = {"host": "bench", "content-type": "application/json", "baton-namespace": NAMESPACE}
        http = HttpRequest(
            method=request.method,
            raw_path=request.path,
            raw_query=request.query,
            headers=[*(headers | dict(request.headers or {})).items()],
            body=request.body,
            source_ip="127.0.0.1",
        )
        return event_of(
            http,
            _match(request),
            request_id=uuid.uuid4().hex,
            at=self.runtime.clock.now(),
            authorizer=IDENTITY,
        )

    def invoke(self, name: str, event: dict[str, Any]) -> Any:
        """What the handler returns; what it logs is made and thrown away."""
        with unheard():
            return self._functions.call(function(name), event, "bench")

    def send(self, request: Request) -> HttpAnswer:
        """The answer to a request. Raises AssertionError on an answer no script here expects."""
        answer = answer_of(self.invoke(request.function, self.event(request)))
        assert answer.status < 400, f"{request.method} {request.path}: {answer.status} {answer.body!r}"
        return answer


class _Discarded(io.TextIOBase):
    """Takes what handlers print. Not the terminal: its speed is nobody's cost."""

    def write(self, text: str) -> int:
        return len(text)


_log = _Discarded()
_router = Router(FUNCTIONS)
_METHODS = {
    "BatchGetItem": "batch_get_item",
    "BatchWriteItem": "batch_write_item",
    "DeleteItem": "delete_item",
    "GetItem": "get_item",
    "PutItem": "put_item",
    "Query": "query",
    "TransactWriteItems": "transact_write_items",
    "UpdateItem": "update_item",
}


def _match(request: Request) -> Match:
    match = _router.match(request.method, request.path)
    assert match.function.name == request.function, f"{request.method} {request.path} leads elsewhere"
    return match


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A recorded request, or a part of one, as it would be sent to other tables. ``names`` has them by those
    that it was sent to."""
    if isinstance(value, dict):
        # A batch has its tables as keys, everything else as values of TableName.
        return {
            names.get(key, key): names[child] if key == "TableName" else renamed(child, names)
            for key, child in value.items()
            if key != "ClientRequestToken"  # a token stands for one request
        }
    return [renamed(child, names) for child in value] if isinstance(value, list) else value


@contextmanager
def unheard() -> Iterator[None]:
    """What functions print meanwhile, in any thread, is made and thrown away."""
    with redirect_stdout(_log):
        yield


def header(answer: HttpAnswer, name: str) -> str | None:
    """A header of an answer, by its name in lower case."""
    return next((value for key, value in answer.headers if key == name), None)


def run_id(answer: HttpAnswer) -> str:
    """The run that an answer is about."""
    found: str = json.loads(answer.body)["run"]["id"]
    return found


def run_path(run: str, *rest: str) -> str:
    """The path of a run, or of something of it."""
    return "/".join(("/v1/runs", quote(run, safe=""), *rest))
