"""A whole run with one subscriber: 20 events of 1 KB in 4 batches, from its start to the subscriber's; and
what is left to pay for it later."""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from baton.domain.clock import millis
from baton.store.rows import ROW, run_key
from tests.bench import handoff
from tests.bench.house import NAMESPACE, StandingClock, Tables
from tests.bench.limits import Limits, Row, Sample, row_of
from tests.bench.meter import Tally
from tests.bench.prices import DAYS_KEPT, Cost, per_million
from tests.bench.sizes import stored_bytes
from tests.bench.stage import Driver, Stage
from tests.bench.writing import SMALL_INPUT, batch

BATCHES = 4
EVENTS = 5

LIMITS = {"repetitive": 20, "prose": 28}


@dataclass(frozen=True)
class WholeRun:
    """What a run took in sum, and what a million of them would cost. ``purge`` is what removing its log took
    once its retention was over, ``kept_bytes`` what it and the run it started took up until then."""

    row: Row
    purge: Row
    requests: int
    invocations: int
    kept_bytes: int
    dollars_per_million: Cost


def whole_run(tables: Tables, turns: int, kind: str) -> WholeRun:
    """Start, appends, finish, hand-off; the default watchdog is on. Time passes in it, so that it needs
    ``tables`` that nothing else is in."""
    stage = Stage(tables, StandingClock(), turns)
    workflow = handoff.subscribed(stage, 1)
    driver = Driver(stage, key=uuid.uuid4().hex, workflow=workflow, input=SMALL_INPUT)
    tallies = [driver.started]
    tallies += [driver.append(batch(kind, EVENTS)) for _ in range(BATCHES)]
    tallies.append(driver.finish(output={"pages": 117}))
    requests = len(tallies)
    tallies.append(stage.publish(driver.run))
    (started,) = handoff.started_by(stage, driver.run)
    kept_bytes = sum(stored_bytes(spec, item) for spec, item in _items(tables, driver.run, started))
    purge = _purge(stage, driver.run)
    told = [stage.told.of(run_key(NAMESPACE, run)) for run in (driver.run, started)]
    row = row_of(f"whole run, {kind}", turns, [Sample(_sum(tallies), Limits(wru=LIMITS[kind]))])
    later = row_of(f"its purge, {kind}", turns, [Sample(purge)])
    invocations = requests + sum(map(len, told))
    cost = per_million(
        wru=row.wru,
        rru=row.rru,
        purge_wru=later.wru,
        purge_rru=later.rru,
        requests=requests,
        invocations=invocations,
        kept_bytes=kept_bytes,
    )
    return WholeRun(row, later, requests, invocations, kept_bytes, cost)


def _purge(stage: Stage, run: str) -> Tally:
    """What follows when DynamoDB removes the row, its time to live over: that by itself is free."""
    stage.clock.sleep((DAYS_KEPT + 1) * 24 * 3600)
    key: Any = {"k": {"S": run_key(NAMESPACE, run)}, "s": {"S": ROW}}
    item = stage.tables.client.get_item(TableName=stage.tables.names["runs"], Key=key)["Item"]
    assert int(item["ttl"]["N"]) < stage.clock.now() / millis(1), "the run owes something still"
    stage.tables.client.delete_item(TableName=stage.tables.names["runs"], Key=key)
    return stage.publish(run)


def _items(tables: Tables, *runs: str) -> Iterator[tuple[Any, Any]]:
    """All that stands in the tables of some runs."""
    for name in (tables.names["runs"], tables.names["log"]):
        for run in runs:
            found = tables.client.query(
                TableName=name,
                KeyConditionExpression="k = :k",
                ExpressionAttributeValues={":k": {"S": run_key(NAMESPACE, run)}},
            )
            for item in found["Items"]:
                yield tables.specs[name], item


def _sum(tallies: Iterable[Tally]) -> Tally:
    taken = list(tallies)
    return Tally([call for tally in taken for call in tally.calls], sum(tally.trips for tally in taken))
