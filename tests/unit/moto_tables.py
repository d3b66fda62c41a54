"""DynamoDB in process, with Baton's tables in it. They are emptied: making them takes longer than a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID

from baton.store.schema import TABLES
from infra.local.memory import in_process
from infra.local.tables import create

REGION = "eu-central-1"
NAMES = {spec.name: spec.name for spec in TABLES}


@contextmanager
def moto_dynamodb() -> Iterator[Any]:
    """A client of a DynamoDB that has Baton's tables."""
    with in_process():
        client = boto3.client("dynamodb", region_name=REGION)
        create(client, NAMES)
        yield client


def empty_tables() -> None:
    """Take out every item, and what their streams say of them."""
    for table in get_backend("dynamodb")[DEFAULT_ACCOUNT_ID][REGION].tables.values():
        table.items.clear()
        if table.stream_shard is not None:
            table.stream_shard.items.clear()
