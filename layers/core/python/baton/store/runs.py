"""Runs in DynamoDB: creating one, changing one, finding those that are due, listed or named."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from typing import NamedTuple

import msgspec
from pynamodb.expressions.condition import Condition

from baton.domain.clock import Millis
from baton.domain.events import CountWoken, Take
from baton.domain.handoff import Apart, Keep, Settled, in_row
from baton.domain.run import Run, Step
from baton.domain.starting import Alias
from baton.domain.waiting import ChangeRow, DropWaiter, PutWaiter, Waiter
from baton.store import events
from baton.store.apart import SETTLEMENT, apart_item, apart_of, settlement_sort
from baton.store.dynamo import Dynamo, Raw, Table, Write, changes
from baton.store.log import is_own
from baton.store.rows import (
    ROW,
    Purge,
    RunsItem,
    Shards,
    purge_item,
    run_item,
    run_key,
    run_of,
    settled_shard,
    workflow_key,
)
from baton.store.schema import BY_CONTEXT, LISTING, RUNS, SETTLED
from baton.store.waiters import WAITER, waiter_item, waiter_keys, waiter_of


class Changed(Enum):
    """What became of a change."""

    APPLIED = "applied"
    ROW_MOVED = "row_moved"
    """Someone wrote the row since it was read."""
    SLOT_TAKEN = "slot_taken"
    """Someone wrote the log since its tail was seen."""
    OTHER_MOVED = "other_moved"
    """Someone wrote what else belongs to the change."""


class Creation(msgspec.Struct, frozen=True, kw_only=True):
    """All that one start writes: the row; the alias of its key, at ``alias_id``; the log's item 0; and the
    purges of what it takes the place of. ``over_row`` and ``over_alias`` are what it knows to stand there
    now."""

    run: Run
    alias_id: str | None = None
    first_item: Write | None = None
    over_row: Run | Alias | None = None
    over_alias: Run | Alias | None = None
    purges: tuple[Purge, ...] = ()


class Listed(NamedTuple):
    """A run's place in a listing."""

    created_key: str
    run_id: str


class Around(NamedTuple):
    """A run, its settlements in items of their own, and who waits for it."""

    run: Run
    apart: tuple[Apart, ...]
    waiters: tuple[Waiter, ...]

    @property
    def endings(self) -> tuple[Settled, ...]:
        """Every ending of the run that is anybody's business, by attempt."""
        found = [Settled(self.run, each) for each in self.apart]
        if in_row(self.run):
            found.append(Settled(self.run))
        return tuple(sorted((each for each in found if each.public), key=lambda settled: settled.attempt))


class EndingPlace(NamedTuple):
    """An ending in the settled index; ``attempt`` None: it stands in the run's row. ``place`` is where a page
    goes on after it."""

    run_id: str
    attempt: int | None
    birth: str | None
    place: str


class EndingsPage(NamedTuple):
    """Some endings; ``more`` is where the next page goes on."""

    places: tuple[EndingPlace, ...]
    more: str | None


