"""Fixtures over DynamoDB in process; metrics go nowhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.functions.lambdas import Lambdas
from tests.functions.logged import watching
from tests.unit.conftest import dynamodb, house
from tests.unit.house import House

__all__ = ["api", "dynamodb", "house", "nothing_sent_is_logged", "quiet_metrics"]


@pytest.fixture(scope="session", autouse=True)
def quiet_metrics() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POWERTOOLS_METRICS_DISABLED", "true")
        yield


@pytest.fixture(autouse=True)
def nothing_sent_is_logged() -> Iterator[None]:
    """Whatever a test sends, and whatever is secret, is in no line of a log."""
    with watching() as watch:
        yield
    assert watch.leaks() == []


@pytest.fixture
def api(house: House) -> Lambdas:
    """Every HTTP function of the deployment, in one container."""
    return Lambdas(house.container())
