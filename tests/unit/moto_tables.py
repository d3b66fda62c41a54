"""DynamoDB in process: moto, one call at a time (it is not thread-safe), and Baton's tables in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import RLock
from typing import Any
from unittest.mock import patch

import boto3
from moto import mock_aws
from moto.dynamodb.responses import DynamoHandler

from baton.store.schema import TABLES, IndexSpec, Key, TableSpec

REGION = "eu-central-1"
_names = count(1)


@contextmanager
def moto_dynamodb() -> Iterator[Any]:
    """A boto3 client of an empty DynamoDB."""
    lock, call_action = RLock(), DynamoHandler.call_action

    def one_at_a_time(self: DynamoHandler) -> Any:
        with lock:
            return call_action(self)

    with mock_aws(), patch.object(DynamoHandler, "call_action", one_at_a_time):
        yield boto3.client("dynamodb", region_name=REGION)


def fresh_tables(client: Any) -> dict[str, str]:
    """Empty tables; gives the name of each here by what Baton calls it."""
    number = next(_names)
    names = {spec.name: f"{spec.name}-{number}" for spec in TABLES}
    for spec in TABLES:
        _create(client, spec, names[spec.name])
    return names


def _create(client: Any, spec: TableSpec, name: str) -> None:
    indexes = [_index(index) for index in spec.indexes]
    client.create_table(
        TableName=name,
        KeySchema=_schema(spec.hash_key, spec.range_key),
        AttributeDefinitions=[
            {"AttributeName": key.name, "AttributeType": key.type} for key in spec.attributes
        ],
        BillingMode="PAY_PER_REQUEST",
        **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
    )


def _index(index: IndexSpec) -> dict[str, Any]:
    return {
        "IndexName": index.name,
        "KeySchema": _schema(index.hash_key, index.range_key),
        "Projection": {"ProjectionType": index.projection},
    }


def _schema(hash_key: Key, range_key: Key) -> list[dict[str, str]]:
    return [
        {"AttributeName": hash_key.name, "KeyType": "HASH"},
        {"AttributeName": range_key.name, "KeyType": "RANGE"},
    ]
