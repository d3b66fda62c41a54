"""What a table's stream hands a function, and how the function says what of it failed.

Source: "Process DynamoDB records with Lambda" in the Lambda developer guide.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from baton.services.changes import Change
from baton.store.dynamo import Raw

MARGIN_MS = 10_000
"""What is left of an invocation's time when no more is begun: a target that can't be reached takes 7 s."""


def changes(event: Mapping[str, Any]) -> list[Change]:
    """The changes that an event tells of, in its order."""
    return [_change(record["dynamodb"]) for record in event["Records"]]


def time_left(context: Any) -> bool:
    """Whether an invocation has the time to begin something."""
    remaining: int = context.get_remaining_time_in_millis()
    return remaining > MARGIN_MS


def answer(failed: Iterable[str]) -> dict[str, Any]:
    """`ReportBatchItemFailures`: all from the first that failed on come again."""
    return {"batchItemFailures": [{"itemIdentifier": sequence} for sequence in failed]}


def _change(told: Mapping[str, Any]) -> Change:
    keys = told["Keys"]
    return Change(
        keys=(keys["k"]["S"], keys["s"]["S"]),
        old=_image(told.get("OldImage")),
        new=_image(told.get("NewImage")),
        sequence=told["SequenceNumber"],
    )


def _image(image: Mapping[str, Any] | None) -> Raw | None:
    """An item in DynamoDB's own JSON, bytes as bytes; ours hold none within lists or maps."""
    if image is None:
        return None
    return {
        name: {"B": base64.b64decode(value["B"])} if "B" in value else value for name, value in image.items()
    }
