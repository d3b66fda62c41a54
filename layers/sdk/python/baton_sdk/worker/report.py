"""What a worker says of its runs in its own logging: when an attempt begins, and how it ended.

For programs each record has it as data, in the attribute that ``ATTRIBUTE`` names.
"""

from __future__ import annotations

import logging

from baton_sdk.run import Run
from baton_sdk.worker.endings import Ending, Failed, Raised, TryAgainLater
from baton_sdk.worker.failures import told, users_frames
from baton_sdk.worker.outcome import outcome, reason

ATTRIBUTE = "baton"
"""``{type: claimed|ended, run_id, workflow, attempt}`` and of the end ``{outcome, seconds, reason}``,
with ``error: {message, type, stack}`` where the function raised one."""


def report_claimed(logger: logging.Logger, run: Run) -> None:
    """An attempt begins."""
    logger.info("run %s of %s: attempt %d begins", *_named(run), extra=_extra("claimed", run))


def report_ended(logger: logging.Logger, run: Run, ending: Ending, seconds: float) -> None:
    """An attempt is over; a warning where its function failed, with the traceback of what it raised."""
    said, why = outcome(ending), reason(ending)
    data = _extra("ended", run, outcome=said, seconds=round(seconds, 3), reason=why)
    raised = ending.raised if isinstance(ending, Raised) else None
    if raised is not None:
        data[ATTRIBUTE]["error"] = told(raised)
    level = logging.WARNING if isinstance(ending, Failed | TryAgainLater) else logging.INFO
    because = f": {why}" if why is not None else ""
    logger.log(
        level,
        "run %s of %s: attempt %d is %s after %.1f s%s",
        *_named(run),
        said,
        seconds,
        because,
        exc_info=None if raised is None else (type(raised), raised, users_frames(raised)),
        extra=data,
    )


def _named(run: Run) -> tuple[str, str, int]:
    return run.id, run.workflow, run.attempt


def _extra(type_: str, run: Run, **more: object) -> dict[str, dict[str, object]]:
    named = {"type": type_, "run_id": run.id, "workflow": run.workflow, "attempt": run.attempt}
    return {ATTRIBUTE: named | more}
