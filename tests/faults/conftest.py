"""The house that faults are tried in, and a botocore that does not wait between its retries."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import botocore.endpoint
import pytest

from tests.faults.world import House, World, moto_house


@pytest.fixture(scope="session")
def house() -> Iterator[House]:
    """Tables on moto, shared by all worlds of this process: one at a time."""
    with moto_house() as made:
        yield made


@pytest.fixture
def world(house: House) -> World:
    return World(house)


@pytest.fixture(autouse=True)
def _botocore_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(botocore.endpoint, "time", SimpleNamespace(sleep=lambda _seconds: None))