class RunStore:
    """The runs table."""

    def __init__(self, dynamo: Dynamo, table_name: str, *, shards: Shards) -> None:
        self._dynamo = dynamo
        self._table = Table(dynamo, RUNS, table_name)
        self._shards = shards
        self._attributes = RunsItem.get_attributes()

    def get(self, namespace: str, run_id: str, *, consistent: bool = True) -> Run | Alias | None:
        """What stands at an id. An expired run is given too: whether it reads as gone is the caller's clock
        to say."""
        raw = self._table.get(run_key(namespace, run_id), ROW, consistent=consistent)
        return None if raw is None else _decode(raw)

    def create(self, creation: Creation) -> bool:
        """Write a run's first row with all that belongs to it; False when something else stands there.

        Each key must hold what the caller knows of: two starts of one id or key contend here, and one wins
        (I7). A birth of our own found standing is this very write, its reply lost (I9).
        """
        clash = self._dynamo.write(*self.creation_writes(creation))
        if clash is None:
            return True
        standing = clash.existing[0]
        return standing is not None and standing["b"]["S"] == creation.run.birth

    def creation_writes(self, creation: Creation) -> list[Write]:
        """All that one start writes, the row first, for a transaction that holds more than that."""
        run = creation.run
        writes = [self._table.put(run_item(run, self._shards), _holds(creation.over_row))]
        if creation.alias_id is not None:
            alias = RunsItem(
                k=run_key(run.namespace, creation.alias_id),
                s=ROW,
                rev=run.rev,
                birth=run.birth,
                alias_of=run.id,
            )
            writes.append(self._table.put(alias, _holds(creation.over_alias)))
        if creation.first_item is not None:
            writes.append(creation.first_item)
        writes += [self._table.put(purge_item(purge, self._shards)) for purge in creation.purges]
        return writes

    def change(self, before: Run, step: Step, item: Write | None = None) -> Changed:
        """Turn the row that was read into another, in one transaction with a log item where one belongs to it
        and with all that stands beside it.

        Conditional on the ``rev`` that was read: of two writers that read the same row one wins. Our own
        ``rev`` or item found standing is this very write, its reply lost (I9). A step whose row is the one
        that was read leaves it alone.
        """
        others = [write for also in step.also for write in self._beside(also)]
        writes = [] if step.run is before else [self._row_change(before, step.run)]
        writes += [item] if item is not None else []
        clash = self._dynamo.write(*writes, *others)
        if clash is None:
            return Changed.APPLIED
        if _is_own(clash.existing[0], [*writes, *others][0], step):
            return Changed.APPLIED
        if item is not None and is_own(item, clash.existing[len(writes) - 1]):
            return Changed.APPLIED
        if step.run is not before and clash.failed[0]:
            return Changed.ROW_MOVED
        if item is not None and clash.failed[len(writes) - 1]:
            return Changed.SLOT_TAKEN
        return Changed.OTHER_MOVED

    def settled(self, namespace: str, run_id: str, attempt: int | None = None) -> Settled | None:
        """The ending of a run's present attempt (None), or of the one named, wherever it stands; None when
        there is none. Consistent; an expired run's is given too."""
        row = self.get(namespace, run_id)
        if not isinstance(row, Run):
            return None
        if row.state.terminal and attempt in (None, row.attempt) and row.ending and not row.ending.apart:
            return Settled(row)
        raw = self._table.get(
            run_key(namespace, run_id),
            settlement_sort(row.birth, row.attempt if attempt is None else attempt),
            consistent=True,
        )
        return None if raw is None else Settled(row, apart_of(RunsItem.from_raw_data(raw)))

    def around(self, namespace: str, run_id: str) -> Around | None:
        """A run with all that stands beside it: its settlements apart and those that wait for it. One
        consistent query; None when the run is absent."""
        raws = list(self._table.query_all(run_key(namespace, run_id), consistent=True))
        row = next((_decode(raw) for raw in raws if raw["s"]["S"] == ROW), None)
        if not isinstance(row, Run):
            return None
        apart = [
            apart_of(RunsItem.from_raw_data(raw))
            for raw in raws
            if raw["s"]["S"].startswith(f"{SETTLEMENT}#{row.birth}#")
        ]
        waiters = [waiter_of(raw) for raw in raws if raw["s"]["S"].startswith(WAITER)]
        return Around(row, tuple(apart), tuple(waiters))

    def endings(
        self,
        namespace: str,
        event: str,
        shard: int,
        since: Millis,
        until: Millis,
        *,
        start: str | None,
        limit: int,
    ) -> EndingsPage:
        """One page of the endings of one name in one shard, earliest first, settled from ``since`` to
        ``until``, both included. ``start`` is the ``more`` of the page before. Eventually consistent."""
        key = settled_shard(namespace, event, shard)
        page = self._table.query(
            key,
            RunsItem.settled_at.between(since, until),
            index=SETTLED.name,
            start=None if start is None else _settled_start(namespace, key, start),
            limit=limit,
        )
        return EndingsPage(
            tuple(map(_ending_place, page.items)), None if page.more is None else _place(page.more)
        )

    def apart_many(
        self, namespace: str, places: Iterable[EndingPlace]
    ) -> dict[tuple[str, int | None], Apart]:
        """Of up to 100 places, the settlements in items of their own that stand there, by run and attempt.
        Eventually consistent."""
        keys = [
            (run_key(namespace, place.run_id), settlement_sort(place.birth, place.attempt))
            for place in places
            if place.attempt is not None and place.birth is not None
        ]
        found = [
            apart_of(RunsItem.from_raw_data(raw)) for raw in (self._table.get_many(keys) if keys else [])
        ]
        return {(apart.run_id, apart.attempt): apart for apart in found}

    def _row_change(self, before: Run, after: Run) -> Write:
        """One that moves the due time says how things stand now: what failed before counts no more."""
        if after.due_at != before.due_at:
            after = msgspec.structs.replace(after, strikes=0)
        actions = changes(
            run_item(before, self._shards).serialize(),
            run_item(after, self._shards).serialize(),
            self._attributes,
        )
        return self._table.update(
            run_key(before.namespace, before.id), ROW, actions, RunsItem.rev == before.rev
        )

    def _beside(self, also: object) -> list[Write]:
        match also:
            case Keep(apart, over):
                item = apart_item(apart, self._shards)
                free = RunsItem.k.does_not_exist()
                return [self._table.put(item, free if over is None else RunsItem.rev == over)]
            case Creation():
                return self.creation_writes(also)
            case PutWaiter(waiter):
                return [self._table.put(waiter_item(waiter))]
            case DropWaiter(waiter):
                return [self._table.delete(*waiter_keys(waiter))]
            case ChangeRow(before, after):
                return [self._row_change(before, after)]
            case CountWoken():
                return events.count_woken(self._table, also)
            case Write():
                return [also]
            case Take():
                return events.take(self._table, also)
            case _:
                raise TypeError(f"nothing is written for {type(also).__name__}")

    def listing(
        self,
        namespace: str,
        *,
        workflow: str | None,
        context_ref: str | None,
        since: str,
        before: str,
        start: Raw | None,
        limit: int,
    ) -> tuple[list[Listed], Raw | None]:
        """One page of a listing, newest first, between two places in it: ``since`` <= place < ``before``.

        By context where one is named, else of one workflow. Eventually consistent.
        """
        if context_ref is not None:
            key, index = f"{namespace}#{context_ref}", BY_CONTEXT.name
        else:
            key, index = workflow_key(namespace, workflow or ""), LISTING.name
        page = self._table.query(
            key,
            RunsItem.created_key.between(since, before),
            index=index,
            forward=False,
            start=start,
            limit=limit,
        )
        found = [Listed(raw["lc"]["S"], raw["k"]["S"].split("#", 1)[1]) for raw in page.items]
        return [listed for listed in found if listed.created_key < before], page.more

    def get_many(self, namespace: str, run_ids: Collection[str]) -> dict[str, Run]:
        """Up to 100 runs by id, each named once. Eventually consistent."""
        if not run_ids:
            return {}
        found = [
            _decode(raw) for raw in self._table.get_many([(run_key(namespace, id_), ROW) for id_ in run_ids])
        ]
        return {run.id: run for run in found if isinstance(run, Run)}


