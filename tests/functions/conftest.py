"""Fixtures over DynamoDB in process; metrics go nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functions.lambdas import Lambdas
from tests.unit.house import House, house_of
from tests.unit.moto_tables import fresh_tables, moto_dynamodb


@pytest.fixture(scope="session", autouse=True)
def quiet_metrics() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POWERTOOLS_METRICS_DISABLED", "true")
        yield


@pytest.fixture(scope="module")
def dynamodb() -> Iterator[Any]:
    """A client of a DynamoDB that lives as long as the test module."""
    with moto_dynamodb() as client:
        yield client


@pytest.fixture
def house(dynamodb: Any) -> House:
    """A deployment with empty tables."""
    return house_of(dynamodb, fresh_tables(dynamodb))


@pytest.fixture
def api(house: House) -> Lambdas:
    """Every HTTP function of the deployment, in one container."""
    return Lambdas(house.container())
