"""What a row of the HTTP contract says, and the headers that rows share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from baton.api import models
from baton.domain import names
from baton.domain.roles import Role

JSON = "application/json"
PROBLEM = "application/problem+json"
EVENTS = "text/event-stream"


_STRING: Mapping[str, Any] = {"type": "string"}


class Header(NamedTuple):
    """A header that an operation reads or sends; ``schema`` is JSON Schema."""

    name: str
    description: str
    schema: Mapping[str, Any] = _STRING


class Answer(NamedTuple):
    """One way an operation answers when it does what was asked."""

    description: str
    model: Any = None
    headers: tuple[Header, ...] = ()
    media: tuple[str, ...] = (JSON,)


class Operation(NamedTuple):
    """One method on one path (API Gateway's spelling).

    ``problems`` are the statuses beside those that any operation may answer. ``role`` None: no one need be
    known. ``streams``: the function has ``stream`` too.
    """

    id: str
    method: str
    path: str
    function: str
    role: Role | None
    summary: str
    answers: dict[int, Answer]
    problems: tuple[int, ...] = ()
    body: Any = None
    query: Any = None
    headers: tuple[Header, ...] = ()
    streams: bool = False


_INT = {"type": "integer", "minimum": 0, "maximum": models.MAX_SAFE}
_SHORT = {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[ -~]+$"}
_TRUE = {"type": "string", "const": "true"}

NAMESPACE = Header(
    "Baton-Namespace",
    "The namespace to act in; default `default`. Only where the token may name one.",
    {"type": "string", "pattern": names.NAMESPACE},
)
KEY = Header(
    "Idempotency-Key",
    "Makes the request safe to repeat: the same key with the same body is the same request.",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[!-~]([ -~]{0,253}[!-~])?$"},
)
ATTEMPT = Header(
    "Baton-Attempt",
    "The driver's fence. Required once the run has been claimed or its attempt is above 1.",
    {"type": "integer", "minimum": 1, "maximum": models.MAX_SAFE},
)
ECHO = Header("Baton-Tail", "The tail that an earlier answer gave: saves a read; ignored if old or forged.")
PRODUCER = (
    Header("Producer-Id", "With Producer-Epoch and Producer-Seq, or none of them.", _SHORT),
    Header("Producer-Epoch", "The producer's session.", _INT),
    Header("Producer-Seq", "Counts the producer's batches from 0 within its epoch.", _INT),
)
STREAM_SEQ = Header("Stream-Seq", "Must sort after the last one, byte by byte.", _SHORT)
IF_NONE_MATCH = Header("If-None-Match", "An ETag: 304 when nothing has changed.")
LAST_EVENT_ID = Header("Last-Event-ID", "Where an interrupted reader stood; wins over `offset`.")
TRACEPARENT = Header("traceparent", "W3C trace context, kept with the run; a malformed one is ignored.")

TAIL = Header("Baton-Tail", "The log's tail, signed: send it back with the next append or finish.")
ETAG = Header("ETag", "Changes with anything in the answer.")
NEXT_OFFSET = Header("Stream-Next-Offset", "Where to read on.")
UP_TO_DATE = Header("Stream-Up-To-Date", "There was nothing more when this was answered.", _TRUE)
CLOSED = Header("Stream-Closed", "The run is settled and this is the log's end.", _TRUE)
CURSOR = Header("Stream-Cursor", "Send it back as `cursor` with the next live read.")
READING = (NEXT_OFFSET, UP_TO_DATE, CLOSED, CURSOR, ETAG)

COMMON_HEADERS = (
    Header("X-Request-Id", "Names this request to whoever looks into it."),
    Header("Cache-Control", "`no-store` unless the answer has an ETag."),
)
RETRY_AFTER = Header(
    "Retry-After", "Seconds after which the same request may do better.", {"type": "integer"}
)
ANY_PROBLEMS = (400, 401, 403, 429, 500, 503)
"""Statuses with which any operation may refuse."""
