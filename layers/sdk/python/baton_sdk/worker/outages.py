"""What a worker says in its own logging of a service that does not answer, and of one that does again."""

from __future__ import annotations

import logging
import threading

FIRST = "baton_outage"
"""The attribute of the record that tells of an outage first: the error, as an object."""


class Outages:
    """Of several threads, each of which is outlasting its own request. For any thread."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._lock = threading.Lock()
        self._waiting: set[str] = set()

    def failed(self, what: str, error: BaseException, seconds: float) -> None:
        """The worker can't be ``what`` now; it is tried again in ``seconds``."""
        with self._lock:
            first = not self._waiting
            self._waiting.add(what)
        self._logger.warning(
            "the worker can't be %s now, the next try is in %.1f s: %s",
            what,
            seconds,
            error,
            extra={FIRST: error} if first else None,
        )

    def answered(self, what: str) -> None:
        """What may have failed has been done: told once everything has that did fail."""
        with self._lock:
            over = self._waiting == {what}
            self._waiting.discard(what)
        if over:
            self._logger.info("the service is reached again")
