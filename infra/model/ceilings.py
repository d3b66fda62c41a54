"""Each thing that can be used up, how fast settles use it, and at which rate it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from baton.config import Settings
from baton.services.sweep import MAX_LINKS
from baton.store.due import PAGE
from baton.store.schema import BY_CONTEXT, CATALOG, DUE, LISTING, LOG, QUEUE, RUNS, SETTLED
from infra.aws.stage import Stage
from infra.model import quotas
from infra.model.lives import Assumptions, Life
from infra.model.operations import ASK, HAND_OFF, PURGE, PUT_OFF, Operation
from infra.signals import RUN_CHANGES

EVERYTHING = "everything"
A_WORKFLOW = "a workflow"
SWEEP_SECONDS = 60
"""Between two sweeps."""
FIRST_PARTITIONS = quotas.NEW_TABLE_WRITES.most / quotas.PARTITION_WRITES.most
"""Partitions of a table that has had no load yet; its stream has a shard for each."""


class KeyPattern(NamedTuple):
    """The partition key of an index, or of a table where not each run has its own. ``of``: what has
    ``shards`` such keys to share. ``moved_by``: what makes them more."""

    key: str
    of: str
    shards: Callable[[Settings], int]
    moved_by: str


KEYS: Mapping[str, KeyPattern | None] = {
    RUNS.name: None,
    LOG.name: None,
    CATALOG.name: KeyPattern("namespace", "a namespace", lambda _: 1, "fewer, busier workers"),
    DUE.name: KeyPattern("shard", EVERYTHING, lambda each: each.due_shards, "due_shards"),
    LISTING.name: KeyPattern("namespace, workflow", A_WORKFLOW, lambda _: 1, "no setting; more workflows"),
    BY_CONTEXT.name: KeyPattern(
        "namespace, context_ref", "a context", lambda _: 1, "no setting; more contexts"
    ),
    SETTLED.name: KeyPattern(
        "namespace, ending, shard", A_WORKFLOW, lambda each: each.settled_shards, "settled_shards"
    ),
    QUEUE.name: KeyPattern(
        "namespace, workflow, shard", A_WORKFLOW, lambda each: each.queue_shards, "queue_shards"
    ),
}
"""Of each table and index; None: each run has a partition of its own."""


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """Something of which each settle a second takes ``each``, and of which there is ``most``. ``grows``: what
    each settle a second makes more of it."""

    where: str
    of: str
    each: float
    most: float
    grows: float = 0
    unit: str
    moved_by: str

    def share(self, settles: float) -> float:
        """How much of it so many settles a second use: 1 is all."""
        return self.each * settles / max(self.most, self.grows * settles)

    @property
    def breaks_at(self) -> float:
        """Settles a second that use it up; infinity where that never happens."""
        return self.most / self.each if self.each > self.grows else math.inf


def ceilings(life: Life, assumed: Assumptions, settings: Settings, stage: Stage) -> list[Ceiling]:
    """All of them for one life of a run, that which breaks first before all others."""
    taken = Taken(life, assumed, settings)
    asked = taken.requests if stage.auth == "tokens" and not stage.authorizer_seconds else 0
    found = [
        *_keys(taken),
        *_tables(taken),
        *_gateway(taken, stage),
        _token(asked),
        *_containers(taken, asked),
        *_sweep(taken, stage),
    ]
    return sorted((each for each in found if each.each), key=lambda each: each.breaks_at)


@dataclass(frozen=True)
class Taken:
    """What one life takes in sum."""

    life: Life
    assumed: Assumptions
    settings: Settings

    def writes(self, place: str) -> float:
        """Write units of a table or an index."""
        return sum(each.writes.get(place, 0) * times for each, times in self._each())

    def writes_of_one(self, place: str) -> float:
        """Write units of it that are of the busiest workflow, where it is kept by workflow."""
        if self.life.handed_on:
            return self.writes(place)
        elsewhere = HAND_OFF.writes.get(place, 0)
        return max(elsewhere, self.writes(place) - elsewhere)

    def reads(self, place: str) -> float:
        """Read units of it."""
        return sum(each.reads.get(place, 0) * times for each, times in self._each())

    def times(self, operation: Operation) -> float:
        """How often an operation is performed."""
        return sum(times for each, times in self._each() if each is operation)

    @property
    def requests(self) -> float:
        """HTTP requests."""
        return sum(times for each, times in self._each() if not each.told)

    def seconds(self, operation: Operation) -> float:
        """How long a container is busy with one."""
        alone = self.assumed.records_a_batch if operation.told else 1
        return operation.trips * self.assumed.trip_seconds + self.assumed.own_seconds / alone

    def busy(self, *operations: Operation) -> float:
        """How long containers are busy with some operations, or with all."""
        return sum(
            self.seconds(each) * times for each, times in self._each() if not operations or each in operations
        )

    def _each(self) -> Iterator[tuple[Operation, float]]:
        return self.life.each(self.assumed, self.settings)


def _keys(taken: Taken) -> Iterator[Ceiling]:
    for place, pattern in KEYS.items():
        if pattern is None:
            continue
        shards = pattern.shards(taken.settings)
        written = taken.writes_of_one(place) if pattern.of == A_WORKFLOW else taken.writes(place)
        for kind, units, quota in (
            ("write", written, quotas.PARTITION_WRITES),
            ("read", taken.reads(place), quotas.PARTITION_READS),
        ):
            yield Ceiling(
                where=f"{place}: one ({pattern.key})",
                of=pattern.of,
                each=units / shards,
                most=quota.most,
                unit=f"{kind} units",
                moved_by=pattern.moved_by,
            )
    yield Ceiling(
        where="catalog: revision, one (namespace)",
        of="a namespace",
        each=taken.busy() / taken.settings.catalog_seconds / 2,
        most=quotas.PARTITION_READS.most,
        unit="read units",
        moved_by="catalog_seconds",
    )


def _tables(taken: Taken) -> Iterator[Ceiling]:
    for place in KEYS:
        yield Ceiling(
            where=f"{place}: all keys",
            of=EVERYTHING,
            each=taken.writes(place),
            most=quotas.TABLE_WRITES.most,
            unit="write units",
            moved_by="quota",
        )
    busiest = max(KEYS, key=taken.writes)
    yield Ceiling(
        where=f"{busiest}: all keys, when new",
        of=EVERYTHING,
        each=taken.writes(busiest),
        most=quotas.NEW_TABLE_WRITES.most,
        unit="write units",
        moved_by="warm throughput; growing load",
    )


def _gateway(taken: Taken, stage: Stage) -> Iterator[Ceiling]:
    yield Ceiling(
        where=f"HTTP API: what stage {stage.name} lets in",
        of=EVERYTHING,
        each=taken.requests,
        most=stage.requests_per_second,
        unit="requests",
        moved_by="requests_per_second; fewer requests",
    )
    yield Ceiling(
        where="HTTP API: the account",
        of=EVERYTHING,
        each=taken.requests,
        most=quotas.GATEWAY.most,
        unit="requests",
        moved_by="quota; fewer requests",
    )


def _token(asked: float) -> Ceiling:
    """Callers that are asked about each time, and that all show the same token."""
    return Ceiling(
        where="catalog: one token",
        of="a token",
        each=asked * ASK.reads[CATALOG.name],
        most=quotas.PARTITION_READS.most,
        unit="read units",
        moved_by="authorizer_seconds; more tokens",
    )


def _containers(taken: Taken, asked: float) -> Iterator[Ceiling]:
    yield Ceiling(
        where="Lambda: all functions",
        of=EVERYTHING,
        each=taken.busy() + asked * taken.seconds(ASK),
        most=quotas.CONTAINERS.most,
        unit="containers",
        moved_by="quota; memory_mb",
    )
    yield Ceiling(
        where="publish: batches at once",
        of=EVERYTHING,
        each=taken.busy(HAND_OFF, PURGE),
        most=FIRST_PARTITIONS * RUN_CHANGES.parallel,
        grows=taken.writes(RUNS.name) / quotas.PARTITION_WRITES.most * RUN_CHANGES.parallel,
        unit="containers",
        moved_by="memory_mb; parallel is at its most",
    )
    yield Ceiling(
        where="EventBridge: calls of PutEvents",
        of=EVERYTHING,
        each=taken.times(HAND_OFF) * 2 + 1 / taken.assumed.records_a_batch,
        most=quotas.BUS.most,
        unit="calls",
        moved_by="quota; hand-offs do not pass here",
    )


def _sweep(taken: Taken, stage: Stage) -> Iterator[Ceiling]:
    """Leases of runs that are still worked at come due and are put off. A shard is gone over in a chain of
    invocations, a page each, and the last goes on for as long as a sweep may."""
    settings = taken.settings
    at_once = min(settings.due_shards, stage.reserved.get("sweep", settings.due_shards))
    each_minute = MAX_LINKS * PAGE + settings.sweep_seconds / taken.seconds(PUT_OFF)
    yield Ceiling(
        where="sweep: leases that come due",
        of=EVERYTHING,
        each=taken.times(PUT_OFF),
        most=at_once * each_minute / SWEEP_SECONDS,
        unit="leases",
        moved_by="lease_seconds; due_shards with reserved",
    )
