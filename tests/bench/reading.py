"""Scripts of the operations that read: a run, its log, a list."""

import uuid
from typing import Any

from tests.bench import requests
from tests.bench.limits import Limits, Sample
from tests.bench.material import KB, prose
from tests.bench.meter import Tally, units
from tests.bench.sizes import read_units
from tests.bench.stage import Driver, Stage
from tests.bench.writing import LARGE_INPUT, ROUNDS, batch

DETAIL_RRU = 1.5
"""Of a run whose payloads stand in its row."""


def _key() -> str:
    return uuid.uuid4().hex


def _get(stage: Stage, driver: Driver, payloads: float = 0) -> list[Sample]:
    limits = Limits(rru=DETAIL_RRU + payloads, trips=2)
    return [Sample(stage.measure(requests.get(driver.run)), limits) for _ in range(ROUNDS)]


def running(stage: Stage) -> list[Sample]:
    """A run at work, its newest log item 1 KB."""
    driver = Driver(stage, key=_key(), input={"page": 42})
    driver.append(batch("prose", 1))
    return _get(stage, driver)


def running_large(stage: Stage) -> list[Sample]:
    """A run at work, its newest log item 40 KB of prose: where the log ends can't be read for less than the
    item that says it."""
    driver = Driver(stage, key=_key())
    (item,) = driver.append(batch("prose", 40)).puts
    return _get(stage, driver, read_units(item) / 2 - 0.5)


def settled(stage: Stage) -> list[Sample]:
    """A run that has settled, its payloads small."""
    driver = Driver(stage, key=_key(), input={"page": 42})
    driver.append(batch("prose", 1))
    driver.finish(output={"pages": 117})
    return _get(stage, driver)


def settled_with_payloads(stage: Stage) -> list[Sample]:
    """A run that has settled, with 2 KB of input and 10 KB of output."""
    driver = Driver(stage, key=_key(), input=prose(2 * KB))
    driver.append(batch("prose", 1))
    driver.finish(output=prose(10 * KB))
    return _get(stage, driver, _payload_units(stage, driver.run))


def settled_heavy(stage: Stage) -> list[Sample]:
    """A run that has settled, with 256 KB of input and as much of output."""
    driver = Driver(stage, key=_key(), input=LARGE_INPUT)
    driver.finish(output=LARGE_INPUT)
    return _get(stage, driver, _payload_units(stage, driver.run))


def _payload_units(stage: Stage, run: str) -> float:
    """What consistent reads of a settled run's first and last item take: DynamoDB's own answer."""
    tables = stage.tables
    log, key = tables.names["log"], {":k": {"S": f"bench#{run}"}}
    slots = tables.client.query(
        TableName=log,
        KeyConditionExpression="k = :k",
        ExpressionAttributeValues=key,
        ProjectionExpression="k, s",
    )["Items"]
    total = 0.0
    for slot in (slots[0], slots[-1]):
        wish: Any = {
            "TableName": log,
            "Key": slot,
            "ConsistentRead": True,
            "ReturnConsumedCapacity": "TOTAL",
        }
        total += units("GetItem", wish, dict(tables.client.get_item(**wish))) or 0
    return total


def empty_looks(stage: Stage) -> list[Sample]:
    """Each look of a long poll that finds nothing."""
    looks = [
        Tally([call], 1)
        for sample in long_polls(stage)
        for call in sample.tally.calls
        if call.operation == "Query" and not call.request.get("ConsistentRead")
    ]
    assert len(looks) > 10 * stage.turns
    return [Sample(look, Limits(wru=0, rru=0.5, trips=1)) for look in looks]


def long_polls(stage: Stage) -> list[Sample]:
    """Long polls that find nothing, from the first read to the last look."""
    driver = Driver(stage, key=_key())
    driver.append(batch("prose", 1))
    wish = requests.read(driver.run, driver.offset, "long-poll")
    return [Sample(stage.measure(wish)) for _ in range(stage.turns)]


def empty_reads(stage: Stage) -> list[Sample]:
    """Reads at the log's end that do not wait."""
    driver = Driver(stage, key=_key())
    driver.append(batch("prose", 1))
    return [Sample(stage.measure(requests.read(driver.run, driver.offset))) for _ in range(ROUNDS)]


def catch_ups(stage: Stage) -> list[Sample]:
    """Reads of a log of 100 events of 1 KB, appended by tens, from its start."""
    driver = Driver(stage, key=_key())
    for _ in range(10):
        driver.append(batch("prose", 10))
    return [Sample(stage.measure(requests.read(driver.run, "-1"))) for _ in range(stage.turns)]


def pages(stage: Stage) -> list[Sample]:
    """Pages of 50 runs of one workflow."""
    workflow = _key()
    for _ in range(60):
        Driver(stage, key=_key(), workflow=workflow)
    wish = requests.listing(f"workflow={workflow}&limit=50")
    return [Sample(stage.measure(wish)) for _ in range(stage.turns)]
