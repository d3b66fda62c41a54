from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import httpx
import pytest

from baton_sdk import Client, Worker
from tests.unit.sdk.conftest import Clock
from tests.unit.sdk.worker.fake import Baton, Hand, Line


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
def baton(hand: Hand) -> Baton:
    return Baton(hand)


@pytest.fixture(scope="module")
def any_hire() -> Callable[..., Worker]:
    """Makes workers of any service; those at a line that ends have no patience."""

    def any_hire(baton: Baton, hand: Hand, worker_id: str, line: Line | None) -> Worker:
        policy = Clock().policy(attempts=None if line is None else 1)
        transport = httpx.MockTransport(line or baton)
        client = Client("http://baton.test", retry=policy, patient=policy, transport=transport)
        worker = Worker(worker_id=worker_id, client=client, clock=hand)
        worker.terms = replace(worker.terms, patience=policy, last_patience=policy)
        return worker

    return any_hire


@pytest.fixture
def hire(hand: Hand, baton: Baton, connect, clock) -> Callable[..., Worker]:
    """Makes workers of the service, whose patience takes no time."""

    def hire(worker_id: str = "w1", line=None, tries: int | None = None, **options) -> Worker:
        policy = clock.policy(attempts=tries)
        client = connect(line or baton, retry=policy, patient=policy)
        worker = Worker(worker_id=worker_id, client=client, **({"clock": hand} | options))
        worker.terms = replace(worker.terms, patience=policy, last_patience=policy)
        return worker

    return hire


@pytest.fixture
def worker(hire: Callable[..., Worker]) -> Worker:
    return hire()
