"""DynamoDB in process, and Baton's tables in it under names of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import boto3

from baton.store.schema import TABLES
from infra.local.memory import in_process
from infra.local.tables import create

REGION = "eu-central-1"
_numbers = count(1)


@contextmanager
def moto_dynamodb() -> Iterator[Any]:
    """A client of an empty DynamoDB."""
    with in_process():
        yield boto3.client("dynamodb", region_name=REGION)


def fresh_tables(client: Any) -> dict[str, str]:
    """Empty tables; gives the name of each here by what Baton calls it."""
    number = next(_numbers)
    names = {spec.name: f"{spec.name}-{number}" for spec in TABLES}
    create(client, names)
    return names
