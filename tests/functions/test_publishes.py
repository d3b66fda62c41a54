"""The publisher's function: what the stream hands it, what it does of that, and how it says what failed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from baton.domain.catalog import Subscription
from baton.domain.registering import Registration
from baton.errors import Unavailable
from tests.functions.lambdas import Context, Lambdas
from tests.unit.house import NS

EVENT = json.loads((Path(__file__).parent / "events" / "publish.json").read_text())["event"]
ANNOUNCED, BORN, REMOVED = EVENT["Records"]


@pytest.fixture
def subscribed(api: Lambdas) -> Lambdas:
    """A deployment in which `report` is started when `w` completes, and in which `r1` has."""
    report = Registration(namespace=NS, name="report", subscribes=(Subscription("run.completed:w"),))
    api.runtime.workflows.put(report)
    api.start(workflow="w", run_id="r1")
    api.finish("r1")
    return api


def handed(api: Lambdas, *records: Any, seconds: float = 60) -> Any:
    return api.module("publish").handler({"Records": list(records)}, Context(seconds))


def deliveries(api: Lambdas) -> list[str]:
    return [each["state"] for each in api.call("GET", "/v1/runs/r1").json["deliveries"]]


def test_an_announced_ending_is_delivered_however_often_it_is_told(subscribed: Lambdas):
    assert deliveries(subscribed) == ["owed"]
    for _ in range(2):
        assert handed(subscribed, ANNOUNCED) == {"batchItemFailures": []}
        assert deliveries(subscribed) == ["started"]
    assert len(subscribed.call("GET", "/v1/runs", query={"workflow": "report"}).json["runs"]) == 1


def test_what_fails_is_named_by_its_sequence_number(subscribed: Lambdas, monkeypatch: pytest.MonkeyPatch):
    def unavailable(*_keys: str) -> None:
        raise Unavailable("not now")

    monkeypatch.setattr(subscribed.runtime.publisher, "publish_item", unavailable)
    number = ANNOUNCED["dynamodb"]["SequenceNumber"]
    assert handed(subscribed, BORN, ANNOUNCED) == {"batchItemFailures": [{"itemIdentifier": number}]}


def test_with_its_time_over_it_begins_nothing_and_says_so(subscribed: Lambdas):
    numbers = [record["dynamodb"]["SequenceNumber"] for record in (ANNOUNCED, REMOVED)]
    answer = handed(subscribed, ANNOUNCED, REMOVED, seconds=4)
    assert answer == {"batchItemFailures": [{"itemIdentifier": number} for number in numbers]}
    assert deliveries(subscribed) == ["owed"]
