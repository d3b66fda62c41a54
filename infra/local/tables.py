"""Makes the tables that the specs describe, wherever the client leads: in process, DynamoDB Local, AWS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from baton.store.schema import TABLES, IndexSpec, Key, TableSpec

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def create(client: DynamoDBClient, names: Mapping[str, str], specs: Iterable[TableSpec] = TABLES) -> None:
    """Make each table that is not there, under the name that ``names`` has for its spec; wait for it."""
    for spec in specs:
        name = names[spec.name]
        with suppress(client.exceptions.ResourceInUseException):
            client.create_table(**_definition(spec, name))
        client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
        if spec.ttl_attribute is not None:
            _expire(client, name, spec.ttl_attribute)


def _expire(client: DynamoDBClient, name: str, attribute: str) -> None:
    now = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]["TimeToLiveStatus"]
    if now == "DISABLED":  # switching it on twice is an error
        client.update_time_to_live(
            TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": attribute}
        )


def _definition(spec: TableSpec, name: str) -> Any:
    definition: dict[str, Any] = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _keys(spec.hash_key, spec.range_key),
        "AttributeDefinitions": [
            {"AttributeName": key.name, "AttributeType": key.type} for key in spec.attributes
        ],
    }
    if spec.indexes:
        definition["GlobalSecondaryIndexes"] = [_index(index) for index in spec.indexes]
    if spec.stream_view is not None:
        definition["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": spec.stream_view}
    return definition


def _index(index: IndexSpec) -> dict[str, Any]:
    return {
        "IndexName": index.name,
        "KeySchema": _keys(index.hash_key, index.range_key),
        "Projection": {"ProjectionType": index.projection},
    }


def _keys(hash_key: Key, range_key: Key) -> list[dict[str, str]]:
    return [
        {"AttributeName": hash_key.name, "KeyType": "HASH"},
        {"AttributeName": range_key.name, "KeyType": "RANGE"},
    ]
