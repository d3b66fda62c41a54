"""From an HTTP answer that refuses to the error that says what to do next (RFC 9457 problem documents)."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Callable
from typing import Any

import httpx

from baton_sdk import errors, payload
from baton_sdk.run import Run

BY_SLUG: dict[str, type[errors.BatonError]] = {
    kind.slug: kind
    for kind in (
        errors.InvalidRequest,
        errors.PayloadTooLarge,
        errors.UnsupportedMediaType,
        errors.Unauthenticated,
        errors.Forbidden,
        errors.NotFound,
        errors.RunExists,
        errors.RunTerminal,
        errors.LeaseLost,
        errors.InFlight,
        errors.StillOwed,
        errors.StreamConflict,
        errors.IdempotencyMismatch,
        errors.Busy,
        errors.TooManyRequests,
        errors.Unavailable,
        errors.Internal,
    )
}
# For answers without a problem document: a gateway's or a proxy's own.
BY_STATUS: dict[int, type[errors.BatonError]] = {
    401: errors.Unauthenticated,
    403: errors.Forbidden,
    404: errors.NotFound,
    409: errors.Conflict,
    413: errors.PayloadTooLarge,
    415: errors.UnsupportedMediaType,
    422: errors.IdempotencyMismatch,
    429: errors.TooManyRequests,
    # A function that died under its request: the gateway speaks for it, and whether it had written is
    # unknown.
    500: errors.Unavailable,
    502: errors.Unavailable,
    503: errors.Unavailable,
    504: errors.Unavailable,
}
_URN = "urn:baton:"


def error_from(response: httpx.Response, *, token_sent: bool = False) -> errors.BatonError:
    """The error an answer of 4xx or 5xx stands for. The response's body must have been read."""
    problem = _problem(response)
    kind = _kind(response, str(problem.get("type", "")))
    error = kind(
        _detail(response, problem),
        status=response.status_code,
        errors=_field_errors(problem.get("errors")),
        run=_run(problem.get("run")),
        retryable=bool(problem.get("retryable", issubclass(kind, errors.TryAgain))),
        request_id=response.headers.get("x-request-id"),
        headers=dict(response.headers),
    )
    if isinstance(error, errors.TryAgain):
        error.retry_after = retry_after(response.headers.get("retry-after"))
    if isinstance(error, errors.Unauthenticated):
        error.token_sent = token_sent
    return error


def retry_after(value: str | None, clock: Callable[[], float] = time.time) -> float | None:
    """``Retry-After`` in seconds from now: a number of seconds or an HTTP date. None when absent or
    unreadable."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - clock())


def _problem(response: httpx.Response) -> dict[str, Any]:
    if "json" not in response.headers.get("content-type", ""):
        return {}
    try:
        document = payload.decode(response.content)
    except errors.BadAnswer:
        return {}
    return document if isinstance(document, dict) else {}


def _kind(response: httpx.Response, urn: str) -> type[errors.BatonError]:
    status = response.status_code
    if status == httpx.codes.FORBIDDEN and "producer-epoch" in response.headers:
        return errors.ProducerFenced
    named = BY_SLUG.get(urn.removeprefix(_URN)) if urn.startswith(_URN) else None
    if named is not None:
        return named
    fallback = errors.InvalidRequest if status < httpx.codes.INTERNAL_SERVER_ERROR else errors.Internal
    return BY_STATUS.get(status, fallback)


def _detail(response: httpx.Response, problem: dict[str, Any]) -> str:
    for key in ("detail", "title", "message"):
        if isinstance(problem.get(key), str) and problem[key]:
            return str(problem[key])
    return f"the server answered {response.status_code} {response.reason_phrase} without a reason"


def _field_errors(found: Any) -> tuple[errors.FieldError, ...]:
    if not isinstance(found, list):
        return ()
    return tuple(
        errors.FieldError(tuple(entry.get("loc") or ()), str(entry.get("msg", "")))
        for entry in found
        if isinstance(entry, dict)
    )


def _run(found: Any) -> Run | None:
    try:
        return Run.from_json(found) if isinstance(found, dict) else None
    except errors.BadAnswer:
        return None  # an error is never lost over what came with it
