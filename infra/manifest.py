"""Every function and every table of Baton once, as data: what the laptop runs is what AWS is given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from baton.api.contract import DEFAULT_FUNCTION, OPERATIONS, of_function
from baton.store.schema import (
    BY_CONTEXT,
    CATALOG,
    DUE,
    LISTING,
    LOG,
    QUEUE,
    RUNS,
    SETTLED,
    TABLES,
    IndexSpec,
    TableSpec,
)
from infra.signals import (
    CALLS_ITSELF,
    PARKED,
    PUSHES,
    PUTS_EVENTS,
    READS_KEYS,
    RUN_CHANGES,
    SENDS_HINTS,
    TIMERS,
    TOLD_BY,
    Queue,
    QueueSource,
    SignalRight,
    StreamSource,
)

__all__ = [
    "AUTHORIZER",
    "ENVIRONMENT",
    "FUNCTIONS",
    "TABLES",
    "Function",
    "Right",
    "Route",
    "Schedule",
    "function",
]

ENVIRONMENT = ("BATON_RUNS_TABLE", "BATON_LOG_TABLE", "BATON_CATALOG_TABLE")
"""What each container must be told by its environment (`baton.config.Settings`); all else has defaults."""


@dataclass(frozen=True)
class Right:
    """DynamoDB actions on one table, or on one of its indexes. A transaction needs those of its parts."""

    table: str
    actions: tuple[str, ...]
    index: str | None = None


class Route(NamedTuple):
    """A method and a path in API Gateway's spelling: a parameter is one segment, `{id}`. ``open``: anybody
    may ask, known or not."""

    method: str
    path: str
    open: bool = False

    @property
    def key(self) -> str:
        """API Gateway's name for it: ``GET /v1/runs/{id}``."""
        return f"{self.method} {self.path}"


AUTHORIZER = "authorize"
"""The function that tells the gateway who a caller is."""


class Schedule(NamedTuple):
    """How often the clock calls a function. AWS schedules by whole minutes, the laptop is not so tied."""

    every_minutes: int
    local_seconds: float


@dataclass(frozen=True, kw_only=True)
class Function:
    """One folder of `functions/`: what calls it, what it may touch, what it is given.

    Its routes are the contract's. ``streams``: its module has `stream(event, context)` beside `handler`, for
    gateways that can pass chunks on. ``default``: it answers what no route matches. ``signals``: what it may
    do beyond DynamoDB.
    """

    name: str
    memory_mb: int
    timeout_seconds: int
    rights: tuple[Right, ...] = ()
    signals: tuple[SignalRight, ...] = ()
    schedule: Schedule | None = None
    streams_from: tuple[StreamSource, ...] = ()
    queue: QueueSource | None = None

    @property
    def routes(self) -> tuple[Route, ...]:
        """What the contract says it serves."""
        return tuple(Route(row.method, row.path, row.role is None) for row in of_function(self.name))

    @property
    def environment(self) -> tuple[str, ...]:
        """What its containers must be told: also where to send what they may send."""
        told = [TOLD_BY[right] for right in self.signals if right in TOLD_BY]
        return (*ENVIRONMENT, *told)

    @property
    def asynchronous(self) -> bool:
        """Whether it is called by who waits for no answer: the clock, or itself."""
        return self.schedule is not None or CALLS_ITSELF in self.signals

    @property
    def loops(self) -> bool:
        """Whether a call of it may lead to another by way of Lambda or a queue, and so on: it calls itself,
        or sends to the queue that calls it. Lambda takes more than some 16 such links for a fault and drops
        what comes then, unless told that they are meant: the sweep hands on what a page of its index leaves,
        at most `baton.services.sweep.MAX_LINKS` times, and a run that it moves may bring a hint of its own.
        """
        hinted = self.queue is not None and SENDS_HINTS in self.signals
        return CALLS_ITSELF in self.signals or hinted

    @property
    def parks(self) -> tuple[Queue, ...]:
        """Where Lambda puts, in its name, what it could not be called with."""
        failures = {source.on_failure for source in self.streams_from}
        return tuple(sorted(failures | ({PARKED} if self.asynchronous else set())))

    @property
    def counts_requests(self) -> bool:
        """Whether it serves whom it asks for a token, and so counts how often that one asks."""
        return any(not route.open for route in self.routes)

    @property
    def streams(self) -> bool:
        return any(row.streams for row in of_function(self.name))

    @property
    def default(self) -> bool:
        return self.name == DEFAULT_FUNCTION


def _on(table: TableSpec, *actions: str) -> Right:
    return Right(table.name, actions)


def _of(table: TableSpec, *indexes: IndexSpec) -> tuple[Right, ...]:
    return tuple(Right(table.name, ("Query",), index.name) for index in indexes)


def _with_the_right_to_count(each: Function) -> Function:
    """The function; if it counts requests, beside what else it may do in the table where they are counted."""
    if not each.counts_requests:
        return each
    rights = [right for right in each.rights if right.table != CATALOG.name]
    actions = {action for right in each.rights if right not in rights for action in right.actions}
    return replace(each, rights=(*rights, _on(CATALOG, *sorted({*actions, "UpdateItem"}))))


