"""What a worker says of its runs in its own logging: when an attempt begins, and how it ended.

For programs each record has it as data, in the attribute that ``ATTRIBUTE`` names.
"""

from __future__ import annotations

import logging

from baton_sdk.run import Run
from baton_sdk.worker.endings import Ending, Failed, TryAgainLater
from baton_sdk.worker.outcome import outcome, reason

ATTRIBUTE = "baton"
"""``{type: claimed|ended, run_id, workflow, attempt}`` and of the end ``{outcome, seconds, reason}``."""


def report_claimed(logger: logging.Logger, run: Run) -> None:
    """An attempt begins."""
    logger.info("run %s of %s: attempt %d begins", *_named(run), extra=_extra("claimed", run))


def report_ended(logger: logging.Logger, run: Run, ending: Ending, seconds: float) -> None:
    """An attempt is over; a warning where its function failed."""
    said, why = outcome(ending), reason(ending)
    data = _extra("ended", run, outcome=said, seconds=round(seconds, 3), reason=why)
    level = logging.WARNING if isinstance(ending, Failed | TryAgainLater) else logging.INFO
    because = f": {why}" if why is not None else ""
    logger.log(
        level,
        "run %s of %s: attempt %d is %s after %.1f s%s",
        *_named(run),
        said,
        seconds,
        because,
        extra=data,
    )


def _named(run: Run) -> tuple[str, str, int]:
    return run.id, run.workflow, run.attempt


def _extra(type_: str, run: Run, **more: object) -> dict[str, object]:
    named = {"type": type_, "run_id": run.id, "workflow": run.workflow, "attempt": run.attempt}
    return {ATTRIBUTE: named | more}
