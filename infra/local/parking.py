"""Tells the queue of what is parked about a record that a function kept failing on, in Lambda's own words."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from baton.domain.clock import Clock, rfc3339
from infra.local.delivery import Parked
from infra.local.messaging import QueueAt
from infra.local.names import arn_of


class Parking:
    """Where deliveries park. Like Lambda it says where a record stands, not what is in it."""

    def __init__(self, queue: QueueAt, *, clock: Clock, region: str) -> None:
        self._queue = queue
        self._clock = clock
        self._region = region

    def park(self, parked: Parked) -> None:
        """Source: "Retain discarded records for a DynamoDB event source", Lambda developer guide."""
        self._queue.send(self._said(parked))

    def _said(self, parked: Parked) -> dict[str, Any]:
        record = parked.record
        return {
            "version": "1.0",
            "timestamp": rfc3339(self._clock.now()),
            "requestContext": {
                "requestId": str(uuid.uuid4()),
                "functionArn": arn_of(parked.function, self._region),
                "condition": parked.condition,
                "approximateInvokeCount": parked.calls,
            },
            "responseContext": {
                "statusCode": 200,
                "executedVersion": "$LATEST",
                "functionError": "Unhandled",
            },
            "DDBStreamBatchInfo": {
                "shardId": record.shard,
                "startSequenceNumber": record.sequence,
                "endSequenceNumber": record.sequence,
                "approximateArrivalOfFirstRecord": _time(record.at),
                "approximateArrivalOfLastRecord": _time(record.at),
                "batchSize": 1,
                "streamArn": record.body["eventSourceARN"],
            },
        }


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
