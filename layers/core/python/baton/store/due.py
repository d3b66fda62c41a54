"""What the due index names: entries of keys only, each standing for an item that needs attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from baton.domain.clock import Millis
from baton.domain.handoff import Apart
from baton.domain.run import Run
from baton.store.apart import SETTLEMENT, apart_of
from baton.store.dynamo import Dynamo, Page, Raw, Table
from baton.store.events import EventKey, due_event
from baton.store.rows import (
    PURGE,
    ROW,
    Purge,
    RunsItem,
    Shards,
    purge_item,
    purge_of,
    run_key,
    run_of,
    shard_key,
)
from baton.store.schema import DUE, RUNS
from baton.store.windows import OPEN, SPENT

PAGE = 100
BATCH = 25
"""Items that one call removes."""


class DueRun(NamedTuple):
    """A run that the due index names."""

    namespace: str
    run_id: str


class DueSettlement(NamedTuple):
    """A settlement in an item of its own that the due index names."""

    namespace: str
    run_id: str
    birth: str
    attempt: int


class DuePurge(NamedTuple):
    """A purge that the due index names."""

    key: str


class DueWindow(NamedTuple):
    """The header of an open window that the due index names."""

    key: str


class DueClearing(NamedTuple):
    """A fired window whose payloads are still there, that the due index names."""

    key: str


Due = DueRun | DueSettlement | DuePurge | DueWindow | DueClearing | EventKey


class Unknown(LookupError):
    """An item of a kind that this version of the code does not know."""


def named(key: str, sort: str) -> Due:
    """What an item of the runs table that may be due is, by its keys. Raises Unknown, and ValueError where
    they are not made as its kind's are."""
    kind = _KINDS.get(sort.partition("#")[0])
    if kind is None:
        raise Unknown(f"{sort!r} is the sort key of nothing that is ever due")
    return kind(key, sort)


def _run(key: str, _sort: str) -> Due:
    return DueRun(*key.split("#", 1))


def _settlement(key: str, sort: str) -> Due:
    _, birth, attempt = sort.split("#")
    namespace, run_id = key.split("#", 1)
    return DueSettlement(namespace, run_id, birth, int(attempt))


_KINDS: Mapping[str, Callable[[str, str], Due]] = {
    ROW: _run,
    SETTLEMENT: _settlement,
    PURGE: lambda key, _sort: DuePurge(key),
    OPEN: lambda key, _sort: DueWindow(key),
    SPENT: lambda key, _sort: DueClearing(key),
    "event": due_event,
}
"""By what their sort keys begin with."""


class DueItem(msgspec.Struct, frozen=True):
    """An item that may need attention, as it stands, whatever it is. ``due_at`` None: it needs none.
    ``strikes`` counts failures with it in a row."""

    key: str
    sort: str
    due_at: Millis | None
    strikes: int
    rev: str | None
    raw: Raw

    def run(self) -> Run:
        """The run whose row it is."""
        return run_of(RunsItem.from_raw_data(self.raw))

    def apart(self) -> Apart:
        """The settlement that it holds."""
        return apart_of(RunsItem.from_raw_data(self.raw))

    def purge(self) -> Purge:
        """The purge that it asks for."""
        return purge_of(RunsItem.from_raw_data(self.raw))


class DueStore:
    """The due index, and the items it names."""

    def __init__(self, dynamo: Dynamo, table_name: str, *, shards: Shards) -> None:
        self._dynamo = dynamo
        self._table = Table(dynamo, RUNS, table_name)
        self._shards = shards

    def page(self, shard: int, until: Millis, *, start: Raw | None = None, limit: int = PAGE) -> Page:
        """One page of a shard's entries that were due by ``until``, earliest first."""
        return self._table.query(
            shard_key(shard), RunsItem.due_at <= until, index=DUE.name, start=start, limit=limit
        )

    def look(self, key: str, sort: str) -> DueItem | None:
        """The item as it stands, consistently; None when it is gone. Nothing of it is decoded but what every
        kind has."""
        raw = self._table.get(key, sort, consistent=True)
        return None if raw is None else due_item(raw)

    def look_many(self, keys: Sequence[tuple[str, str]]) -> list[DueItem]:
        """Those of up to 100 items that exist, in no order. Eventually consistent."""
        return [due_item(raw) for raw in self._table.get_many(keys)]

    def put_off(self, item: DueItem, *, rev: str, due_at: Millis) -> bool:
        """Move an item that could not be attended to, of whatever kind, to a later time, and count the
        failure.

        It must be the one that was seen: whoever wrote it since knows better when it is due; then False. Our
        own ``rev`` found standing is this very write, its reply lost (I9).
        """
        unmoved = RunsItem.rev.does_not_exist() if item.rev is None else RunsItem.rev == item.rev
        actions = [
            RunsItem.rev.set(rev),
            RunsItem.due_at.set(due_at),
            RunsItem.strikes.set(item.strikes + 1),
        ]
        clash = self._dynamo.write(
            self._table.update(item.key, item.sort, actions, RunsItem.k.exists() & unmoved)
        )
        if clash is None:
            return True
        standing = clash.existing[0]
        return standing is not None and standing.get("rv", {}).get("S") == rev

    def put_back(self, purge: Purge, due_at: Millis) -> None:
        """Move a purge that is half done to a later time."""
        item = purge_item(msgspec.structs.replace(purge, due_at=due_at), self._shards)
        self._dynamo.write(self._table.put(item))

    def cleared(self, purge: Purge) -> None:
        """Once a life's log is no more: remove its settlements and the alias that led to it (unless its key
        has a new life)."""
        key = run_key(purge.namespace, purge.run_id)
        settlements = RunsItem.s.startswith(f"{SETTLEMENT}#{purge.birth}#")
        places = [(key, raw["s"]["S"]) for raw in self._table.query_all(key, settlements)]
        for start in range(0, len(places), BATCH):
            self._table.delete_many(places[start : start + BATCH])
        if purge.alias is not None:
            same_life = (RunsItem.birth == purge.birth) & RunsItem.alias_of.exists()
            self._dynamo.write(self._table.delete(run_key(purge.namespace, purge.alias), ROW, same_life))

    def purged(self, purge: Purge) -> None:
        """Forget a purge that is done, and what else its life left."""
        self.cleared(purge)
        item = purge_item(purge, self._shards)
        self._dynamo.write(self._table.delete(item.k, item.s))


def due_item(raw: Raw) -> DueItem:
    """What every item that may be due has in common."""
    due_at = raw.get("du", {}).get("N")
    return DueItem(
        key=raw["k"]["S"],
        sort=raw["s"]["S"],
        due_at=None if due_at is None else int(due_at),
        strikes=int(raw.get("sx", {}).get("N", 0)),
        rev=raw.get("rv", {}).get("S"),
        raw=raw,
    )
