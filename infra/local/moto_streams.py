"""Moto's streams keep every record and every iterator for good: here they go as soon as they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.table import StreamShard
from moto.dynamodbstreams.models import DynamoDBStreamsBackend, dynamodbstreams_backends

from infra.local.memory import LOCK
from infra.local.records import Record
from infra.local.shards import Start, StreamReader


class TrimmingReader(StreamReader):
    """The one reader of a table's stream in moto, from its first record on. Where there is nothing to read it
    does not ask."""

    def __init__(self, client: Any, stream_arn: str) -> None:
        _, _, _, region, account, resource = stream_arn.split(":", 5)
        table = dynamodb_backends[account][region].get_table(resource.split("/")[1])
        self._backend: DynamoDBStreamsBackend = dynamodbstreams_backends[account][region]
        assert table.stream_shard is not None
        self._shard: StreamShard = table.stream_shard
        super().__init__(client, stream_arn, Start.OLDEST)

    def read(self) -> Iterator[list[Record]]:
        if not self._shard.items:
            return
        for records in super().read():
            self._trim(int(records[-1].sequence))
            yield records

    def _records(self, iterator: str) -> dict[str, Any]:
        try:
            return super()._records(iterator)
        finally:
            self._backend.shard_iterators.pop(iterator, None)

    def _trim(self, last: int) -> None:
        """Drop the records up to ``last``: moto counts from the first that it keeps."""
        with LOCK:
            read = last + 1 - self._shard.starting_sequence_number
            del self._shard.items[:read]
            self._shard.starting_sequence_number += read
