"""One HTTP request, read as far as a handler asks: path, headers, query, body."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import unquote

from baton.api import shapes
from baton.api.identity import Caller
from baton.api.models import MAX_SAFE
from baton.domain import names, payload, tokens
from baton.domain.events import check_name
from baton.domain.log import Producer
from baton.errors import InvalidRequest, NotFound, PayloadTooLarge, UnsupportedMediaType

M = TypeVar("M")

JSON = "application/json"
MAX_HEADER = 256
MAX_BODY = 4_000_000
"""Bytes. The largest payload, each letter of it written as an escape, is less than half of it; and a
container of 512 MB can hold what it says: values take up to seventy times their text."""
ANSWER_SECONDS = 1.0
"""What is left of a function's time for its answer when it has waited as long as it may."""

_DIGITS = re.compile(r"[0-9]{1,16}")
_KEY = re.compile(names.IDEMPOTENCY_KEY.removesuffix("$") + r"\Z")
_PRINTABLE_ASCII = re.compile(rf"[\x20-\x7e]{{1,{MAX_HEADER}}}")
# Source: W3C Trace Context, 3.2. All zeros mean "none".
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


class Request:
    """A request of payload format 2.0 from a known caller."""

    def __init__(
        self,
        event: Mapping[str, Any],
        context: Any,
        caller: Caller,
        *,
        streaming: bool = False,
        permit: Callable[[str], None] | None = None,
    ) -> None:
        self.caller = caller
        self._permit = permit
        self.namespace = caller.namespace
        self.streaming = streaming
        self._event = event
        self._context = context
        self._headers: Mapping[str, str] = event.get("headers") or {}

    @property
    def id(self) -> str:
        """The gateway's name for this request."""
        return str(self._event["requestContext"]["requestId"])

    @cached_property
    def run_id(self) -> str:
        """The path's run id, looked at once: to be read when all else is in shape. Raises NotFound for what
        can be none, and what ``permit`` raises of a run that the caller may not drive."""
        given = (self._event.get("pathParameters") or {}).get("id") or self._event["rawPath"].split("/")[3]
        text = unquote(given)  # gateways differ in whether it comes decoded, and no id holds a percent sign
        if not names.matches(names.RUN_ID, text):
            raise NotFound("no such run here")
        if self._permit is not None:
            self._permit(text)
        return text

    @property
    def name(self) -> str:
        """What the path names, of whatever form."""
        given = (self._event.get("pathParameters") or {}).get("name") or self._event["rawPath"].split("/")[3]
        return unquote(given)  # as above

    @property
    def worker_id(self) -> str:
        """The path's worker id. Raises InvalidRequest for what can be none."""
        given = (self._event.get("pathParameters") or {}).get("worker_id")
        text = unquote(given or self._event["rawPath"].split("/")[3])  # as above
        if not names.matches(names.RUN_ID, text):
            raise InvalidRequest.at(["path", "worker_id"], f"must match {names.RUN_ID}")
        return text

    @property
    def token_id(self) -> str:
        """The path's token id. Raises NotFound for what can be none."""
        given = (self._event.get("pathParameters") or {}).get("token_id")
        text = unquote(given or self._event["rawPath"].split("/")[3])  # as above
        if not names.matches(tokens.ID, text):
            raise NotFound("no such token here")
        return text

    @property
    def event(self) -> str:
        """The path's event name. Raises InvalidRequest for what is none of a custom event."""
        text = self.name
        check_name(text, ["path", "name"])
        return text

    def header(self, name: str) -> str | None:
        """A header by its name in lower case."""
        return self._headers.get(name)

    def seconds(self, wish: float) -> float:
        """``wish``, or less: what the function's time allows, and for how long the caller's token counts.
        What comes to be there once it has expired is not theirs."""
        left, most = getattr(self._context, "get_remaining_time_in_millis", None), wish
        if left is not None:
            most = min(most, left() / 1000 - ANSWER_SECONDS)
        if self.caller.lasts_seconds is not None:
            most = min(most, self.caller.lasts_seconds)
        return max(0.0, most)

    def query(self, model: type[M]) -> M:
        """The query as a model. Raises InvalidRequest."""
        return shapes.convert(shapes.query(self._event.get("rawQueryString") or ""), model, "query")

    def raw(self) -> bytes:
        """The body's bytes. Raises InvalidRequest, PayloadTooLarge."""
        raw = self._sent()
        if len(raw) > MAX_BODY:
            raise PayloadTooLarge.at(["body"], f"{len(raw)} bytes, over the limit of {MAX_BODY}")
        return raw

    def _sent(self) -> bytes:
        body = self._event.get("body") or ""
        if not self._event.get("isBase64Encoded"):
            return body.encode("utf-8", "surrogatepass")
        try:
            return base64.b64decode(body, validate=True)
        except ValueError as exc:
            raise InvalidRequest.at(["body"], "not base64") from exc

    @property
    def media_type(self) -> str | None:
        """Content-Type without its parameters."""
        given = self._headers.get("content-type")
        return None if given is None else given.partition(";")[0].strip().lower()

    def json(self) -> dict[str, Any]:
        """The body's object as it was sent; an empty body is ``{}``. Raises InvalidRequest, PayloadTooLarge
        and UnsupportedMediaType."""
        raw = self.raw()
        if not raw:
            return {}
        if self.media_type not in (None, JSON):
            raise UnsupportedMediaType(f"send {JSON}, not {str(self.media_type)[:MAX_HEADER]}")
        value = payload.parse(raw)
        if not isinstance(value, dict):
            raise InvalidRequest.at(["body"], "must be a JSON object")
        return value

    @property
    def idempotency_key(self) -> str | None:
        """Raises InvalidRequest unless it is 1 to 255 printable ASCII characters."""
        key = self._headers.get("idempotency-key")
        if key is not None and _KEY.match(key) is None:
            raise InvalidRequest.at(
                ["header", "Idempotency-Key"], "must be 1 to 255 printable ASCII characters"
            )
        return key

    @property
    def attempt(self) -> int | None:
        """The driver's fence. Raises InvalidRequest unless it is a positive integer."""
        text = self._headers.get("baton-attempt")
        if text is None:
            return None
        attempt = _integer(text)
        if not attempt:
            raise InvalidRequest.at(["header", "Baton-Attempt"], "must be a positive integer")
        return attempt

    @property
    def producer(self) -> Producer | None:
        """The producer's headers: all or none. Raises InvalidRequest."""
        id_, epoch, seq = (self._headers.get(f"producer-{part}") for part in ("id", "epoch", "seq"))
        if id_ is None and epoch is None and seq is None:
            return None
        given = {"Producer-Id": id_, "Producer-Epoch": epoch, "Producer-Seq": seq}
        absent = next((name for name, value in given.items() if value is None), None)
        if absent is not None:
            raise InvalidRequest.at(
                ["header", absent], "the three Producer headers come together or not at all"
            )
        if _PRINTABLE_ASCII.fullmatch(str(id_)) is None:
            raise InvalidRequest.at(
                ["header", "Producer-Id"], f"must be 1 to {MAX_HEADER} printable characters"
            )
        return Producer(str(id_), _counter("Producer-Epoch", str(epoch)), _counter("Producer-Seq", str(seq)))

    @property
    def stream_seq(self) -> str | None:
        """Raises InvalidRequest over 256 characters, on an empty one and on unprintable ones."""
        seq = self._headers.get("stream-seq")
        if seq is not None and _PRINTABLE_ASCII.fullmatch(seq) is None:
            raise InvalidRequest.at(
                ["header", "Stream-Seq"], f"must be 1 to {MAX_HEADER} printable characters"
            )
        return seq

    @property
    def traceparent(self) -> str | None:
        """The W3C trace context; None when it is absent or malformed."""
        text = self._headers.get("traceparent")
        return text if text is not None and _TRACEPARENT.fullmatch(text) else None


def _integer(text: str) -> int | None:
    if _DIGITS.fullmatch(text) is None:
        return None
    number = int(text)
    return number if number <= MAX_SAFE else None


def _counter(name: str, text: str) -> int:
    number = _integer(text)
    if number is None:
        raise InvalidRequest.at(["header", name], f"must be an integer from 0 to {MAX_SAFE}")
    return number
