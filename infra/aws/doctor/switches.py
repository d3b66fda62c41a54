"""What has to be on for anything to happen by itself, and the alarms that say that something is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from infra.aws.doctor.finding import Finding, unwell, well

A_CALL = 100
"""Alarms that CloudWatch tells of at once."""


def alarms(cloudwatch: Any, names: Sequence[str]) -> Iterator[Finding]:
    """Those that are raised; one finding for all where none is."""
    told: list[Any] = []
    for start in range(0, len(names), A_CALL):
        told += cloudwatch.describe_alarms(AlarmNames=names[start : start + A_CALL])["MetricAlarms"]
    gone = sorted(set(names) - {each["AlarmName"] for each in told})
    raised = [each for each in told if each["StateValue"] == "ALARM"]
    for each in raised:
        yield unwell(
            "alarm",
            f"{each['AlarmName']}: {each.get('StateReason', 'raised')}",
            each.get("AlarmDescription") or "infra/README.md says what each alarm means",
        )
    if gone:
        yield unwell("alarms", f"gone: {', '.join(gone)}", "deploy the stack again")
    elif not raised:
        yield well("alarms", f"{len(told)}, none raised")


def mappings(lambda_: Any, uuids: Sequence[str]) -> Iterator[Finding]:
    """Whether each event source is read, and its batches are taken."""
    for uuid in uuids:
        told = lambda_.get_event_source_mapping(UUID=uuid)
        result = told.get("LastProcessingResult", "nothing read yet")
        found = f"{_source(told.get('EventSourceArn', uuid))}: {told['State']}, {result}"
        if told["State"] not in ("Enabled", "Enabling", "Updating", "Creating"):
            yield unwell("source", found, f"aws lambda update-event-source-mapping --uuid {uuid} --enabled")
        elif result.startswith("PROBLEM"):
            yield unwell("source", found, "read the log of the function that it is for")
        else:
            yield well("source", found)


def _source(arn: str) -> str:
    """The table or queue that is read: a stream's name has colons in its time."""
    return arn.split(":", 5)[-1].split("/stream/")[0]


def schedules(scheduler: Any, names: Sequence[str]) -> Iterator[Finding]:
    """Whether each schedule is on."""
    for name in names:
        told = scheduler.list_schedules(NamePrefix=name)["Schedules"]
        state = next((each["State"] for each in told if each["Name"] == name), "gone")
        if state == "ENABLED":
            yield well("schedule", f"{name} is enabled")
        else:
            yield unwell("schedule", f"{name} is {state.lower()}", "deploy the stack again, which enables it")
