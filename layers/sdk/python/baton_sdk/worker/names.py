"""What the service takes as names: a wrong one is refused where it is written, not when it is first sent."""

from __future__ import annotations

import re

WORKFLOW = r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}"
EVENT = r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,159}"
WORKER_ID = r"[A-Za-z0-9][A-Za-z0-9._:~-]{0,127}"

COMPLETED, FAILED = "run.completed:", "run.failed:"
"""Of the events that Baton publishes: what comes after is a workflow's name."""
BATONS_OWN = "run."


def check_workflow(name: str) -> None:
    """Raise ValueError for what can't be a workflow's name."""
    _check(name, WORKFLOW, "a workflow's name")


def check_worker_id(name: str) -> None:
    """Raise ValueError for what can't be a worker's id."""
    _check(name, WORKER_ID, "a worker's id")


def check_event(name: str) -> None:
    """Raise ValueError for what nothing can be started by."""
    for ending in (COMPLETED, FAILED):
        if name.startswith(ending):
            _check(name.removeprefix(ending), WORKFLOW, f"a workflow's name ({name!r})")
            return
    _check(name, rf"(?!{re.escape(BATONS_OWN)}){EVENT}", "an event's name")


def _check(name: str, pattern: str, what: str) -> None:
    if re.fullmatch(pattern, name) is None:
        raise ValueError(f"{name!r} is not {what}: {pattern}")
