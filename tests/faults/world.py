"""A world to break: tables, a clock driven by hand, and as many containers as one likes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any
from unittest.mock import patch

import boto3
from botocore.config import Config
from moto import mock_aws
from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.core.serialize import AttributePicker

from baton.bootstrap import Runtime, build
from baton.config import Settings
from baton.domain.log import Entry
from baton.domain.pushing import Answer, Taken
from baton.store.schema import TABLES, IndexSpec
from tests.faults.clock import ManualClock, Skewed
from tests.faults.seam import Seam, Wire
from tests.faults.told import Told

REGION = "eu-central-1"
NAMESPACE = "tenant"
SETTINGS = Settings(
    runs_table="runs",
    log_table="log",
    catalog_table="catalog",
    signing_keys=(b"k",),
    region=REGION,
    due_shards=2,
    settled_shards=2,
)


class House:
    """Tables in one DynamoDB, emptied for each world."""

    def __init__(self, client: Any, *, in_process: bool) -> None:
        self.client = client
        self.in_process = in_process
        self.wire = Wire(client, in_process=in_process)
        for spec in TABLES:
            self.client.create_table(
                TableName=spec.name,
                BillingMode="PAY_PER_REQUEST",
                KeySchema=_schema(spec.hash_key.name, spec.range_key.name),
                AttributeDefinitions=[
                    {"AttributeName": key.name, "AttributeType": key.type} for key in spec.attributes
                ],
                **(
                    {"GlobalSecondaryIndexes": [_index(index) for index in spec.indexes]}
                    if spec.indexes
                    else {}
                ),
            )

    def clear(self) -> None:
        """Remove every item."""
        for spec in TABLES:
            if self.in_process:
                _moto_table(spec.name).items.clear()
                continue
            for item in self.scan(spec.name):
                key = {name: item[name] for name in (spec.hash_key.name, spec.range_key.name)}
                self.client.delete_item(TableName=spec.name, Key=key)

    def scan(self, table: str) -> list[dict[str, Any]]:
        """Every item of a table, in DynamoDB's JSON."""
        if self.in_process:  # as a scan would give it, without the 10 ms of one
            partitions = _moto_table(table).items.values()
            return [_raw(item) for items in partitions for item in items.values()]
        pages = self.client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        return [item for page in pages for item in page["Items"]]


class Container:
    """One container: a runtime of its own that remembers nothing of any other's, watched at its seam."""

    def __init__(self, world: World, *, skew: float, swapped: bool) -> None:
        clock = Skewed(world.clock, skew) if skew else world.clock
        self.runtime: Runtime = build(world.settings, clock, seed=next(world.seeds))
        self.seam = Seam(self.runtime, world.house.wire, swapped=swapped)
        vars(self.runtime._context)["targets"] = Told(world, self.runtime)


class World:
    """One namespace in empty tables. `said` is every append it acknowledged, by run, birth and first slot;
    `subscribed` who was in the catalog for which event before any of it happened; `target_says` what whoever
    is pushed to answers."""

    def __init__(self, house: House, *, swapped: bool = False, **settings: Any) -> None:
        house.clear()
        self.house = house
        self.clock = ManualClock()
        self.settings = Settings(**{**_fields(SETTINGS), **settings})
        self.said: list[tuple[str, str, int, list[Entry]]] = []
        self.subscribed: dict[str, set[str]] = {}
        self.target_says: Answer = Taken()
        self.seeds = count(1)
        self._swapped = swapped

    def container(self, *, skew: float = 0) -> Container:
        """A new container, its clock off by `skew` seconds."""
        return Container(self, skew=skew, swapped=self._swapped)


@contextmanager
def moto_house() -> Iterator[House]:
    """Tables on moto, in this process: fast, and no proof of any race between threads."""
    with mock_aws(), patch.object(AttributePicker, "__call__", _pick):
        yield House(boto3.client("dynamodb", region_name=REGION, config=_retries()), in_process=True)


@contextmanager
def served_house(url: str, access_key: str) -> Iterator[House]:
    """Tables on DynamoDB Local, in a database of their own for `access_key`."""
    client = boto3.client(
        "dynamodb",
        region_name=REGION,
        endpoint_url=url,
        aws_access_key_id=access_key,
        aws_secret_access_key="any",
        config=_retries(),
    )
    try:
        yield House(client, in_process=False)
    finally:
        client.close()


_pick_slowly = AttributePicker.__call__
_TYPES = frozenset({"S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"})


def _pick(picker: AttributePicker, context: Any) -> Any:
    """moto's way to an attribute's value, without the dozen names it tries: half the time of a call."""
    if context.key in _TYPES and type(context.obj) is dict:
        return context.obj.get(context.key)
    return _pick_slowly(picker, context)


def moto_tables() -> dict[str, Any]:
    """The state of moto's tables, to be copied, or swapped with a copy."""
    tables: dict[str, Any] = get_backend("dynamodb")[DEFAULT_ACCOUNT_ID][REGION].tables
    return tables


def _moto_table(name: str) -> Any:
    return moto_tables()[name]


def _raw(item: Any) -> dict[str, Any]:
    return {name: {value.type: value.value} for name, value in item.attrs.items()}


def _retries() -> Any:
    # What baton.store.dynamo sets up, but that all containers share this client: the seam hands it to them.
    return Config(
        connect_timeout=2,
        read_timeout=6,
        max_pool_connections=100,
        parameter_validation=False,
        retries={"total_max_attempts": 4, "mode": "standard"},
    )


def _fields(settings: Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in settings.__struct_fields__}


def _schema(hash_key: str, range_key: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": hash_key, "KeyType": "HASH"},
        {"AttributeName": range_key, "KeyType": "RANGE"},
    ]


def _index(spec: IndexSpec) -> dict[str, Any]:
    return {
        "IndexName": spec.name,
        "KeySchema": _schema(spec.hash_key.name, spec.range_key.name),
        "Projection": {"ProjectionType": spec.projection},
    }
