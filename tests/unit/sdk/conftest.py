from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from baton_sdk import Client, RetryPolicy
from tests.unit.sdk.service import Service


@dataclass
class Clock:
    """Time that only passes when somebody sleeps."""

    time: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    def policy(self, *, attempts: int | None = 6, patience: float | None = 600.0) -> RetryPolicy:
        return RetryPolicy(attempts=attempts, patience_seconds=patience, sleep=self.sleep, clock=self.now)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def connect(clock: Clock) -> Iterator[Callable[..., Client]]:
    clients = []

    def connect(handler: Callable[[httpx.Request], httpx.Response], **options: Any) -> Client:
        defaults: dict[str, Any] = {
            "retry": clock.policy(),
            "patient": clock.policy(attempts=None),
            "transport": httpx.MockTransport(handler),
        }
        clients.append(Client("http://baton.test", **(defaults | options)))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()


@pytest.fixture
def client(connect: Callable[..., Client], service: Service) -> Client:
    return connect(service)
