"""Units and round trips of every operation, with one container and with four that take turns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench import claiming, handoff, reading, transactions, writing
from tests.bench.house import StandingClock, Tables
from tests.bench.limits import Limits, Row, Sample, row_of
from tests.bench.stage import Stage
from tests.bench.whole import LIMITS, WholeRun, whole_run

TURNS = (1, 4)

Script = Callable[[Stage, Stage], list[Sample]]
"""Given the containers that take turns, and one that has seen none of their runs."""


@dataclass(frozen=True)
class Factors:
    """How many times the AWS price DynamoDB Local reports of a transaction for a table and for an index, and
    how many of two items that take the same."""

    table: float
    index: float
    equal_items: float


LOCAL = Factors(table=transactions.LOCAL_TABLE_FACTOR, index=transactions.LOCAL_INDEX_FACTOR, equal_items=1)


@dataclass(frozen=True)
class Units:
    """All that was counted."""

    transaction_factors: Factors
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


def _hand_off(subscribers: int) -> Script:
    return lambda stage, _: handoff.hand_offs(stage, subscribers)


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
    "start, queued": _alone(claiming.starts),
    "claim": lambda stage, _: claiming.first(stage, keyed=False),
    "claim with a key": lambda stage, _: claiming.first(stage, keyed=True),
    "claim, second attempt": lambda stage, _: claiming.later(stage, keyed=False),
    "claim with a key, second attempt": lambda stage, _: claiming.later(stage, keyed=True),
    "claim with a key, after a failure": lambda stage, _: claiming.later(stage, keyed=True, failed=True),
    "claim one": _alone(claiming.of_one),
    "claim 25": lambda stage, _: claiming.of_many(stage, 25),
    "claim, nothing there": _alone(claiming.idle_looks),
    "claim, nothing there for 20 s": _alone(claiming.idle_polls),
    "renew": _alone(claiming.renewals),
    "release": _alone(claiming.releases),
    "release with a failure": lambda stage, _: claiming.releases(stage, error=claiming.BROKE),
    "release with the last failure": _alone(claiming.last_failures),
    "finish, 1 subscriber": _alone(handoff.owing_finishes),
    "hand-off to 1": _hand_off(1),
    "hand-off to 2": _hand_off(2),
    "hand-off to 5": _hand_off(5),
    "hand-off to 1, 750 bytes of payload": lambda stage, _: handoff.full_hand_offs(stage, 1),
    "hand-off to 5, 750 bytes of payload": lambda stage, _: handoff.full_hand_offs(stage, 5),
    "hand-off to 1, 2 KB output": _alone(handoff.heavy_hand_offs),
    "hand-off repeated": _alone(handoff.repeated_hand_offs),
    "hand-off into a new window": _alone(handoff.opening_joins),
    "hand-off into an open window": _alone(handoff.joins),
    "get, settled, 1 delivery": lambda stage, _: handoff.details(stage, 1),
    "get, settled, 5 deliveries": lambda stage, _: handoff.details(stage, 5),
    "heal, catalog unchanged": _alone(handoff.healings),
    "sweep, nothing due": _alone(writing.sweeps),
}


def play(name: str, stage: Stage, strangers: Stage) -> Row:
    """Run one script, every container having read the catalog of late."""
    for each in (stage, strangers):
        each.refresh()
    return row_of(name, stage.turns, SCRIPTS[name](stage, strangers))


def count(
    tables: Tables, operations: Sequence[str] = tuple(SCRIPTS), taking_turns: Sequence[int] = TURNS
) -> Units:
    """Run every script (or those named) at every number of containers."""
    factors = transaction_factors(tables)
    clock = StandingClock()
    strangers = Stage(tables, clock, 1)
    rows, whole = [], []
    for turns in taking_turns:
        whole += [whole_run(Tables(tables.endpoint), turns, kind) for kind in LIMITS]
        stage = Stage(tables, clock, turns)
        for name in operations:
            rows.append(play(name, stage, strangers))
    return Units(factors, rows, whole)


def transaction_factors(tables: Tables) -> Factors:
    """What DynamoDB Local makes of a transaction, by a bare one: a put of less than 1 KB into a table with an
    entry in one of its indexes, which is 1 unit for each of both outside of one."""
    table = tables.names["runs"]

    def put(sort: str) -> Any:
        item = {"k": {"S": "probe"}, "s": {"S": sort}, "ek": {"S": "probe"}, "ea": {"N": "1"}}
        return {"TableName": table, "Item": item}

    def arms(*sorts: str) -> tuple[float, float]:
        puts: Any = [{"Put": put(sort)} for sort in sorts]
        answer = tables.client.transact_write_items(TransactItems=puts, ReturnConsumedCapacity="INDEXES")
        (consumed,) = answer["ConsumedCapacity"]
        return consumed["Table"]["CapacityUnits"], _index_units(consumed)

    alone = tables.client.put_item(**put("alone"), ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    base, index = arms("one")
    found = Factors(
        table=base / alone["Table"]["CapacityUnits"] / transactions.TABLE_FACTOR,
        index=index / _index_units(alone),
        equal_items=sum(arms("two", "three")) / (base + index),
    )
    if found != LOCAL:
        raise AssertionError(f"DynamoDB Local reports transactions by {found}: the meter corrects {LOCAL}")
    return found


def _index_units(consumed: Any) -> float:
    return float(sum(index["CapacityUnits"] for index in consumed["GlobalSecondaryIndexes"].values()))
