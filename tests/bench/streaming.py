"""What the runs table's stream tells a function, read from DynamoDB Local's own and filtered as on AWS."""

from functools import cached_property
from typing import Any

import boto3

from infra.local.records import Filter, Record
from infra.local.shards import Start, StreamReader
from infra.manifest import function
from tests.bench.house import REGION, Tables

PUBLISH = "publish"


class Told:
    """The records that the live publisher is called with, by the partition of the item that they are of."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._records: dict[str, list[Record]] = {}

    def of(self, partition: str) -> list[Record]:
        """All that it is to hear of one partition, in order."""
        while self._round():
            pass
        return [record for record in self._records.get(partition, []) if self._filter.lets(record)]

    def event(self, partition: str) -> dict[str, Any]:
        """The last thing that it is to hear of it, as Lambda hands it over."""
        return {"Records": [self.of(partition)[-1].body]}

    @cached_property
    def _reader(self) -> StreamReader:
        tables = self._tables
        client = boto3.client("dynamodbstreams", endpoint_url=tables.endpoint, region_name=REGION)
        arn = tables.client.describe_table(TableName=tables.names["runs"])["Table"]["LatestStreamArn"]
        return StreamReader(client, arn, Start.OLDEST)

    @cached_property
    def _filter(self) -> Filter:
        (source,) = function(PUBLISH).streams_from
        return Filter(source.filters)

    def _round(self) -> bool:
        heard = False
        for records in self._reader.read():
            heard = True
            for record in records:
                partition = record.body["dynamodb"]["Keys"]["k"]["S"]
                self._records.setdefault(partition, []).append(record)
        return heard
