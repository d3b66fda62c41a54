"""How an attempt ended, and what its run is told by that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from baton_sdk.errors import InvalidRequest
from baton_sdk.worker.errors import (
    Cancelled,
    Continuing,
    Draining,
    Lost,
    RetryableError,
    Suspending,
    TerminalError,
    Wait,
)
from baton_sdk.worker.failures import told

LONGEST_DELAY_SECONDS = 86_400.0


@dataclass(frozen=True, kw_only=True)
class Raised:
    """What the function was left with, for the worker's own logging."""

    raised: BaseException | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Completed:
    """The function returned."""

    output: Any


@dataclass(frozen=True)
class Continued:
    """The run goes on as a new one with this input."""

    input: Any


@dataclass(frozen=True)
class Suspended:
    """The run waits."""

    wait: Wait


@dataclass(frozen=True, kw_only=True)
class Failed(Raised):
    """The run can't succeed."""

    error: Mapping[str, Any]
    resumable: bool = False


@dataclass(frozen=True)
class CancelHeeded(Raised):
    """The function stopped because somebody wanted that. ``error`` says what it left with."""

    error: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class TryAgainLater(Raised):
    """The attempt failed; another may succeed. ``after_seconds`` None: when the service thinks right."""

    error: Mapping[str, Any]
    after_seconds: float | None = None


@dataclass(frozen=True)
class GivenBack:
    """The worker stops; nothing went wrong."""

    reason: str


@dataclass(frozen=True)
class LeaseGone:
    """The run is somebody else's by now, or nobody could be asked: nothing is told."""

    reason: str


Ending = Completed | Continued | Suspended | Failed | CancelHeeded | TryAgainLater | GivenBack | LeaseGone


def ending_of(left_with: BaseException, *, cancelling: bool) -> Ending:
    """What a function has ended by that was left with an exception. ``cancelling``: somebody wants the run to
    stop, so a failure is not tried again."""
    match left_with:
        case Suspending():
            return Suspended(left_with.wait)
        case Continuing():
            return Continued(left_with.input)
        case Lost():
            return LeaseGone(str(left_with))
        case Draining() | KeyboardInterrupt():
            return GivenBack(str(left_with) or "interrupted")
        case Cancelled():
            return CancelHeeded({"message": str(left_with), "type": "cancelled"})
        case TerminalError():
            return Failed(error=told(left_with), resumable=left_with.resumable, raised=left_with)
        case InvalidRequest():  # the same request is as wrong the next time
            return Failed(error=told(left_with), raised=left_with)
        case _ if cancelling:
            return CancelHeeded(told(left_with), raised=left_with)
        case RetryableError():
            after = left_with.after_seconds
            delay = None if after is None else min(max(after, 0.0), LONGEST_DELAY_SECONDS)
            return TryAgainLater(error=told(left_with), after_seconds=delay, raised=left_with)
        case _:
            return TryAgainLater(error=told(left_with), raised=left_with)
