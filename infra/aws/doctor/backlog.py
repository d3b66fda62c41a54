"""What waits to be attended to: entries of the due index whose time has come, and messages put aside."""

from __future__ import annotations

from typing import Any

from baton.config import Settings
from baton.domain.clock import Millis
from baton.store.rows import shard_key
from baton.store.schema import DUE
from infra.aws.doctor.finding import Finding, age, unwell, well
from infra.aws.doctor.service import OVERDUE_SECONDS

EXAMINED = 1000
"""Entries of each shard that are counted."""


def due(dynamodb: Any, settings: Settings, now: Millis) -> Finding:
    """How many things are due in all namespaces, and for how long: one query for each shard."""
    count, complete, oldest = 0, True, now
    for shard in range(settings.due_shards):
        page = dynamodb.query(
            TableName=settings.runs_table,
            IndexName=DUE.name,
            KeyConditionExpression="#shard = :shard AND #at <= :now",
            ExpressionAttributeNames={"#shard": DUE.hash_key.name, "#at": DUE.range_key.name},
            ExpressionAttributeValues={":shard": {"S": shard_key(shard)}, ":now": {"N": str(now)}},
            ProjectionExpression="#at",
            Limit=EXAMINED,
        )
        count += len(page["Items"])
        complete = complete and "LastEvaluatedKey" not in page
        oldest = min([oldest, *(int(item[DUE.range_key.name]["N"]) for item in page["Items"][:1])])
    late = (now - oldest) / 1000
    if not count:
        return well("due", "nothing is due")
    found = f"{count}{'' if complete else ' or more'} due, the oldest for {age(late)}"
    if late <= OVERDUE_SECONDS:
        return well("due", found)
    return unwell(
        "due",
        found,
        "the sweep runs each minute: look whether its schedule is enabled, at its alarms and its log; "
        "more due than a sweep gets done needs more due_shards (infra/README.md)",
    )


def parked(sqs: Any, url: str) -> Finding:
    """How many messages were put aside because they kept failing."""
    name = "ApproximateNumberOfMessages"
    told = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name, f"{name}NotVisible"])["Attributes"]
    count = sum(int(number) for number in told.values())
    if not count:
        return well("parked", "nothing is parked")
    return unwell(
        "parked",
        f"{count} parked",
        "each message says which records, hints or calls failed: find the cause in the log of that function, "
        "mend it, then purge the queue: the due index still has all that matters",
    )
