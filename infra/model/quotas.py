"""What AWS lets one partition, table, stream, function or account do, as its pages said in November 2026.

Regions differ; where they do these are us-east-1's. Those that are an account's can be raised on request.
"""

from __future__ import annotations

from typing import NamedTuple


class Quota(NamedTuple):
    """The most of something, each second unless said otherwise."""

    most: float
    what: str
    source: str


_DYNAMODB = "docs.aws.amazon.com/amazondynamodb/latest/developerguide"
_LAMBDA = "docs.aws.amazon.com/lambda/latest/dg"

PARTITION_WRITES = Quota(1000, "write units of a partition", f"{_DYNAMODB}/bp-partition-key-design.html")
"""A key of which the newest entries sort last stays in one partition, whatever DynamoDB splits."""
PARTITION_READS = Quota(3000, "read units of a partition", f"{_DYNAMODB}/bp-partition-key-design.html")
TABLE_WRITES = Quota(40_000, "write units of a table, or of one index", f"{_DYNAMODB}/ServiceQuotas.html")
NEW_TABLE_WRITES = Quota(
    4000, "write units of a table that has had no load yet", f"{_DYNAMODB}/on-demand-capacity-mode.html"
)
"""It serves twice its former peak at once, and more within half an hour; it can be warmed beforehand."""
CONTAINERS = Quota(1000, "containers at once, of an account", f"{_LAMBDA}/lambda-concurrency.html")
GATEWAY = Quota(
    10_000,
    "requests to all APIs of an account",
    "docs.aws.amazon.com/apigateway/latest/developerguide/limits.html",
)
BUS = Quota(
    10_000,
    "PutEvents calls of an account; 2,400 and fewer in most regions",
    "docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html",
)

QUOTAS = (
    PARTITION_WRITES,
    PARTITION_READS,
    TABLE_WRITES,
    NEW_TABLE_WRITES,
    CONTAINERS,
    GATEWAY,
    BUS,
)
