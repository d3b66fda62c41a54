"""What API Gateway's HTTP API says to a function, and how it takes the answer: payload format 2.0.

Source: "Create AWS Lambda proxy integrations for HTTP APIs" in the API Gateway developer guide. That the path
comes decoded and cookies leave the headers is how the service has been seen to behave.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from baton.domain.clock import Millis
from infra.local.names import ACCOUNT
from infra.local.routing import Match

API_ID = "local"
REGION = "local"
STAGE = "$default"

_TEXT = frozenset({"application/json", "application/javascript", "application/xml"})
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "expect",
        "keep-alive",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


class HttpRequest(NamedTuple):
    """A request as it came over the wire: header names in lower case, in order, repeated as they were."""

    method: str
    raw_path: str
    raw_query: str
    headers: list[tuple[str, str]]
    body: bytes
    source_ip: str
    protocol: str = "HTTP/1.1"

    def header(self, name: str) -> str | None:
        """What is said under that name; said more than once, it is one text with commas, as in an event."""
        said = [value for key, value in self.headers if key == name]
        return ",".join(said) if said else None


class HttpAnswer(NamedTuple):
    """An answer as it goes over the wire."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Malformed(ValueError):
    """A function answered what the gateway can't pass on."""


def event_of(
    request: HttpRequest, match: Match, *, request_id: str, at: Millis, authorizer: Mapping[str, Any]
) -> dict[str, Any]:
    """The event for one request. ``authorizer`` is the context that an authoriser vouched for."""
    body, encoded = _body(request)
    query = _joined(parse_qsl(request.raw_query, keep_blank_values=True))
    cookies = [
        cookie.strip()
        for name, value in request.headers
        if name == "cookie"
        for cookie in value.split(";")
        if cookie.strip()
    ]
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": match.route_key,
        "rawPath": unquote(request.raw_path),
        "rawQueryString": request.raw_query,
        "headers": _headers(request, request_id, at),
        "requestContext": _context(request, match, request_id=request_id, at=at, authorizer=authorizer),
        "isBase64Encoded": encoded,
    }
    # What is empty is left out, not null.
    optional = {
        "cookies": cookies,
        "queryStringParameters": query,
        "pathParameters": match.parameters,
        "body": body,
    }
    return event | {name: value for name, value in optional.items() if value}


def authorizer_event(request: HttpRequest, match: Match, *, request_id: str, at: Millis) -> dict[str, Any]:
    """The event by which an authoriser is asked, of format 2.0, whose identity source is `Authorization`."""
    event = event_of(request._replace(body=b""), match, request_id=request_id, at=at, authorizer={})
    context = {name: value for name, value in event["requestContext"].items() if name != "authorizer"}
    left_out = ("body", "isBase64Encoded", "requestContext")
    return {name: value for name, value in event.items() if name not in left_out} | {
        "type": "REQUEST",
        "routeArn": f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{API_ID}/{STAGE}/"
        f"{match.route_key.replace(' ', '')}",
        "identitySource": [request.header("authorization") or ""],
        "requestContext": context,
    }


def _context(
    request: HttpRequest, match: Match, *, request_id: str, at: Millis, authorizer: Mapping[str, Any]
) -> dict[str, Any]:
    host = request.header("host") or ""
    return {
        "accountId": ACCOUNT,
        "apiId": API_ID,
        "authorizer": {"lambda": dict(authorizer)},
        "domainName": host,
        "domainPrefix": host.split(".")[0],
        "http": {
            "method": request.method,
            "path": unquote(request.raw_path),
            "protocol": request.protocol,
            "sourceIp": request.source_ip,
            "userAgent": request.header("user-agent") or "",
        },
        "requestId": request_id,
        "routeKey": match.route_key,
        "stage": STAGE,
        "time": f"{datetime.fromtimestamp(at / 1000, UTC):%d/%b/%Y:%H:%M:%S +0000}",
        "timeEpoch": at,
    }


def _headers(request: HttpRequest, request_id: str, at: Millis) -> dict[str, str]:
    sent = [pair for pair in request.headers if pair[0] != "cookie" and pair[0] not in _HOP_BY_HOP]
    host = request.header("host") or ""
    return _joined(sent) | {
        "content-length": str(len(request.body)),
        "x-amzn-trace-id": f"Root=1-{at // 1000:08x}-{request_id.replace('-', '')[:24]}",
        "x-forwarded-for": request.source_ip,
        "x-forwarded-port": host.rpartition(":")[2] if ":" in host else "80",
        "x-forwarded-proto": "http",
    }


def _joined(pairs: list[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _body(request: HttpRequest) -> tuple[str, bool]:
    media = (request.header("content-type") or "text/plain").partition(";")[0].strip().lower()
    if media.startswith("text/") or media in _TEXT:
        try:
            return request.body.decode(), False
        except UnicodeDecodeError:
            pass  # called text, and is not
    return base64.b64encode(request.body).decode(), bool(request.body)


def answer_of(response: Any) -> HttpAnswer:
    """The answer that a function's return value stands for. Raises Malformed."""
    if not isinstance(response, Mapping) or "statusCode" not in response:
        # Format 2.0 infers: whatever is returned is a JSON body.
        return HttpAnswer(200, [("content-type", "application/json")], _json(response))
    try:
        status = int(response["statusCode"])
        headers = [
            (str(name).lower(), _text(value)) for name, value in (response.get("headers") or {}).items()
        ]
        headers += [("set-cookie", str(cookie)) for cookie in response.get("cookies") or ()]
        body = _answer_body(response)
    except (AttributeError, TypeError, ValueError) as exc:
        raise Malformed(f"not a response of payload format 2.0: {exc}") from exc
    if body and not any(name == "content-type" for name, _ in headers):
        headers.append(("content-type", "text/plain;charset=UTF-8"))
    return HttpAnswer(status, headers, body)


def _answer_body(response: Mapping[str, Any]) -> bytes:
    body = response.get("body")
    if body is None:
        return b""
    if response.get("isBase64Encoded"):
        return base64.b64decode(body)
    return body.encode() if isinstance(body, str) else _json(body)


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value).encode()
    except (TypeError, ValueError) as exc:
        raise Malformed(f"not JSON: {exc}") from exc


def _text(value: Any) -> str:
    """A header's value: API Gateway takes numbers and booleans too."""
    return str(value).lower() if isinstance(value, bool) else str(value)
