"""Removes items whose time to live is over, as DynamoDB does and moto does not."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.dynamodb.models import dynamodb_backends

from baton.domain.clock import Clock
from baton.store.schema import TABLES, TableSpec
from infra.local.carrier import Carrier
from infra.local.memory import LOCK

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

logger = logging.getLogger("infra.local")

SECONDS = 10.0
"""Between two collections. DynamoDB takes up to a few days."""

Key = dict[str, Any]


class Collector(Carrier):
    """Collects in a thread of its own until stopped, from the tables that ``names`` has for their specs.

    What is over is looked for past moto's API, which would copy the tables; it is removed by an ordinary
    write on condition that it is still over, so that the stream tells of it.
    """

    def __init__(self, client: DynamoDBClient, names: Mapping[str, str], *, clock: Clock) -> None:
        super().__init__("collector", first_pause=SECONDS)
        self._client = client
        self._names = names
        self._clock = clock
        self._specs = [spec for spec in TABLES if spec.ttl_attribute is not None]

    def round(self) -> int:
        """Remove what is over now; how many items that were."""
        return sum(self._collect(spec) for spec in self._specs)

    def _collect(self, spec: TableSpec) -> int:
        now, removed = self._clock.now() // 1000, 0
        for key in self._over(spec, now):
            try:
                self._client.delete_item(
                    TableName=self._names[spec.name],
                    Key=key,
                    ConditionExpression="#ttl <= :now",
                    ExpressionAttributeNames={"#ttl": spec.ttl_attribute or ""},
                    ExpressionAttributeValues={":now": {"N": str(now)}},
                )
            except self._client.exceptions.ConditionalCheckFailedException:
                continue  # it was written since
            removed += 1
        return removed

    def _over(self, spec: TableSpec, now: int) -> list[Key]:
        backend = dynamodb_backends[DEFAULT_ACCOUNT_ID][self._client.meta.region_name]
        table = backend.get_table(self._names[spec.name])
        with LOCK:
            return [
                {spec.hash_key.name: item.hash_key.to_json(), spec.range_key.name: item.range_key.to_json()}
                for partition in table.items.values()
                for item in partition.values()
                if (ttl := item.attrs.get(spec.ttl_attribute)) is not None and int(ttl.value) <= now
            ]

    def _turn(self) -> float:
        try:
            self.round()
        except Exception:  # a thread of its own: the next collection comes all the same
            logger.exception("a collection failed")
        return SECONDS
