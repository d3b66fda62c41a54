"""How an attempt ended, in a word for people and programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton_sdk.worker.endings import (
    CancelHeeded,
    Completed,
    Continued,
    Ending,
    Failed,
    GivenBack,
    LeaseGone,
    Suspended,
    TryAgainLater,
)

_WORDS: Mapping[type[Ending], str] = {
    Completed: "completed",
    Continued: "continued",
    Suspended: "suspended",
    Failed: "failed",
    CancelHeeded: "cancelled",
    TryAgainLater: "error",
    GivenBack: "released",
    LeaseGone: "lost",
}


def outcome(ending: Ending) -> str:
    """``completed``, ``continued`` (as a new run), ``suspended``, ``failed``, ``cancelled``; ``error``: the
    run is to be tried again, if it may; ``released``: given back, nothing went wrong; ``lost``: the run is
    another's by now, or nobody could be told."""
    return _WORDS[type(ending)]


def reason(ending: Ending) -> str | None:
    """Why it ended so, where something went wrong or somebody wanted it."""
    match ending:
        case Failed(error=error) | CancelHeeded(error) | TryAgainLater(error=error):
            return _said(error)
        case GivenBack(reason) | LeaseGone(reason):
            return reason
        case _:
            return None


def _said(error: Mapping[str, Any]) -> str:
    """As the last line of a traceback has it."""
    type_, message = error.get("type"), str(error.get("message"))
    return message if type_ in {None, "cancelled", message} else f"{type_}: {message}"
