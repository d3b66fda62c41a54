"""What is owed and what is due, from the due index alone: what stands there is what somebody must look at."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from baton.domain.catalog import Snapshot, ending
from baton.domain.clock import Millis, millis
from baton.domain.settlement import Settlement
from baton.observability import logger
from baton.services.catalog import Catalog
from baton.services.context import Context
from baton.store.due import DueItem, DueRun, DueSettlement, Unknown, named
from baton.store.dynamo import Raw

AHEAD_SECONDS = 3600
"""What is owed is looked at again within so long, however often it failed."""

MAX_EXAMINED = 1_000
MAX_LISTED = 20
BATCH = 100


class Owing(msgspec.Struct, frozen=True, kw_only=True):
    """An ending that something is left to do about: to whom it is owed, since when, and why still."""

    run_id: str
    workflow: str
    attempt: int
    event: str
    subscribers: tuple[str, ...]
    since: Millis
    why: str


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """How many endings are owed, the longest owed ones first, and how many things are due and not attended
    to. ``complete`` False: there was more than one call examines."""

    owed: int
    oldest_owed_seconds: float | None
    due: int
    owing: tuple[Owing, ...]
    complete: bool


class Statistics:
    """Where what is owed is counted."""

    def __init__(self, context: Context, catalog: Catalog) -> None:
        self._context = context
        self._catalog = catalog

    def read(self, namespace: str) -> Stats:
        """What is owed in a namespace now. The index may lag by its replication. Raises Unavailable."""
        now = self._context.clock.now()
        self._catalog.prepare(namespace)
        entries, complete = self._entries(namespace, now)
        items = list(self._items(entries))
        snapshot = self._catalog.at_hand(namespace)
        owing = [found for item in items if (found := _owing(item, snapshot)) is not None]
        owing.sort(key=lambda each: (each.since, each.run_id, each.attempt))
        return Stats(
            owed=len(owing),
            oldest_owed_seconds=max(0.0, (now - owing[0].since) / 1000) if owing else None,
            due=sum(int(entry["du"]["N"]) <= now for entry in entries),
            owing=tuple(owing[:MAX_LISTED]),
            complete=complete,
        )

    def _entries(self, namespace: str, now: Millis) -> tuple[list[Raw], bool]:
        """The namespace's entries among the earliest of each shard, which all namespaces share."""
        context = self._context
        shards = context.settings.due_shards
        until, each = now + millis(AHEAD_SECONDS), max(1, MAX_EXAMINED // shards)
        pages = [context.due.page(shard, until, limit=each) for shard in range(shards)]
        mine = [entry for page in pages for entry in page.items if _of(entry, namespace)]
        return mine, all(page.more is None for page in pages)

    def _items(self, entries: list[Raw]) -> Iterator[DueItem]:
        keys = [(entry["k"]["S"], entry["s"]["S"]) for entry in entries if _may_owe(entry)]
        for first in range(0, len(keys), BATCH):
            yield from self._context.due.look_many(keys[first : first + BATCH])


def _of(entry: Raw, namespace: str) -> bool:
    return bool(entry["k"]["S"].split("#", 1)[0] == namespace)


def _may_owe(entry: Raw) -> bool:
    try:
        return isinstance(named(entry["k"]["S"], entry["s"]["S"]), DueRun | DueSettlement)
    except (Unknown, ValueError):
        return False  # the sweep says so


def _owing(item: DueItem, snapshot: Snapshot | None) -> Owing | None:
    """What an item owes; None when it owes nothing, or can't be read."""
    try:
        return _owed(item, snapshot)
    except Exception:  # noqa: BLE001 - an edge of its own: the others can be told all the same
        logger.warning("a due item can't be read", key=item.key, sort=item.sort, exc_info=True)
        return None


def _owed(item: DueItem, snapshot: Snapshot | None) -> Owing | None:
    settled = item.run() if isinstance(named(item.key, item.sort), DueRun) else item.apart()
    settlement = settled.settlement
    if settled.ending is None or not settlement.marked:
        return None
    event = ending(settled.state, settled.workflow)
    return Owing(
        run_id=item.key.split("#", 1)[1],
        workflow=settled.workflow,
        attempt=settled.attempt,
        event=event,
        subscribers=settlement.owed,
        since=settled.ending.at,
        why=_why(settlement, event, settled.strikes, snapshot),
    )


def _why(settlement: Settlement, event: str, strikes: int, snapshot: Snapshot | None) -> str:
    """Why it is still so, in words."""
    reasons = ["not known whom it is owed to"] if settlement.unresolved else []
    if snapshot is not None:
        reasons += [
            f"subscriber {name} is not in the catalog"
            if snapshot.workflow(name) is None
            else f"subscriber {name} is not subscribed to this any more"
            for name in settlement.owed
            if not snapshot.links(event, name)
        ]
    if settlement.waiters:
        reasons.append(
            "1 run waits for it" if settlement.waiters == 1 else f"{settlement.waiters} runs wait for it"
        )
    if strikes:
        reasons.append("put off after 1 failure" if strikes == 1 else f"put off after {strikes} failures")
    return "; ".join(reasons) or "not published yet"
