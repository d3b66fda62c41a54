"""The sweep's cost follows the work: runs that are due, among many that have settled, and alone."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from msgspec.structs import replace

from baton.domain.catalog import ending
from baton.domain.run import Run
from baton.store.rows import ROW, RunsItem, Shards, created_key, run_item, run_key, run_of, settled_key
from tests.bench import handoff, requests
from tests.bench.house import NAMESPACE, REGION, StandingClock, Tables
from tests.bench.limits import Limits, Row, Sample, row_of
from tests.bench.meter import Tally
from tests.bench.stage import Driver, Stage

OWED, SILENT, CANCELLED = 60, 30, 10
DUE = OWED + SILENT + CANCELLED
"""Of each kind: endings that nobody published, drivers that fell silent, cancels that were not heeded."""

BATCH = 25
WRITERS = 4
A_DAY = 24 * 3600 * 1000


@dataclass(frozen=True)
class Sweeping:
    """One sweep over the same due runs, in tables of their own and among ``settled`` others."""

    settled: int
    alone: Row
    among: Row

    @property
    def ratio(self) -> float:
        """How many times the units or calls, whichever grew most, that it took among the others."""
        pairs = [
            (self.among.wru, self.alone.wru),
            (self.among.rru, self.alone.rru),
            (self.among.calls, self.alone.calls),
        ]
        return max(many / few for many, few in pairs)

    @property
    def rows(self) -> list[Row]:
        return [self.alone, self.among]


def measure(endpoint: str, settled: int) -> Sweeping:
    """Sweep twice. That others have settled must not make it dearer by a single read."""
    alone = _swept(Tables(endpoint), settled=0)
    limits = Limits(wru=alone.wru, rru=alone.rru, calls=len(alone.calls))
    among = _swept(Tables(endpoint), settled)
    return Sweeping(
        settled,
        row_of(f"sweep, {DUE} due", 1, [Sample(alone)]),
        row_of(f"sweep, {DUE} due, {settled:,} settled", 1, [Sample(among, limits)]),
    )


def _swept(tables: Tables, settled: int) -> Tally:
    stage = Stage(tables, StandingClock(), 1)
    workflow = handoff.subscribed(stage, 1)
    model, _ = handoff.settled(stage, workflow)
    stage.publish(model.run)
    _fill(stage, _run(tables, model.run), settled)
    _fall_due(stage, workflow)
    stage.clock.sleep(3600)
    stage.refresh()
    swept, tally = stage.invoke(requests.SWEEP)
    found = (swept["published"], swept["settled"], swept["failed"])
    assert found == (OWED, SILENT + CANCELLED, 0), f"the sweep did something else: {swept}"
    return tally


def _fall_due(stage: Stage, workflow: str) -> None:
    """Their ids are the same in all tables, and so are their shards."""

    def begin(kind: str, number: int, **fields: Any) -> Driver:
        return Driver(stage, run_id=f"{kind}-{number:03d}", **fields)

    for number in range(OWED):
        begin("owed", number, workflow=workflow).finish(output=handoff.SMALL_OUTPUT)
    for number in range(SILENT):
        begin("silent", number, inactivity_timeout_seconds=60)
    for number in range(CANCELLED):
        stage.send(requests.cancel(begin("cancelled", number).run))


def _run(tables: Tables, run: str) -> Run:
    key: Any = {"k": {"S": run_key(NAMESPACE, run)}, "s": {"S": ROW}}
    item = tables.client.get_item(TableName=tables.names["runs"], Key=key)["Item"]
    return run_of(RunsItem.from_raw_data(item))


def _fill(stage: Stage, model: Run, count: int) -> None:
    """Put so many runs there that have settled as ``model`` has, spread over the day before it."""
    tables, name = stage.tables, stage.tables.names["runs"]
    plain = Config(parameter_validation=False, max_pool_connections=WRITERS)
    client = boto3.client("dynamodb", endpoint_url=tables.endpoint, region_name=REGION, config=plain)
    shards = Shards(stage.settings.due_shards, stage.settings.settled_shards, stage.settings.queue_shards)
    item = run_item(model, shards).serialize()

    def put(numbers: range) -> None:
        items = [item | _own(model, A_DAY * number // count, shards) for number in numbers]
        left: Any = {name: [{"PutRequest": {"Item": each}} for each in items]}
        while left:
            left = client.batch_write_item(RequestItems=left)["UnprocessedItems"]

    with ThreadPoolExecutor(WRITERS) as writers:
        batches = [range(first, min(first + BATCH, count)) for first in range(0, count, BATCH)]
        for _ in writers.map(put, batches):
            pass


def _own(model: Run, earlier: int, shards: Shards) -> dict[str, Any]:
    """What one more run like ``model`` has for itself: its keys, in the table and the indexes, and marks. To
    make each row anew would take most of the bench."""
    assert model.ending is not None
    run = replace(model, id=uuid.uuid4().hex, created_at=model.created_at - earlier)
    return {
        "k": {"S": run_key(run.namespace, run.id)},
        "b": {"S": uuid.uuid4().hex[: len(model.birth)]},
        "rv": {"S": uuid.uuid4().hex[: len(model.rev)]},
        "lc": {"S": created_key(run)},
        "ek": {"S": settled_key(run.namespace, run.id, ending(run.state, run.workflow), shards.settled)},
        "ea": {"N": str(model.ending.at - earlier)},
    }