def _holds(over: Run | Alias | None) -> Condition:
    """The key holds what the caller saw there, or nothing where it saw nothing."""
    return RunsItem.k.does_not_exist() if over is None else RunsItem.rev == over.rev


def _decode(raw: Raw) -> Run | Alias:
    item = RunsItem.from_raw_data(raw)
    if item.alias_of is not None:
        return Alias(item.alias_of, item.birth, item.rev)
    return run_of(item)


def _is_own(standing: Raw | None, write: Write, step: Step) -> bool:
    """Whether the first item of a transaction is there as the transaction writes it."""
    if standing is None:
        return False
    if write.kind == "Put":
        return bool(standing["rv"] == write.request["Item"]["rv"])
    return bool(standing["rv"]["S"] == step.run.rev)


def _place(raw: Raw) -> str:
    """A place in the settled index as text: settle time, sort key and run id."""
    return f"{raw['ea']['N']}|{raw['s']['S']}|{raw['k']['S'].split('#', 1)[1]}"


def _settled_start(namespace: str, key: str, place: str) -> Raw:
    settled_at, sort, run_id = place.split("|", 2)
    return {
        "ek": {"S": key},
        "ea": {"N": settled_at},
        "s": {"S": sort},
        "k": {"S": run_key(namespace, run_id)},
    }


def _ending_place(raw: Raw) -> EndingPlace:
    run_id, sort = raw["k"]["S"].split("#", 1)[1], raw["s"]["S"]
    if sort == ROW:
        return EndingPlace(run_id, None, None, _place(raw))
    _, birth, attempt = sort.split("#")
    return EndingPlace(run_id, int(attempt), birth, _place(raw))