# An HTTP API waits 30 s and no longer: what may wait by design (a long poll, `wait`) ends below that.
# Lambda gives processor in proportion to memory.
_FUNCTIONS = (
    Function(
        name=AUTHORIZER,
        memory_mb=512,
        timeout_seconds=10,
        rights=(_on(CATALOG, "GetItem", "UpdateItem"),),
    ),
    Function(
        name="start",
        memory_mb=512,
        timeout_seconds=20,
        rights=(
            _on(RUNS, "GetItem", "PutItem"),
            _on(LOG, "GetItem", "PutItem", "Query"),
            _on(CATALOG, "GetItem", "PutItem", "Query"),
        ),
        signals=(READS_KEYS,),
    ),
    Function(
        name="append",
        memory_mb=512,
        timeout_seconds=20,
        rights=(_on(RUNS, "GetItem"), _on(LOG, "GetItem", "PutItem", "Query")),
        signals=(READS_KEYS,),
    ),
    Function(
        name="stream",
        memory_mb=512,
        timeout_seconds=60,
        rights=(_on(RUNS, "GetItem"), _on(LOG, "Query"), _on(CATALOG, "GetItem")),
    ),
    Function(
        name="finish",
        memory_mb=512,
        timeout_seconds=20,
        rights=(
            _on(RUNS, "DeleteItem", "GetItem", "PutItem", "UpdateItem"),
            _on(LOG, "GetItem", "PutItem", "Query"),
            _on(CATALOG, "GetItem", "Query"),
        ),
        signals=(READS_KEYS,),
    ),
    Function(
        name="control",
        memory_mb=512,
        timeout_seconds=20,
        rights=(
            _on(RUNS, "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"),
            _on(LOG, "GetItem", "PutItem", "Query"),
            _on(CATALOG, "GetItem", "Query"),
        ),
        signals=(SENDS_HINTS,),
    ),
    Function(
        name="events",
        memory_mb=512,
        timeout_seconds=20,
        rights=(
            _on(RUNS, "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"),
            _on(LOG, "PutItem", "Query"),
            _on(CATALOG, "GetItem", "Query"),
        ),
        signals=(SENDS_HINTS,),
    ),
    Function(
        name="runs",
        memory_mb=512,
        timeout_seconds=29,
        rights=(
            _on(RUNS, "BatchGetItem", "GetItem", "Query", "UpdateItem"),
            *_of(RUNS, LISTING, BY_CONTEXT),
            _on(LOG, "BatchGetItem", "GetItem", "Query"),
            _on(CATALOG, "GetItem", "PutItem", "Query"),
        ),
        signals=(READS_KEYS,),
    ),
    Function(
        name="workflows",
        memory_mb=512,
        timeout_seconds=20,
        rights=(_on(CATALOG, "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"),),
        signals=(READS_KEYS,),
    ),
    Function(
        name="workers",
        memory_mb=512,
        timeout_seconds=29,
        rights=(
            _on(RUNS, "BatchGetItem", "GetItem", "PutItem", "UpdateItem"),
            *_of(RUNS, QUEUE),
            _on(LOG, "GetItem", "PutItem", "Query"),
            _on(CATALOG, "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"),
        ),
        signals=(READS_KEYS,),
    ),
    Function(
        name="tokens",
        memory_mb=512,
        timeout_seconds=20,
        rights=(_on(CATALOG, "DeleteItem", "GetItem", "PutItem", "Query"),),
        signals=(READS_KEYS,),
    ),
    Function(
        name="publish",
        memory_mb=512,
        timeout_seconds=60,
        rights=(
            _on(RUNS, "BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"),
            _on(LOG, "BatchWriteItem", "GetItem", "PutItem", "Query"),
            _on(CATALOG, "GetItem", "Query"),
        ),
        signals=(SENDS_HINTS, PUTS_EVENTS, *PUSHES),
        streams_from=(RUN_CHANGES,),
    ),
    Function(
        name="sweep",
        memory_mb=512,
        timeout_seconds=60,
        rights=(
            _on(RUNS, "BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"),
            *_of(RUNS, DUE),
            _on(LOG, "BatchWriteItem", "GetItem", "PutItem", "Query"),
            _on(CATALOG, "GetItem", "Query"),
        ),
        signals=(SENDS_HINTS, PUTS_EVENTS, CALLS_ITSELF, *PUSHES),
        schedule=Schedule(every_minutes=1, local_seconds=1.0),
        queue=QueueSource(queue=TIMERS),
    ),
    Function(
        name="heal",
        memory_mb=512,
        timeout_seconds=60,
        rights=(
            _on(RUNS, "BatchGetItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"),
            *_of(RUNS, SETTLED),
            _on(LOG, "GetItem", "PutItem", "Query"),
            _on(CATALOG, "DeleteItem", "GetItem", "PutItem", "Query"),
        ),
        schedule=Schedule(every_minutes=1, local_seconds=1.0),
        signals=(SENDS_HINTS, PUTS_EVENTS),
    ),
    Function(
        name="republish",
        memory_mb=512,
        timeout_seconds=29,
        rights=(
            _on(RUNS, "BatchGetItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"),
            *_of(RUNS, SETTLED),
            _on(LOG, "GetItem", "PutItem", "Query"),
            _on(CATALOG, "GetItem", "PutItem", "Query"),
        ),
        signals=(READS_KEYS, SENDS_HINTS, PUTS_EVENTS),
    ),
    Function(
        name="meta",
        memory_mb=512,
        timeout_seconds=10,
        rights=(_on(RUNS, "BatchGetItem"), *_of(RUNS, DUE), _on(CATALOG, "GetItem", "Query")),
    ),
)

FUNCTIONS = tuple(_with_the_right_to_count(each) for each in _FUNCTIONS)


def function(name: str) -> Function:
    """The function of that name. Raises KeyError."""
    return _BY_NAME[name]


_BY_NAME = {each.name: each for each in FUNCTIONS}

_homeless = {row.function for row in OPERATIONS} - set(_BY_NAME)
if _homeless:
    raise LookupError(f"the contract names functions that the manifest lacks: {sorted(_homeless)}")
