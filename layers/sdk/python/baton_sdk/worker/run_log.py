"""A logger whose records go into a run's log, and on to the worker's own logging."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from baton_sdk.errors import BatonError
from baton_sdk.worker.errors import ContextEnded
from baton_sdk.worker.failures import MAX_STACK, stack_of, text

TYPE = "log"
"""The type of a log entry that was a logging record."""


def run_logger(
    run_id: str, parent: logging.Logger, emit: Callable[[str, Any], None], silent: Callable[[], bool]
) -> logging.Logger:
    """A logger of one attempt: from INFO on, ``{level, message, logger?, exception?}`` is emitted. While
    ``silent``, it says nothing anywhere. Not known to ``logging.getLogger``, so that it goes with the
    attempt."""
    logger = logging.Logger(f"{parent.name}.{run_id}", logging.INFO)  # noqa: LOG001 - see above
    logger.parent = parent
    logger.addFilter(lambda _record: not silent())
    logger.addHandler(_IntoTheLog(emit, logger.name))
    return logger


class _IntoTheLog(logging.Handler):
    """Passes records to ``emit``. Logging is never what a function fails by: that nothing can be said any
    more is told elsewhere, and what else goes wrong is left to ``Handler.handleError``."""

    def __init__(self, emit: Callable[[str, Any], None], own_name: str) -> None:
        super().__init__()
        self._emit = emit
        self._own_name = own_name

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._emit(TYPE, self._data(record))
        except (BatonError, ContextEnded):
            return
        except Exception:  # noqa: BLE001 - a handler's edge
            self.handleError(record)

    def _data(self, record: logging.LogRecord) -> dict[str, Any]:
        data = {"level": record.levelname, "message": text(record.getMessage())[:MAX_STACK]}
        if record.name != self._own_name:
            data["logger"] = record.name
        if record.exc_info and record.exc_info[1] is not None:
            data["exception"] = stack_of(record.exc_info[1])
        return data
