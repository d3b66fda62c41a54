"""Fixtures over DynamoDB in process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from baton.bootstrap import Runtime
from tests.unit.house import House, house_of
from tests.unit.moto_tables import empty_tables, moto_dynamodb


@pytest.fixture(scope="module")
def dynamodb() -> Iterator[Any]:
    """A client of a DynamoDB that lives as long as the test module."""
    with moto_dynamodb() as client:
        yield client


@pytest.fixture
def house(dynamodb: Any) -> House:
    """A deployment with empty tables."""
    empty_tables()
    return house_of(dynamodb)


@pytest.fixture
def runtime(house: House) -> Runtime:
    """One container of the deployment."""
    return house.container()
