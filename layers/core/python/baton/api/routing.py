"""Functions that serve more than one operation: the library's resolver picks the one a request is for."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.event_handler import Response as Routed
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from baton.api.contract import OPERATIONS
from baton.api.edge import Endpoint, Event, answered
from baton.api.identity import Caller
from baton.api.response import Response
from baton.api.streaming import StreamedResponse
from baton.errors import MethodNotAllowed, NotFound

if TYPE_CHECKING:
    from baton.services.runtime import Runtime


class _Seen(APIGatewayProxyEventV2):
    """A request whose path, to the library, is its route's own: the gateway has matched it already. The
    library's patterns know fewer characters than a path may hold, and see a slash where one came encoded."""

    @property
    def path(self) -> str:
        _, _, routed = self.raw_event["routeKey"].partition(" ")
        return routed or _template(self.raw_path) or self.raw_path


class _Invocation(NamedTuple):
    event: APIGatewayProxyEventV2
    context: Any
    streaming: bool


_invocation: ContextVar[_Invocation] = ContextVar("invocation")


class _Resolver(APIGatewayHttpResolver):
    """The library keeps the event it works on in an attribute of its class, which all threads share. Where
    one container serves many at once, as on a laptop, each must see its own."""

    @property
    def current_event(self) -> APIGatewayProxyEventV2:  # type: ignore[override]
        return _invocation.get().event

    def prepare(self) -> None:
        """Build now what the library builds at a route's first call: two threads would build it one on top of
        the other, and the route would fail for good."""
        for route in self._static_routes + self._dynamic_routes:
            route._build_middleware_stack(self._router_middlewares, self)  # noqa: SLF001

    def resolve_here(self, invocation: _Invocation) -> dict[str, Any]:
        token = _invocation.set(invocation)
        try:
            return self._build_response(self._resolve())
        finally:
            _invocation.reset(token)


class Routes:
    """A Lambda handler over several endpoints of one function, and over all that no route is for."""

    def __init__(self, runtime: Runtime, *endpoints: Endpoint) -> None:
        self._runtime = runtime
        self._app = _Resolver()
        self._app.not_found(self._unrouted)
        for endpoint in endpoints:
            rule = endpoint.row.path.replace("{", "<").replace("}", ">")
            self._app.route(rule, method=endpoint.row.method)(_passing_on(endpoint))
        self._app.prepare()

    def __call__(self, event: Event, context: Any) -> dict[str, Any]:
        """The answer to one request of payload format 2.0."""
        return self._resolved(event, context, streaming=False)

    def stream(self, event: Event, context: Any) -> StreamedResponse:
        """The answer to one request, its body as it comes."""
        answer = self._resolved(event, context, streaming=True)
        body = answer["body"]
        pieces = iter((body.encode(),)) if isinstance(body, str) else body
        return StreamedResponse(answer["statusCode"], answer["headers"], pieces)

    def _resolved(self, event: Event, context: Any, *, streaming: bool) -> dict[str, Any]:
        seen = _Seen(cast("dict[str, Any]", event))
        return self._app.resolve_here(_Invocation(seen, context, streaming))

    def _unrouted(self, _exc: Exception) -> Routed[Any]:
        event = _invocation.get().event.raw_event

        def refuse(_caller: Caller) -> Response:
            allowed = methods_of(event["rawPath"])
            if not allowed or event["requestContext"]["http"]["method"] in allowed:
                raise NotFound("no such path here")  # it only looks like one: its slash came encoded
            raise MethodNotAllowed("not with this method", headers={"Allow": ", ".join(allowed)})

        return _routed(answered(self._runtime, event, None, refuse))


def methods_of(path: str) -> list[str]:
    """The methods that the contract has for a path."""
    return sorted(row.method for row in OPERATIONS if re.fullmatch(_pattern(row.path), path))


def _template(path: str) -> str | None:
    """The contract's path that ``path`` is of: only a gateway that routes nothing leaves this to us."""
    return next((row.path for row in OPERATIONS if re.fullmatch(_pattern(row.path), path)), None)


def _pattern(path: str) -> str:
    return re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))


def _passing_on(endpoint: Endpoint) -> Callable[..., Routed[Any]]:
    def route(**_path: str) -> Routed[Any]:
        event, context, streaming = _invocation.get()
        return _routed(endpoint.answer(event.raw_event, context, streaming=streaming), streaming=streaming)

    return route


def _routed(answer: Response, *, streaming: bool = False) -> Routed[Any]:
    body: Any
    if streaming:
        body, encoded = answer.body if not isinstance(answer.body, bytes) else answer.body.decode(), False
    else:
        body, encoded = answer.carried()
    routed: Routed[Any] = Routed(status_code=answer.status, headers=dict(answer.headers), body=body)
    routed.base64_encoded = encoded
    return routed
