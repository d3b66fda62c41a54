"""What the client raises, split by what the caller does next.

BatonError
├── InvalidRequest        fix the request
│   ├── PayloadTooLarge
│   └── UnsupportedMediaType
├── NotAllowed            bring another token
│   ├── Unauthenticated
│   └── Forbidden
├── NotFound              nothing there, for this caller
├── Conflict              read the present truth (``error.run``), then decide
│   ├── RunExists  RunTerminal  LeaseLost  InFlight  StillOwed  IdempotencyMismatch
│   └── StreamConflict ── ProducerFenced
├── TryAgain              back off, then repeat
│   ├── Busy  TooManyRequests  Unavailable
│   └── Unreachable
└── Fault                 page someone
    ├── Internal
    ├── BadAnswer
    └── LogGap
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from baton_sdk.run import Run


@dataclass(frozen=True)
class FieldError:
    """One field of a refused request: where it stands and what is wrong with it."""

    loc: tuple[str | int, ...]
    msg: str

    def __str__(self) -> str:
        return f"{'.'.join(str(part) for part in self.loc)}: {self.msg}"


class BatonError(Exception):
    """The root. ``str(error)`` is a sentence for a person; ``slug`` names the kind for programs.

    ``status`` is None when no answer came; ``run`` is the present truth where the server sent it;
    ``retryable`` says whether the same request may succeed later; ``request_id`` finds it in the server's
    log.
    """

    slug: ClassVar[str] = "error"
    maybe_done: bool = False
    """Whether what was asked for may have been done all the same."""

    def __init__(
        self,
        detail: str,
        *,
        status: int | None = None,
        errors: Sequence[FieldError] = (),
        run: Run | None = None,
        retryable: bool = False,
        request_id: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.errors = tuple(errors)
        self.run = run
        self.retryable = retryable
        self.request_id = request_id
        self.headers: Mapping[str, str] = dict(headers or {})

    def as_json(self) -> dict[str, Any]:
        """The error as one JSON object: what ``--json`` prints."""
        return {
            "slug": self.slug,
            "detail": self.detail,
            "status": self.status,
            "errors": [{"loc": list(error.loc), "msg": error.msg} for error in self.errors],
            "run": self.run.raw if self.run is not None else None,
            "retryable": self.retryable,
            "request_id": self.request_id,
        }


class InvalidRequest(BatonError):
    """The request can't be right as it stands: fix it."""

    slug = "invalid-request"


class PayloadTooLarge(InvalidRequest):
    """A payload is over its limit; nothing was written."""

    slug = "payload-too-large"


class UnsupportedMediaType(InvalidRequest):
    """The server does not take this content type."""

    slug = "unsupported-media-type"


class NotAllowed(BatonError):
    """Other credentials are needed."""


class Unauthenticated(NotAllowed):
    """No token, or one that does not count: unknown, expired or revoked. ``token_sent`` tells which."""

    slug = "unauthenticated"
    token_sent: bool = False


class Forbidden(NotAllowed):
    """The token's role or namespace does not cover this."""

    slug = "forbidden"


class NotFound(BatonError):
    """Absent, expired, deleted, or another namespace's: all the same answer."""

    slug = "not-found"


class Conflict(BatonError):
    """The request met a state that does not allow it."""

    slug = "conflict"


class RunExists(Conflict):
    """The run id is taken; ``run`` is who has it."""

    slug = "run-exists"


class RunTerminal(Conflict):
    """The run has settled."""

    slug = "run-terminal"


class LeaseLost(Conflict):
    """Another driver has taken over this run: stop driving it."""

    slug = "lease-lost"


class InFlight(Conflict):
    """The run is at work, or waiting, where the request needs it otherwise."""

    slug = "in-flight"


class StillOwed(Conflict):
    """Something is still owed, waited on or buffered, so the run can't be deleted yet."""

    slug = "still-owed"


class IdempotencyMismatch(Conflict):
    """The same idempotency key was used before with another body."""

    slug = "idempotency-mismatch"


class StreamConflict(Conflict):
    """The log does not take this append now."""

    slug = "stream-conflict"


class ProducerFenced(StreamConflict):
    """A newer epoch of this producer has begun: another process writes under the same producer id."""

    slug = "producer-fenced"


class TryAgain(BatonError):
    """Nothing wrong with the request: back off, then repeat it. ``retry_after`` is the server's wish, in
    seconds."""

    retry_after: float | None = None


class Busy(TryAgain):
    """Someone else is working on the same thing."""

    slug = "busy"


class TooManyRequests(TryAgain):
    """Over the rate limit."""

    slug = "too-many-requests"


class Unavailable(TryAgain):
    """The service, or what stands before it, is out for now. The write may have happened."""

    slug = "unavailable"
    maybe_done = True


class Unreachable(TryAgain):
    """No answer came. ``maybe_sent`` is False when the request certainly never reached the server."""

    slug = "unreachable"

    def __init__(self, detail: str, *, maybe_sent: bool, silent: bool = False) -> None:
        super().__init__(detail, retryable=True)
        self.maybe_sent = self.maybe_done = maybe_sent
        self.silent = silent


class Fault(BatonError):
    """Something is broken on one side or the other: page someone. The write may have happened."""

    slug = "fault"
    maybe_done = True


class Internal(Fault):
    """A fault of the service's own."""

    slug = "internal"


class BadAnswer(Fault):
    """An answer that the contract does not have: a proxy's page, a broken body, another service."""

    slug = "bad-answer"


class LogGap(Fault):
    """An event is missing: the log promised none would be."""

    slug = "log-gap"

    def __init__(self, run_id: str, *, expected: int, received: int) -> None:
        super().__init__(
            f"the log of {run_id} jumped from event {expected - 1} to {received}: {expected} is missing"
        )
        self.expected = expected
        self.received = received
