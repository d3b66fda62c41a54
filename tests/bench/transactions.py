"""What a transaction takes by the AWS formula, item by item: DynamoDB Local's own report is no measure of it.

It reports both parts of a transaction in a way of its own (infra/decisions/0010), and of several items that
take the same it counts one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton.store.schema import IndexSpec, TableSpec
from tests.bench.sizes import KB, item_bytes

TABLE_FACTOR = 2
"""AWS asks a transaction for this many times what the same write of the table takes alone. Of an index it
asks for no more than it would alone."""

LOCAL_TABLE_FACTOR = 2
"""DynamoDB Local reports a table's part at this many times what AWS asks for, ..."""
LOCAL_INDEX_FACTOR = 4
"""... and that of an index at this many times."""

Item = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """An item that a transaction writes."""

    table: str
    key: Item


@dataclass(frozen=True)
class Part:
    """What the write of one item would take alone: its table's units, and its indexes'."""

    table: str
    base: int
    index: int
    void: bool
    """Nothing stood there, and nothing stands there now."""

    @property
    def units(self) -> int:
        """What AWS asks for it within a transaction."""
        return TABLE_FACTOR * self.base + self.index

    @property
    def reported(self) -> tuple[int, int]:
        """What DynamoDB Local reports of it, were it alone. A void one it does not double twice."""
        twice = 1 if self.void else LOCAL_TABLE_FACTOR
        return TABLE_FACTOR * self.base * twice, self.index * LOCAL_INDEX_FACTOR


def places(request: dict[str, Any], specs: Mapping[str, TableSpec]) -> list[Place]:
    """The items of a transaction. ``specs`` are the tables by the names they have here."""
    found = []
    for action in request["TransactItems"]:
        ((kind, write),) = action.items()
        spec = specs[write["TableName"]]
        given = write["Item" if kind == "Put" else "Key"]
        key = {name: given[name] for name in (spec.hash_key.name, spec.range_key.name)}
        found.append(Place(write["TableName"], key))
    return found


def part(place: Place, spec: TableSpec, before: Item | None, after: Item | None) -> Part:
    """What a write takes that finds ``before`` and leaves ``after``: the larger of both counts, and each
    index for what changes in it."""
    larger = max((item_bytes(item) for item in (before, after) if item is not None), default=0)
    index = sum(_index_units(each, before, after) for each in spec.indexes)
    return Part(place.table, max(1, math.ceil(larger / KB)), index, void=before is None and after is None)


def reported(parts: Sequence[Part]) -> dict[str, tuple[int, int]]:
    """What DynamoDB Local reports of them by table, for the table itself and its indexes: equal parts
    once."""
    found: dict[str, tuple[int, int]] = {}
    for table, (base, index) in {(each.table, each.reported) for each in parts}:
        so_far = found.get(table, (0, 0))
        found[table] = (so_far[0] + base, so_far[1] + index)
    return found


def _index_units(index: IndexSpec, before: Item | None, after: Item | None) -> int:
    """An entry of keys stays within a unit; a moved one is removed and put."""
    was, is_ = _entry(index, before), _entry(index, after)
    return 0 if was == is_ else sum(entry is not None for entry in (was, is_))


def _entry(index: IndexSpec, item: Item | None) -> tuple[Any, ...] | None:
    names = (index.hash_key.name, index.range_key.name)
    if item is None or any(name not in item for name in names):
        return None
    return tuple(item[name] for name in names)
