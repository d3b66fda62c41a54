"""A gateway over functions that a test writes on the spot."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from infra.local.clock import InterruptibleClock
from infra.local.gateway import Gateway
from infra.local.inflight import InFlight
from infra.local.routing import Router
from infra.local.server import Listener, Server
from infra.local.vouching import Vouching
from infra.manifest import FUNCTIONS


class Scripted:
    """Functions whose handlers are what a test hands in: called with (function name, event)."""

    def __init__(self, call, stream):
        self._call = call
        self._stream = stream

    def call(self, function, event, request_id):
        return self._call(function.name, event)

    def stream(self, function, event, request_id):
        return self._stream(function.name, event)


class Served:
    """A server, its clock, and clients of it that are closed with it."""

    def __init__(self, call, stream):
        self.clock = InterruptibleClock()
        self.in_flight = InFlight()
        self.threads = ThreadPoolExecutor(8)
        gateway = Gateway(
            Router(FUNCTIONS),
            Scripted(call, stream),
            vouching=Vouching(),
            clock=self.clock,
            threads=self.threads,
            in_flight=self.in_flight,
        )
        self.server = Server(gateway, self.in_flight, Listener("127.0.0.1", 0))
        self.server.start()
        self.client = httpx.Client(base_url=self.server.url, timeout=10)

    def close(self):
        self.client.close()
        assert self.server.stop()
        self.threads.shutdown()


def never(name, event):
    raise AssertionError(f"{name} was called")


@pytest.fixture
def serve():
    """serve(call, stream=...) -> Served: a gateway with these handlers."""
    served = []

    def one(call=never, stream=never):
        served.append(Served(call, stream))
        return served[-1]

    yield one
    for each in served:
        each.close()
