"""The house that faults are tried in, and a botocore that does not wait between its retries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import botocore.endpoint
import pytest

from tests.faults.world import House, World, moto_house

HERE = Path(__file__).parent

LONG = frozenset(
    {
        "announce, announce otherwise",
        "announce, announce the same",
        "claim, claim of what was claimed before",
        "claim for the second time",
        "claim for the third time, large input",
        "claim three",
        "claim two with a key",
        "claim two with a key for the second time",
        "heal for the last time",
        "heal page by page",
        "heal what an earlier attempt did not know of",
        "move who waited along",
        "move who waited along to what is over",
        "one event posted twice",
        "publish to three",
        "publishing, resume of what it wakes by",
        "republish a stretch of time at once",
        "republish a stretch of time, run by run",
        "sweep an attempt that was waited for and resumed",
        "sweep an event whose poster died",
        "sweep a settled run that is waited for",
        "sweep what is owed by several",
        "sweep what more are owed than a row holds",
        "the same claim twice",
        "the time, twice",
        "two publishers of what went on as new",
        "wait, going on as new",
        "wait, post, post of another",
        "wait, settle, another's publishing",
        "wait, wait, post",
        "wake who waited for an attempt that was resumed",
        "wake who waited for a run, their inputs in the log",
        "wake, finish",
        "wake, finish, cancel",
    }
)
"""Scenarios and meetings that take more than a few seconds: they are part of the proof."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the long ones out of the fast tests."""
    for item in items:
        spec = getattr(item, "callspec", None)
        if spec is not None and item.path.is_relative_to(HERE) and spec.params.get("name") in LONG:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    """Tables on moto, shared by all worlds of a module, one at a time, and gone with it: where moto plays, no
    client reaches DynamoDB Local."""
    with moto_house() as made:
        yield made


@pytest.fixture
def world(house: House) -> World:
    return World(house)


@pytest.fixture(autouse=True)
def _botocore_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(botocore.endpoint, "time", SimpleNamespace(sleep=lambda _seconds: None))
