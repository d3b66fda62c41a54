"""What a workflow's function raises to say how its run goes on, and what unwinds one from below.

Exception
├── TerminalError         the run fails, for good
│   ├── InvalidInput      the run's input is not what the function takes
│   ├── InvalidResult     not JSON, or too large to be kept (also a ValueError)
│   ├── CodeChanged       what was recorded is not what the function asks for now
│   └── Misuse            the context is used as it can't be (also a RuntimeError)
├── RetryableError        the run is tried again
├── Cancelled             the run is cancelled
├── StepFailed            a step that failed in an attempt before, and whose own error can't be made again
└── ContextEnded          a context is used whose attempt is over (also a RuntimeError)
BaseException
└── Unwinding             passes through ``except Exception``: let it
    ├── Suspending  Continuing
    └── Draining  Lost
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar


class TerminalError(Exception):
    """The run can't succeed: it is settled failed, and not tried again. ``type`` names the kind of error in
    its outcome."""

    type: ClassVar[str | None] = None
    resumable: ClassVar[bool] = False


class InvalidInput(TerminalError):
    """The run's input is not what its function takes."""

    type = "invalid-input"


class InvalidResult(TerminalError, ValueError):
    """A result that the log can't keep: not JSON, or too large."""

    type = "invalid-result"


class CodeChanged(TerminalError):
    """The function asks for something else than was recorded at this position by an attempt before. The run
    can be resumed, by the code that began it or by code that agrees with it."""

    type = "code-changed"
    resumable = True


class Misuse(TerminalError, RuntimeError):
    """The context is used in a way that could not be replayed."""

    type = "misuse"


class RetryableError(Exception):
    """Try the run again, ``after`` so long (seconds or a timedelta); without it, the service waits longer
    from failure to failure. It counts toward the run's ``max_attempts``."""

    def __init__(self, message: str = "", *, after: float | timedelta | None = None) -> None:
        super().__init__(message)
        self.after_seconds = after.total_seconds() if isinstance(after, timedelta) else after


class Cancelled(Exception):
    """Somebody wants the run to stop. A function that lets this through is settled cancelled, resumable."""


class StepFailed(Exception):
    """What a step (or another call) failed with in an attempt before, where it can't be made again as it
    was."""


class ContextEnded(RuntimeError):
    """The attempt that this context belongs to is over: nothing it does counts any more."""


class Unwinding(BaseException):
    """Leaves a workflow's function from inside a call of its context. Not an Exception, so that no ``except
    Exception`` keeps the function; ``finally`` is heeded."""


@dataclass(frozen=True, kw_only=True)
class Wait:
    """What a run is to wait for: exactly one of ``until``, ``run`` and ``event``; ``position`` tells it from
    the run's others."""

    position: int
    until: datetime | None = None
    run: str | None = None
    event: str | None = None


class Suspending(Unwinding):
    """The run waits: it is called again when that has come."""

    def __init__(self, wait: Wait) -> None:
        super().__init__(wait)
        self.wait = wait


class Continuing(Unwinding):
    """The run goes on as a new one with this input."""

    def __init__(self, input: Any) -> None:
        super().__init__(input)
        self.input = input


class Draining(Unwinding):
    """The worker stops: another one goes on from what is recorded."""


class Lost(Unwinding):
    """The lease is lost: another worker has the run now, or nobody could be asked. Nothing this attempt does
    counts any more."""
