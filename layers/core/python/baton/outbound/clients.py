"""Clients of AWS services other than DynamoDB, each made when first needed: most containers need none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

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
