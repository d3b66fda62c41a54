"""Refusals over HTTP: problem documents (RFC 9457)."""

from __future__ import annotations

from typing import NamedTuple

from baton.api import answers, response
from baton.api.operation import PROBLEM
from baton.errors import BatonError, InvalidRequest


class Kind(NamedTuple):
    """What every problem of one slug has in common."""

    status: int
    title: str


KINDS = {
    "invalid-request": Kind(400, "The request is not valid"),
    "unauthenticated": Kind(401, "Authentication is required"),
    "forbidden": Kind(403, "Not allowed"),
    "not-found": Kind(404, "Not found"),
    "method-not-allowed": Kind(405, "Method not allowed"),
    "run-exists": Kind(409, "The run exists"),
    "run-terminal": Kind(409, "The run has settled"),
    "lease-lost": Kind(409, "The run is not held under this attempt"),
    "in-flight": Kind(409, "The run's state does not allow this"),
    "busy": Kind(409, "Someone else is at it"),
    "still-owed": Kind(409, "Something is still owed"),
    "stream-conflict": Kind(409, "The log does not take this"),
    "payload-too-large": Kind(413, "The payload is too large"),
    "unsupported-media-type": Kind(415, "Unsupported media type"),
    "idempotency-mismatch": Kind(422, "The idempotency key came with another body"),
    "too-many-requests": Kind(429, "Too many requests"),
    "internal": Kind(500, "Internal error"),
    "unavailable": Kind(503, "Try again"),
}
"""Every slug that an error of ``baton.errors`` has."""

INTERNAL_DETAIL = "something went wrong on our side; it has been logged under this request's id"


def problem(error: BatonError, run: answers.Run | None) -> response.Response:
    """The answer that ``error`` is. ``run`` is the present truth it is about, where there is one."""
    kind = KINDS[error.slug]
    said = answers.Problem(
        type=f"urn:baton:{error.slug}",
        title=kind.title,
        status=kind.status,
        detail=_utf8(error.detail),
        errors=_fields(error),
        run=run,
        retryable=error.retryable,
    )
    answer = response.json(kind.status, said, error.headers)
    answer.headers["Content-Type"] = PROBLEM
    if kind.status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


def _fields(error: BatonError) -> list[answers.FieldError]:
    if not isinstance(error, InvalidRequest):
        return []
    return [
        answers.FieldError(
            [_utf8(step) if isinstance(step, str) else step for step in each["loc"]], _utf8(each["msg"])
        )
        for each in error.errors
    ]


def _utf8(text: str) -> str:
    """The text as it can be sent: a refusal may quote what came, and half a surrogate pair is no letter."""
    return text.encode("utf-8", "replace").decode()
