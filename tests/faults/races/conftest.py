"""Containers over DynamoDB Local, on the wall clock."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
import pytest

from baton.bootstrap import build
from tests.faults.world import SETTINGS, House, World, served_house


@pytest.fixture(scope="session")
def served(dynamodb_local_url: str) -> Iterator[House]:
    with served_house(dynamodb_local_url, uuid.uuid4().hex) as house:
        yield house


@pytest.fixture
def world(served: House) -> World:
    """Empty tables on DynamoDB Local."""
    return World(served)


class Unwatched:
    """A container that nobody watches: its calls meet others' as they come."""

    def __init__(self, world: World, **settings: Any) -> None:
        self.runtime = build(msgspec.structs.replace(SETTINGS, **settings))
        connection: Any = self.runtime.dynamo.connection
        connection._client = world.house.wire.client


@pytest.fixture
def container(world: World) -> Callable[..., Unwatched]:
    """Makes containers on the wall clock."""
    return partial(Unwatched, world)
