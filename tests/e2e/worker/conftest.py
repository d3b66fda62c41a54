from __future__ import annotations

import itertools
from dataclasses import replace

import httpx
import pytest

from baton_sdk import DEFAULT, Client, RetryPolicy, Worker
from baton_sdk.testing.clock import WorkerClock
from infra.local.by_hand import stack_by_hand

COUNT = itertools.count()
BEGINS = 1_767_225_600_000
LEASE_SECONDS = 60.0


class Line(httpx.BaseTransport):
    """A way to the service that ends at its ``dies_at``-th request: before that is heard, or (``heard``)
    before its answer."""

    def __init__(self, *, dies_at: int | None = None, heard: bool = False) -> None:
        self.dies_at = dies_at
        self.heard = heard
        self.cut = False
        self.asked = 0
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        dies = self.asked == self.dies_at
        self.asked += 1
        if dies and self.heard and not self.cut:
            self._inner.handle_request(request).read()
        self.cut = self.cut or dies
        if self.cut:
            raise httpx.ConnectError("nobody there")
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


class Place:
    """A namespace of a stack in the test's hand, and the workers that are hired for it."""

    def __init__(self, stack) -> None:
        self.stack = stack
        self.namespace = f"w-{next(COUNT)}"
        self._clients: list[Client] = []
        self.client = self._connect(None)

    def hire(self, worker_id: str, *, line: Line | None = None) -> Worker:
        worker = Worker(
            worker_id=worker_id,
            lease_seconds=LEASE_SECONDS,
            client=self._connect(line),
            clock=WorkerClock(self.stack.clock),
        )
        if line is not None:  # who has died has no patience
            once = RetryPolicy(attempts=1)
            worker.terms = replace(worker.terms, patience=once, last_patience=once)
        return worker

    def start(self, workflow: str, **wishes):
        return self.client.start(workflow, mode="queued", max_attempts=100, **wishes).run.id

    def run(self, run_id: str):
        return self.client.get(run_id).run

    def said(self, run_id: str, type_: str) -> list:
        return [event.data for event in self.client.stream(run_id) if event.type == type_]

    def types(self, run_id: str) -> list[str]:
        return [event.type for event in self.client.stream(run_id)]

    def go_on(self) -> None:
        """Let time pass to what falls due next, and have it happen."""
        while self.stack.round():
            pass
        at = self.stack.next_at()
        if at is not None:
            self.stack.clock.advance((at - self.stack.clock.now()) / 1000)
        while self.stack.round():
            pass

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def _connect(self, line: Line | None) -> Client:
        retry = DEFAULT if line is None else RetryPolicy(attempts=1)
        client = Client(self.stack.url, namespace=self.namespace, transport=line, retry=retry)
        self._clients.append(client)
        return client


@pytest.fixture(scope="module")
def by_hand():
    with stack_by_hand(BEGINS) as stack:
        yield stack


@pytest.fixture
def place(by_hand):
    place = Place(by_hand)
    yield place
    place.close()
