"""Every refusal Baton utters, split by what the caller does next.

    BatonError
    ├── InvalidRequest          fix the request
    │   ├── PayloadTooLarge
    │   └── UnsupportedMediaType
    ├── NotAllowed              bring other credentials
    │   ├── Unauthenticated
    │   └── Forbidden ── ProducerFenced
    ├── NotFound                nothing there, for this caller
    ├── MethodNotAllowed        there, but not for this verb
    ├── Conflict                read the present truth, then decide
    │   ├── RunExists  RunTerminal  LeaseLost  InFlight  StillOwed
    │   ├── StreamConflict ── SequenceGap
    │   └── IdempotencyMismatch
    ├── TryAgain                back off, then repeat the same request
    │   ├── Busy  TooManyRequests
    │   └── Unavailable
    └── Internal                page someone

HTTP numbers live in ``baton.api`` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class BatonError(Exception):
    """The root. ``str(error)`` is the sentence a person reads; ``slug`` names the kind for programs.

    ``run`` is the id-bearing truth a conflict is about, if the raiser knows it: any object the
    edge can render. ``headers`` go out with the answer as they stand.
    """

    slug: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        detail: str,
        *,
        run: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.run = run
        self.headers: dict[str, str] = dict(headers or {})


class InvalidRequest(BatonError):
    """The request can't be right as it stands. ``errors`` names the fields: ``{"loc": […], "msg": …}``."""

    slug = "invalid-request"

    def __init__(
        self,
        detail: str,
        *,
        errors: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail, headers=headers)
        self.errors = tuple(errors)

    @classmethod
    def at(cls, loc: Sequence[str | int], msg: str) -> InvalidRequest:
        """One field is wrong: ``at(["body", "limit"], "must be 1 to 100")``."""
        where = ".".join(str(part) for part in loc)
        return cls(f"{where}: {msg}", errors=[{"loc": list(loc), "msg": msg}])


class PayloadTooLarge(InvalidRequest):
    """A payload is over its limit; nothing was written."""

    slug = "payload-too-large"


class UnsupportedMediaType(InvalidRequest):
    """The body is not JSON by its Content-Type."""

    slug = "unsupported-media-type"


class NotAllowed(BatonError):
    """Other credentials are needed."""


class Unauthenticated(NotAllowed):
    """No one vouched for this request."""

    slug = "unauthenticated"


class Forbidden(NotAllowed):
    """The caller is known and may not do this."""

    slug = "forbidden"


class NotFound(BatonError):
    """Absent, expired, deleted, or another namespace's: all the same answer."""

    slug = "not-found"


class MethodNotAllowed(BatonError):
    """The path exists; the method does not. ``headers`` carries ``Allow``."""

    slug = "method-not-allowed"


class Conflict(BatonError):
    """The request met a state that does not allow it."""


class RunExists(Conflict):
    """The run id is taken by a live run."""

    slug = "run-exists"


class RunTerminal(Conflict):
    """The run has settled."""

    slug = "run-terminal"


class LeaseLost(Conflict):
    """The caller does not hold the run: a successor has begun, its lease is another's, or nobody's."""

    slug = "lease-lost"


class InFlight(Conflict):
    """The run is at work, or waiting, where the request needs it otherwise."""

    slug = "in-flight"


class StillOwed(Conflict):
    """Something is still owed, waited on or buffered."""

    slug = "still-owed"


class StreamConflict(Conflict):
    """The log does not take this append now."""

    slug = "stream-conflict"


class SequenceGap(StreamConflict):
    """A producer skipped a sequence number."""

    def __init__(self, expected: int, received: int) -> None:
        super().__init__(
            f"Producer-Seq {received} skips ahead: {expected} is expected next",
            headers={"Producer-Expected-Seq": str(expected), "Producer-Received-Seq": str(received)},
        )


class ProducerFenced(Forbidden):
    """A newer epoch of this producer has begun. Source: Durable Streams protocol, 5.2.1."""

    def __init__(self, current_epoch: int) -> None:
        super().__init__(
            f"this producer's epoch is stale: {current_epoch} is current",
            headers={"Producer-Epoch": str(current_epoch)},
        )


class IdempotencyMismatch(Conflict):
    """The same key came with another body."""

    slug = "idempotency-mismatch"


class TryAgain(BatonError):
    """Nothing was decided; the same request may succeed later."""

    retryable = True

    def __init__(self, detail: str, *, retry_after: int = 1) -> None:
        super().__init__(detail, headers={"Retry-After": str(retry_after)})


class Busy(TryAgain):
    """Someone else holds the lease that this needs."""

    slug = "busy"


class TooManyRequests(TryAgain):
    """Over the rate limit."""

    slug = "too-many-requests"


class Unavailable(TryAgain):
    """The store throttled, conflicted for too long, or could not be reached. The write may have happened:
    repeating the request finds out (I9)."""

    slug = "unavailable"


class Internal(BatonError):
    """A fault of Baton's own."""
