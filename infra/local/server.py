"""Serves one ASGI application on a loopback port, in a thread of its own, and drains it."""

from __future__ import annotations

import socket
import threading
from typing import Any

import uvicorn

from infra.local.inflight import InFlight

GRACE_SECONDS = 1.0
"""How long a stop lets requests end by themselves, before it wakes those that wait."""

PATIENCE_SECONDS = 5.0
"""How long a stop then waits for what can't be woken: a client that stalls, a DynamoDB that is not there."""


class Listener:
    """An address that is taken from the making on; ``port`` 0: any free one. Raises OSError when it is taken
    already."""

    def __init__(self, host: str, port: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.socket = socket.create_server((host, port), family=family)
        # What is accepted inherits it. asyncio does not take such a socket for one of TCP and leaves it out:
        # a body would wait 40 ms for the acknowledgement of its head.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        address, taken = self.socket.getsockname()[:2]
        self.url = f"http://[{address}]:{taken}" if ":" in address else f"http://{address}:{taken}"

    def close(self) -> None:
        """Give it up; more than once is no harm."""
        self.socket.close()


class Server:
    """Answers at a listener's address from ``start`` on. Signals stay with whoever made it."""

    def __init__(self, app: Any, in_flight: InFlight, listener: Listener) -> None:
        self._in_flight = in_flight
        self._listener = listener
        self.url = listener.url
        self._uvicorn = _Uvicorn(app)
        self._thread = threading.Thread(
            target=self._uvicorn.run, kwargs={"sockets": [listener.socket]}, name="gateway", daemon=True
        )

    def start(self) -> None:
        """Answer requests when this returns."""
        self._thread.start()
        self._uvicorn.serves.wait()

    def stop(self) -> bool:
        """Take no more, end live streams, let the rest end, wake what waits. False when some did not end."""
        self._uvicorn.should_exit = True
        if self._thread.ident is None:
            self._listener.close()
            return True
        self._in_flight.drain()
        self._thread.join(GRACE_SECONDS)
        self._in_flight.interrupt()
        self._thread.join(PATIENCE_SECONDS + 1)
        return not self._thread.is_alive()


class _Uvicorn(uvicorn.Server):
    """Uvicorn, telling when it serves."""

    def __init__(self, app: Any) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="httptools",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=round(PATIENCE_SECONDS),
        )
        super().__init__(config)
        self.serves = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.serves.set()
