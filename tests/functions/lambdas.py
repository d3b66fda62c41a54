"""The HTTP functions in a test's hand: loaded as Lambda loads them, called with the gateway's events."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from baton.api.streaming import StreamedResponse
from baton.bootstrap import Runtime, installed
from infra.local.events import HttpRequest, answer_of, authorizer_event, event_of
from infra.local.routing import Match, Router
from infra.local.vouching import EVERYONE
from infra.manifest import AUTHORIZER, FUNCTIONS

FOLDER = Path(__file__).parents[2] / "functions"
ROUTER = Router(FUNCTIONS)

_numbers = count(1)


class Context:
    """What Lambda tells a function about its invocation."""

    function_name = "baton-test"
    function_version = "$LATEST"
    invoked_function_arn = "arn:aws:lambda:eu-central-1:000000000000:function:baton-test"
    memory_limit_in_mb = 512
    aws_request_id = "00000000-0000-0000-0000-000000000000"

    def __init__(self, seconds: float = 60) -> None:
        self._millis = round(seconds * 1000)

    def get_remaining_time_in_millis(self) -> int:
        return self._millis


class Answer(NamedTuple):
    """An answer as its client sees it; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def slug(self) -> str:
        """What kind of problem it is."""
        assert self.headers["content-type"] == "application/problem+json", self
        said: dict[str, Any] = self.json
        assert said["status"] == self.status
        return str(said["type"]).removeprefix("urn:baton:")

    @property
    def loc(self) -> list[Any]:
        """The field that a 400 is about."""
        [error] = self.json["errors"]
        return list(error["loc"])


class Lambdas:
    """All HTTP functions over one runtime: one container of each."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._modules: dict[str, ModuleType] = {}

    def module(self, name: str) -> ModuleType:
        """The function's handler module, loaded on first use."""
        if name not in self._modules:
            self._modules[name] = load(name, self.runtime)
        return self._modules[name]

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | Iterable[tuple[str, Any]] | str = "",
        authorizer: Mapping[str, Any] = EVERYONE,
        seconds: float = 60,
        **headers: Any,
    ) -> Answer:
        """The answer to a request, which passes through the gateway's own routing and events.

        ``body``: bytes as they are, anything else as JSON. Header names with ``_`` for ``-``.
        """
        event, match = self.event(method, path, body, query=query, authorizer=authorizer, **headers)
        returned = self.module(match.function.name).handler(event, Context(seconds))
        json.dumps(returned)  # as Lambda must be able to
        answer = answer_of(returned)
        return Answer(answer.status, dict(answer.headers), answer.body)

    def stream(self, path: str, *, seconds: float = 60, **request: Any) -> StreamedResponse:
        """What a gateway that can stream gets of GET ``path``."""
        event, match = self.event("GET", path, **request)
        streamed: StreamedResponse = self.module(match.function.name).stream(event, Context(seconds))
        return streamed

    def event(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | Iterable[tuple[str, Any]] | str = "",
        authorizer: Mapping[str, Any] = EVERYONE,
        **headers: Any,
    ) -> tuple[dict[str, Any], Match]:
        """The event of a request, and the function it is for."""
        named = [(name.replace("_", "-").lower(), value) for name, value in headers.items()]
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        if content and not any(name == "content-type" for name, _ in named):
            named.append(("content-type", "application/json"))
        request = HttpRequest(
            method=method,
            raw_path=quote(path, safe="/%~"),
            raw_query=query if isinstance(query, str) else urlencode(list(_pairs(query))),
            headers=[(name, value) for name, value in named if value != ""],
            body=content,
            source_ip="127.0.0.1",
        )
        match = ROUTER.match(method, request.raw_path)
        at, number = self.runtime.clock.now(), next(_numbers)
        return event_of(request, match, request_id=f"request-{number}", at=at, authorizer=authorizer), match

    def vouched(self, token: str) -> dict[str, str]:
        """What the authoriser says of who shows a token."""
        request = HttpRequest("GET", "/", "", [("authorization", f"Bearer {token}")], b"", "127.0.0.1")
        match = ROUTER.match("GET", "/v1/runs")
        event = authorizer_event(request, match, request_id="id", at=self.runtime.clock.now())
        said: dict[str, str] = self.module(AUTHORIZER).handler(event, Context())["context"]
        return said

    def start(self, **body: Any) -> Any:
        """A new run, attached unless told otherwise."""
        answer = self.call("POST", "/v1/runs", {"workflow": "build", **body})
        assert answer.status == 201, answer
        return answer.json["run"]

    def finish(self, run_id: str, status: str = "completed", **body: Any) -> Any:
        """The run, settled."""
        answer = self.call("POST", f"/v1/runs/{run_id}/finish", {"status": status, **body})
        assert answer.status == 200, answer
        return answer.json["run"]

    def append(self, run_id: str, *messages: Any, **headers: Any) -> Answer:
        """Append messages, or ``{"type": "note"}``."""
        return self.call("POST", f"/v1/runs/{run_id}/stream", list(messages) or {"type": "note"}, **headers)

    def read(self, run_id: str, offset: str = "-1", **request: Any) -> Answer:
        """A catch-up read."""
        return self.call("GET", f"/v1/runs/{run_id}/stream", query={"offset": offset}, **request)


def load(name: str, runtime: Runtime) -> ModuleType:
    """``functions/<name>/handler.py`` as a container of its own."""
    spec = importlib.util.spec_from_file_location(f"handler_of_{name}", FOLDER / name / "handler.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with installed(runtime):
        spec.loader.exec_module(module)
    return module


def _pairs(query: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> Iterable[tuple[str, Any]]:
    return query.items() if isinstance(query, Mapping) else query
