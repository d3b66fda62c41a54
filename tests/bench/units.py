"""Units and round trips of every operation, with one container and with four that take turns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench import reading, writing
from tests.bench.house import SkippingClock, Tables
from tests.bench.limits import Limits, Row, Sample, row_of
from tests.bench.meter import LOCAL_TRANSACTION_FACTOR
from tests.bench.stage import Stage
from tests.bench.whole import WholeRun, whole_run

TURNS = (1, 4)

Script = Callable[[Stage, Stage], list[Sample]]
"""Given the containers that take turns, and one that has seen none of their runs."""


@dataclass(frozen=True)
class Units:
    """All that was counted."""

    transaction_factor: float
    rows: list[Row]
    whole: list[WholeRun]

    @property
    def broken(self) -> list[Row]:
        """The rows over a limit."""
        return [row for row in [*self.rows, *(each.row for each in self.whole)] if row.broken]


def _start(wru: float, *, keyed: bool = True, named: bool = False, **fields: Any) -> Script:
    return lambda stage, _: writing.starts(
        stage, Limits(wru=wru, trips=1), keyed=keyed, named=named, **fields
    )


def _steady(kind: str, events: int) -> Script:
    return lambda stage, _: writing.steady_appends(stage, writing.batch(kind, events))


def _alone(script: Callable[[Stage], list[Sample]]) -> Script:
    return lambda stage, _: script(stage)


SCRIPTS: dict[str, Script] = {
    "start, watchdog by default": _start(3),
    "start without watchdog": _start(2, inactivity_timeout_seconds=0),
    "start without watchdog, own id": _start(2, keyed=False, named=True, inactivity_timeout_seconds=0),
    "start with context_ref": _start(4, context_ref="feed-7"),
    "start with key and id": lambda stage, _: writing.starts(stage, Limits(trips=1), named=True),
    "start, 256 KB input": _alone(writing.large_starts),
    "start, first of a workflow": _alone(writing.first_starts),
    "start repeated": _alone(writing.repeated_starts),
    "first append, 1 KB": _alone(writing.first_appends),
    "append 1 KB repetitive": _steady("repetitive", 1),
    "append 1 KB prose": _steady("prose", 1),
    "append 10 KB repetitive": _steady("repetitive", 10),
    "append 10 KB prose": _steady("prose", 10),
    "append 1 KB prose, no echo": lambda stage, _: writing.forgetful_appends(
        stage, writing.batch("prose", 1)
    ),
    "append 1 KB prose, cold": writing.cold_appends,
    "append 10 KB prose, 256 KB input": lambda stage, _: writing.heavy_appends(
        stage, writing.batch("prose", 10)
    ),
    "finish, warm": _alone(writing.finishes),
    "finish, cold": writing.cold_finishes,
    "finish, 256 KB input": _alone(writing.heavy_finishes),
    "finish repeated, 2 + 2 KB payloads": _alone(writing.repeated_finishes),
    "get, running": _alone(reading.running),
    "get, running, newest item 40 KB": _alone(reading.running_large),
    "get, settled": _alone(reading.settled),
    "get, settled, 2 + 10 KB payloads": _alone(reading.settled_with_payloads),
    "get, settled, 256 + 256 KB": _alone(reading.settled_heavy),
    "empty tail poll, each look": _alone(reading.empty_looks),
    "long poll, nothing for 20 s": _alone(reading.long_polls),
    "read at the end, nothing there": _alone(reading.empty_reads),
    "read 100 KB from the start": _alone(reading.catch_ups),
    "cancel, latched": _alone(writing.cancels),
    "resume": _alone(writing.resumes),
    "list, page of 50": _alone(reading.pages),
    "delete": _alone(writing.deletes),
    "sweep, nothing due": _alone(writing.sweeps),
}


def count(tables: Tables, operations: Sequence[str] = tuple(SCRIPTS)) -> Units:
    """Run every script (or those named) at every number of containers."""
    factor = transaction_factor(tables)
    clock = SkippingClock()
    strangers = Stage(tables, clock, 1)
    rows, whole = [], []
    for turns in TURNS:
        stage = Stage(tables, clock, turns)
        for name in operations:
            rows.append(row_of(name, turns, SCRIPTS[name](stage, strangers)))
        whole += [whole_run(stage, kind) for kind in ("repetitive", "prose")]
    return Units(factor, rows, whole)


def transaction_factor(tables: Tables) -> float:
    """How many times the AWS formula DynamoDB Local reports for a transaction: a put of less than 1 KB into
    a table without indexes is 2 units there."""
    item = {"k": {"S": "probe"}, "s": {"S": "probe"}}
    put: Any = {"Put": {"TableName": tables.names["log"], "Item": item}}
    answer = tables.client.transact_write_items(TransactItems=[put], ReturnConsumedCapacity="TOTAL")
    factor = answer["ConsumedCapacity"][0]["CapacityUnits"] / 2
    if factor != LOCAL_TRANSACTION_FACTOR:
        raise AssertionError(
            f"DynamoDB Local reports transactions at {factor:g} times the formula: the meter corrects "
            f"{LOCAL_TRANSACTION_FACTOR}"
        )
    return factor
