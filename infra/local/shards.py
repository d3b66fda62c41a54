"""Reads a table's stream to its end and on: shard after shard, a parent before its children.

Source: "Change data capture for DynamoDB Streams" in the DynamoDB developer guide, and its API reference.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from botocore.exceptions import ClientError

from infra.local.records import Record, record_of

logger = logging.getLogger("infra.local")

ROUNDS_TO_LOOK = 100
"""Rounds after which new shards are looked for, also when none has ended."""

ROUNDS_TO_LOOK_AGAIN = 4
"""The same, while some must come soon."""


class Start(StrEnum):
    """Where reading begins."""

    OLDEST = "TRIM_HORIZON"
    NEXT = "LATEST"


@dataclass
class _Shard:
    id: str
    iterator: str
    last: str | None = None


class StreamReader:
    """One reader of one stream, from its making on; it keeps its place in memory alone.

    ``client``: of DynamoDB Streams. A round asks each shard under way once. Not for several threads.
    """

    def __init__(self, client: Any, stream_arn: str, start: Start) -> None:
        self._client = client
        self._stream_arn = stream_arn
        self._reading: dict[str, _Shard] = {}
        self._parents: dict[str, str | None] = {}
        self._ended: set[str] = set()
        self._rounds = 0
        self._look(start)

    def read(self) -> Iterator[list[Record]]:
        """One round: what each shard gives, in its order. Stopped anywhere it goes on there, in the next.

        Raises what the client raises; what was given by then is not given again.
        """
        rounds = ROUNDS_TO_LOOK_AGAIN if self._expectant() else ROUNDS_TO_LOOK
        if self._rounds % rounds == 0 < self._rounds:
            self._look(Start.OLDEST)
        self._rounds += 1
        for shard in list(self._reading.values()):
            records = self._page(shard)
            if records:
                yield records
        ended = self._ended & self._reading.keys()
        for id_ in ended:
            del self._reading[id_]
        if ended:
            self._look(Start.OLDEST)

    def _page(self, shard: _Shard) -> list[Record]:
        if shard.id in self._ended:
            return []
        try:
            answer = self._records(shard.iterator)
        except ClientError as trouble:
            self._recover(shard, trouble)
            return []
        records = [record_of(each, shard=shard.id, stream_arn=self._stream_arn) for each in answer["Records"]]
        if records:
            shard.last = records[-1].sequence
        following = answer.get("NextShardIterator")
        if following is None:
            self._ended.add(shard.id)
        else:
            shard.iterator = following
        return records

    def _recover(self, shard: _Shard, trouble: ClientError) -> None:
        match trouble.response["Error"]["Code"]:
            case "ExpiredIteratorException":
                shard.iterator = self._iterator_after(shard)
            case "TrimmedDataAccessException":
                logger.warning("%s: what was written over a day ago is passed over", shard.id)
                shard.iterator = self._iterator(shard.id, ShardIteratorType=Start.OLDEST)
            case "ResourceNotFoundException":
                logger.warning("%s is no more: its children are next", shard.id)
                self._ended.add(shard.id)
            case _:
                raise trouble

    def _records(self, iterator: str) -> dict[str, Any]:
        answer: dict[str, Any] = self._client.get_records(ShardIterator=iterator)
        return answer

    def _iterator_after(self, shard: _Shard) -> str:
        if shard.last is None:  # again rather than never
            return self._iterator(shard.id, ShardIteratorType=Start.OLDEST)
        try:
            return self._iterator(
                shard.id, ShardIteratorType="AFTER_SEQUENCE_NUMBER", SequenceNumber=shard.last
            )
        except ClientError as trouble:
            if trouble.response["Error"]["Code"] != "TrimmedDataAccessException":
                raise
            return self._iterator(shard.id, ShardIteratorType=Start.OLDEST)

    def _iterator(self, shard_id: str, **place: Any) -> str:
        answer = self._client.get_shard_iterator(StreamArn=self._stream_arn, ShardId=shard_id, **place)
        iterator: str = answer["ShardIterator"]
        return iterator

    def _look(self, start: Start) -> None:
        """Take up the shards whose parent is read to its end, or forgotten."""
        listed = list(self._shards())
        self._parents = {each["ShardId"]: each.get("ParentShardId") for each in listed}
        if start is Start.NEXT:
            self._ended = {each["ShardId"] for each in listed if _closed(each)}
        self._ended &= self._parents.keys() | self._reading.keys()
        for id_, parent in self._parents.items():
            waits = parent in self._parents and parent not in self._ended
            if id_ not in self._reading and id_ not in self._ended and not waits:
                self._reading[id_] = _Shard(id_, self._iterator(id_, ShardIteratorType=start))

    def _shards(self) -> Iterator[dict[str, Any]]:
        more: dict[str, str] = {}
        while True:
            answer = self._client.describe_stream(StreamArn=self._stream_arn, **more)
            yield from answer["StreamDescription"]["Shards"]
            last = answer["StreamDescription"].get("LastEvaluatedShardId")
            if last is None:
                return
            more = {"ExclusiveStartShardId": last}

    def _expectant(self) -> bool:
        """Whether shards must come soon: there are none yet, or one has ended and has no children yet."""
        return not self._reading or bool(self._ended - set(self._parents.values()))


def _closed(shard: dict[str, Any]) -> bool:
    return "EndingSequenceNumber" in shard["SequenceNumberRange"]
