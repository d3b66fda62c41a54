"""What carries signals to the functions and out of them, once, as data: streams, filters, queues, the bus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from baton.store.schema import RUNS

Pattern = Mapping[str, Any]
"""A filter of an event source mapping; of several, one that matches is enough. AWS takes five of them, and in
them `exists` at leaves only. Source: "Control which events Lambda sends to your function", Lambda's guide."""


class Queue(NamedTuple):
    """An SQS queue. A message that was received ``receives`` times and is still there is parked (None: it
    stays)."""

    name: str
    visibility_seconds: int
    retention_seconds: int
    receives: int | None = None


PARKED = Queue("parked", visibility_seconds=30, retention_seconds=14 * 24 * 3600)
"""Where what keeps failing is put aside for a person to look at."""

TIMERS = Queue("timers", visibility_seconds=360, retention_seconds=3600, receives=3)
"""Hints at what is due soon. It hides a message six times as long as the function may run, as AWS advises."""

QUEUES = (PARKED, TIMERS)

BUS = "baton"
"""The event bus that lifecycle events go to."""


@dataclass(frozen=True, kw_only=True)
class StreamSource:
    """An event source mapping on a table's stream, with `ReportBatchItemFailures`.

    A batch is what has come by the time that the last is done, and waits ``window_seconds`` for more: a
    hand-off is not kept waiting to save invocations. What fails is tried ``retries`` times more, or until it
    is ``max_age_seconds`` old, split in two where the function failed as a whole; then ``on_failure`` is told
    of it. Up to ``parallel`` batches go at once; what concerns one partition key goes in order.
    """

    table: str
    filters: tuple[Pattern, ...]
    batch_size: int = 100
    window_seconds: int = 0
    bisect: bool = True
    retries: int = 5
    max_age_seconds: int = 6 * 3600
    parallel: int = 10
    on_failure: Queue = PARKED


@dataclass(frozen=True, kw_only=True)
class QueueSource:
    """An event source mapping on a queue, with `ReportBatchItemFailures`; at most ``concurrency`` batches at
    once."""

    queue: Queue
    batch_size: int = 10
    concurrency: int = 5


KEYS = "signing-keys"
"""The secret that holds what signs cursors and tails."""


class SignalRight(NamedTuple):
    """What a function may say to others than DynamoDB: an IAM action on a queue, the bus, the secret, as
    `ITSELF` the function, or as `TARGETS` whatever runs are pushed to: in a deployment what carries the tag
    `baton:namespace`, and what it allow-lists."""

    action: str
    resource: str


ITSELF = "itself"
TARGETS = "targets"

SENDS_HINTS = SignalRight("sqs:SendMessage", TIMERS.name)
PUTS_EVENTS = SignalRight("events:PutEvents", BUS)
CALLS_ITSELF = SignalRight("lambda:InvokeFunction", ITSELF)
READS_KEYS = SignalRight("secretsmanager:GetSecretValue", KEYS)

PUSHES = tuple(
    SignalRight(action, TARGETS)
    for action in (
        "events:ListTagsForResource",
        "events:PutEvents",
        "lambda:InvokeFunction",
        "lambda:ListTags",
        "sqs:ListQueueTags",
        "sqs:SendMessage",
    )
)
"""What it takes to look whether a target may be pushed to, and to push."""

TOLD_BY: Mapping[SignalRight, str] = {
    SENDS_HINTS: "BATON_TIMERS_QUEUE_URL",
    PUTS_EVENTS: "BATON_EVENTS_BUS",
    READS_KEYS: "BATON_SIGNING_KEYS_SECRET",
}
"""The environment variable that tells a container where to send what it may send."""

_THERE, _MISSING = [{"exists": True}], [{"exists": False}]


def _image(**attributes: tuple[str, list[Any]]) -> dict[str, Any]:
    return {name: {type_: wanted} for name, (type_, wanted) in attributes.items()}


# `lk` stands on run rows alone, and on each of them; `an` and `xa` come and go.
ANNOUNCED: Pattern = {"dynamodb": {"NewImage": _image(an=("N", _THERE))}}
"""Something is owed that nobody has tried to deliver, or a run waits that nobody has tried to push."""

BORN: Pattern = {"eventName": ["INSERT"], "dynamodb": {"NewImage": _image(lk=("S", _THERE))}}
"""A run's first row."""

BORN_OVER_AN_ALIAS: Pattern = {
    "eventName": ["MODIFY"],
    "dynamodb": {"OldImage": _image(lk=("S", _MISSING)), "NewImage": _image(lk=("S", _THERE))},
}
"""A run's first row, where an idempotency key's alias stood before."""

REPRIEVED: Pattern = {
    "eventName": ["MODIFY"],
    "dynamodb": {
        "OldImage": _image(lk=("S", _THERE), xa=("N", _THERE)),
        "NewImage": _image(lk=("S", _THERE), xa=("N", _MISSING)),
    },
}
"""A row that was to expire and no longer is: resumed, owed again, or the first of a new life over one that is
expired and not collected yet (which its birth alone tells, and no filter can compare births)."""

REMOVED: Pattern = {"eventName": ["REMOVE"], "dynamodb": {"OldImage": _image(lk=("S", _THERE))}}
"""A run's row is no more."""

RUN_CHANGES = StreamSource(table=RUNS.name, filters=(ANNOUNCED, BORN, BORN_OVER_AN_ALIAS, REPRIEVED, REMOVED))
"""What the live publisher, the bus and the purge learn from the runs table."""
