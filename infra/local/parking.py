"""Tells the queue of what is parked about records that a function kept failing on, in Lambda's own words."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from baton.domain.clock import Clock, rfc3339
from infra.local.delivery import Parked
from infra.local.messaging import QueueAt
from infra.local.names import arn_of


class Parking:
    """Where deliveries park. Like Lambda it says where the records stand, not what is in them."""

    def __init__(self, queue: QueueAt, *, clock: Clock, region: str) -> None:
        self._queue = queue
        self._clock = clock
        self._region = region

    def park(self, parked: Parked) -> None:
        """Source: "Retain discarded records for a DynamoDB event source", Lambda developer guide."""
        self._queue.send(self._said(parked))

    def _said(self, parked: Parked) -> dict[str, Any]:
        first, last = parked.records[0], parked.records[-1]
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
                "shardId": first.shard,
                "startSequenceNumber": first.sequence,
                "endSequenceNumber": last.sequence,
                "approximateArrivalOfFirstRecord": _time(first.at),
                "approximateArrivalOfLastRecord": _time(last.at),
                "batchSize": len(parked.records),
                "streamArn": first.body["eventSourceARN"],
            },
        }


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
