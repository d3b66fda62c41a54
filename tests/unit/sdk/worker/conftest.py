from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from baton_sdk import Worker
from tests.unit.sdk.worker.fake import Baton, Hand


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
def baton(hand: Hand) -> Baton:
    return Baton(hand)


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
