"""One HTTP answer: what handlers give and gateways take."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from baton.api.request import JSON, Request

NO_STORE = "no-store"
PRIVATE = "private, no-cache"

MOST_AS_TEXT = 1_500_000
"""Bytes of a body that a function answers as they are. Its whole answer may be 6 MB of JSON, in which a quote
takes two bytes and any other letter than ASCII's up to three times its own; base64 takes a third more."""

_encode = msgspec.json.Encoder().encode


class Response(msgspec.Struct, kw_only=True):
    """``body`` is bytes of UTF-8, or the pieces of one as they come."""

    status: int
    headers: dict[str, str] = {}
    body: bytes | Iterator[bytes] = b""

    def event(self) -> dict[str, Any]:
        """The answer in payload format 2.0, whole."""
        body, encoded = self.carried()
        return {
            "statusCode": self.status,
            "headers": self.headers,
            "body": body,
            "isBase64Encoded": encoded,
        }

    def carried(self) -> tuple[str, bool]:
        """The body as a string in JSON, and whether it is base64: what is large must not grow by escapes."""
        body = self.whole()
        if len(body) > MOST_AS_TEXT:
            return base64.b64encode(body).decode(), True
        return body.decode(), False

    def whole(self) -> bytes:
        """The body, all of it."""
        return self.body if isinstance(self.body, bytes) else b"".join(self.body)


def json(status: int, answer: Any, headers: Mapping[str, str] | None = None) -> Response:
    """An answer with a JSON body."""
    return Response(status=status, headers={"Content-Type": JSON, **(headers or {})}, body=_encode(answer))


def tagged(request: Request, answer: Any) -> Response:
    """An answer with an ETag over all of it; 304 when the caller has it already."""
    body = _encode(answer)
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": PRIVATE}
    if known(request, etag):
        return Response(status=304, headers=headers)
    return Response(status=200, headers={"Content-Type": JSON, **headers}, body=body)


def known(request: Request, etag: str) -> bool:
    """Whether If-None-Match names ``etag``. Source: RFC 9110, 13.1.2 (weak comparison)."""
    given = request.header("if-none-match")
    if given is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in given.split(",")]
    return etag in tags or tags == ["*"]
