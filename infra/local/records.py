"""What Lambda hands a function of a table's stream: records in its own JSON, as filters let them through."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from infra.signals import Pattern


class Record(NamedTuple):
    """One record, as the function gets it, and the shard that it was read from."""

    shard: str
    body: dict[str, Any]

    @property
    def sequence(self) -> str:
        """Its number within the shard, and its name in a function's answer."""
        number: str = self.body["dynamodb"]["SequenceNumber"]
        return number

    @property
    def at(self) -> float:
        """About when the item was written, in epoch seconds."""
        seconds: float = self.body["dynamodb"]["ApproximateCreationDateTime"]
        return seconds

    def lane(self, lanes: int, hash_key: str) -> int:
        """Which of ``lanes`` it goes by: what concerns one partition key goes by the same."""
        value = json.dumps(self.body["dynamodb"]["Keys"][hash_key])
        return zlib.crc32(value.encode()) % lanes


def record_of(read: Mapping[str, Any], *, shard: str, stream_arn: str) -> Record:
    """The record that botocore's ``read`` stands for. Source: "Process DynamoDB records with Lambda"."""
    change = read["dynamodb"]
    body = {
        "eventID": read["eventID"],
        "eventName": read["eventName"],
        "eventVersion": read["eventVersion"],
        "eventSource": read["eventSource"],
        "awsRegion": stream_arn.split(":")[3],
        "dynamodb": {
            name: _attributes(value) if name in ("Keys", "NewImage", "OldImage") else value
            for name, value in change.items()
        }
        | {"ApproximateCreationDateTime": change["ApproximateCreationDateTime"].timestamp()},
        "eventSourceARN": stream_arn,
    }
    if "userIdentity" in read:  # DynamoDB itself removed it: its time to live was over
        who = read["userIdentity"]
        body["userIdentity"] = {"principalId": who["PrincipalId"], "type": who["Type"]}
    return Record(shard, body)


def _attributes(image: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value) for name, value in image.items()}


def _value(value: Mapping[str, Any]) -> dict[str, Any]:
    """A value in DynamoDB's JSON, bytes in base64."""
    ((kind, held),) = value.items()
    match kind:
        case "B":
            return {kind: _text(held)}
        case "BS":
            return {kind: [_text(each) for each in held]}
        case "L":
            return {kind: [_value(each) for each in held]}
        case "M":
            return {kind: _attributes(held)}
        case _:
            return {kind: held}


def _text(binary: bytes) -> str:
    return base64.b64encode(binary).decode()


class Filter:
    """Patterns of an event source mapping: one that matches lets a record through."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        from moto.events.models import EventPattern  # whose import takes its time

        self._patterns = [EventPattern.load(json.dumps(pattern)) for pattern in patterns]

    def lets(self, record: Record) -> bool:
        """Whether the function is to get it."""
        return any(pattern.matches_event(record.body) for pattern in self._patterns)  # type: ignore[arg-type]
