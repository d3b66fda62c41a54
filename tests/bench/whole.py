"""A whole run: 20 events of 1 KB in 4 batches, from start to finish; there is no hand-off yet."""

import uuid
from dataclasses import dataclass

from tests.bench.limits import Limits, Row, Sample, row_of
from tests.bench.meter import Tally
from tests.bench.prices import Cost, per_million
from tests.bench.sizes import put_units
from tests.bench.stage import Driver, Stage
from tests.bench.writing import SMALL_INPUT, batch

BATCHES = 4
EVENTS = 5
HAND_OFF = 6
"""What the design gives one hand-off, out of the limits of a run with one subscriber."""

LIMITS = {"repetitive": 20 - HAND_OFF, "prose": 28 - HAND_OFF}


@dataclass(frozen=True)
class WholeRun:
    """What a run took in sum, and what a million of them would cost."""

    row: Row
    requests: int
    purge_wru: float
    dollars_per_million: Cost


def whole_run(stage: Stage, kind: str) -> WholeRun:
    """Start, appends and finish, the default watchdog on."""
    driver = Driver(stage, key=uuid.uuid4().hex, workflow=f"whole-{kind}", input=SMALL_INPUT)
    # The workflow's name is kept once, not for each run: the second run is the one that counts.
    for _ in range(stage.turns):
        driver = Driver(stage, key=uuid.uuid4().hex, workflow=f"whole-{kind}", input=SMALL_INPUT)
    tallies = [driver.started]
    tallies += [driver.append(batch(kind, EVENTS)) for _ in range(BATCHES)]
    tallies.append(driver.finish(output={"pages": 117}))
    total = Tally([call for tally in tallies for call in tally.calls], sum(tally.trips for tally in tallies))
    row = row_of(f"whole run, {kind}", stage.turns, [Sample(total, Limits(wru=LIMITS[kind]))])
    purge = float(sum(put_units(item) for item in _log_items(total, stage.tables.names["log"])))
    requests = len(tallies)
    cost = per_million(wru=row.wru, rru=row.rru, purge_wru=purge, requests=requests)
    return WholeRun(row, requests, purge, cost)


def _log_items(tally: Tally, table: str) -> list[dict]:
    puts = [call.request for call in tally.calls if call.operation == "PutItem"]
    for call in tally.calls:
        for write in call.request.get("TransactItems", ()):
            puts += [write["Put"]] if "Put" in write else []
    return [put["Item"] for put in puts if put["TableName"] == table]
