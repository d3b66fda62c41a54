"""The tables as data: what the store reads and writes, and what every house creates."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """A key attribute: its name and its DynamoDB type (S or N)."""

    name: str
    type: str = "S"


class IndexSpec(NamedTuple):
    """A global secondary index. All of ours are sparse and project keys only."""

    name: str
    hash_key: Key
    range_key: Key
    projection: str = "KEYS_ONLY"


class TableSpec(NamedTuple):
    """A table: on demand, with point-in-time recovery. ``ttl_attribute`` holds epoch seconds."""

    name: str
    hash_key: Key
    range_key: Key
    indexes: tuple[IndexSpec, ...] = ()
    ttl_attribute: str | None = None
    stream_view: str | None = None

    @property
    def attributes(self) -> tuple[Key, ...]:
        """Every key attribute of the table and its indexes, once."""
        keys = [self.hash_key, self.range_key]
        for index in self.indexes:
            keys += [index.hash_key, index.range_key]
        return tuple(dict.fromkeys(keys))


DUE = IndexSpec("due", Key("dk"), Key("du", "N"))
"""(shard; due time) of everything that needs attention at a time."""

LISTING = IndexSpec("listing", Key("lk"), Key("lc"))
"""(namespace, workflow; created_at and id) of every run: immutable, so a run's later writes never touch
it."""

BY_CONTEXT = IndexSpec("by_context", Key("ck"), Key("lc"))
"""(namespace, context_ref; created_at and id) of the runs that were given one."""

SETTLED = IndexSpec("settled", Key("ek"), Key("ea", "N"))
"""(namespace, workflow, ending, shard; settle time) of every ending: what healing and republishing go
over."""

QUEUE = IndexSpec("queue", Key("qk"), Key("qp", "N"))
"""(namespace, workflow, shard; inverted priority and available time) of every run that waits to be
claimed."""

RUNS = TableSpec(
    name="runs",
    hash_key=Key("k"),
    range_key=Key("s"),
    indexes=(DUE, LISTING, BY_CONTEXT, SETTLED, QUEUE),
    ttl_attribute="ttl",
    stream_view="NEW_AND_OLD_IMAGES",
)
"""Run rows and their settlements, key aliases, waiters, custom events, windows, purge items."""

LOG = TableSpec(name="log", hash_key=Key("k"), range_key=Key("s"))
"""Log items: (namespace, run; birth and slot)."""

CATALOG = TableSpec(name="catalog", hash_key=Key("k"), range_key=Key("s"), ttl_attribute="ttl")
"""What is known of a namespace: its workflows and their subscriptions, and the names of those ever
started."""

TABLES = (RUNS, LOG, CATALOG)
