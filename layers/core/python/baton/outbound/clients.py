"""Clients of AWS services other than DynamoDB, each made when first needed: most containers need none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from baton.domain.clock import Clock, Millis, recent
from baton.observability import logger

QUIET_MS = 10_000
"""How long a service that could not be reached is not tried again."""

Client = Callable[[], Any]
"""Gives the client of one service."""


class LazyClient:
    """The client of one service, made by the first call. Safe for threads.

    Impatient, because whoever calls has its own work done already: at most two tries of some 3 s.
    """

    def __init__(self, service: str, *, region: str, endpoint_url: str | None = None) -> None:
        self._service = service
        self._region = region
        self._endpoint_url = endpoint_url
        self._lock = threading.Lock()
        self._client: Any = None

    def __call__(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._made()
            return self._client

    def _made(self) -> Any:
        # Imported now: no container pays at its start for what it may never say.
        import botocore.session
        from botocore.config import Config

        config = Config(
            connect_timeout=1, read_timeout=2, retries={"total_max_attempts": 2, "mode": "standard"}
        )
        return botocore.session.get_session().create_client(
            self._service, region_name=self._region, endpoint_url=self._endpoint_url, config=config
        )


class Line:
    """Calls of one service by whoever has its own work done: they fail quietly, and they do not hold it up.

    One that can't be reached costs each caller seconds, so it is left alone for a while.
    """

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._failed_at: Millis | None = None

    def call(self, operation: str, **request: Any) -> Any:
        """The service's answer; None when there is none, which a log line says once in a while."""
        if recent(self._failed_at, self._clock.now(), QUIET_MS):
            return None
        try:
            return getattr(self._client(), operation)(**request)
        except Exception:  # noqa: BLE001 - whatever is wrong there must not undo what is done here
            self._failed_at = self._clock.now()
            logger.warning("a service can't be reached", operation=operation, exc_info=True)
            return None
