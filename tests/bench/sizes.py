"""How large an item is to DynamoDB, and what that asks of a write, a read or a month.

Source: "DynamoDB item sizes and formats", DynamoDB developer guide. Numbers there are approximate.
"""

import math
from typing import Any

from baton.store.schema import TableSpec

KB = 1024
OVERHEAD = 100
"""Bytes of storage that an item takes beside its own, and each entry of an index."""


def item_bytes(item: dict[str, Any]) -> int:
    """Names and values of a wire-format item."""
    return sum(
        len(name.encode()) + _value_bytes(kind, value)
        for name, typed in item.items()
        for kind, value in typed.items()
    )


def put_units(item: dict[str, Any]) -> int:
    """The write units of a put of this item into a table without indexes."""
    return math.ceil(item_bytes(item) / KB)


def read_units(item: dict[str, Any]) -> int:
    """The units of a consistent read of this item; an eventually consistent one takes half."""
    return math.ceil(item_bytes(item) / (4 * KB))


def stored_bytes(spec: TableSpec, item: dict[str, Any]) -> int:
    """The storage that an item is billed as, its entries in the table's indexes included: they hold keys
    only."""
    total = item_bytes(item) + OVERHEAD
    for index in spec.indexes:
        keys = {index.hash_key.name, index.range_key.name}
        if keys <= item.keys():
            names = keys | {spec.hash_key.name, spec.range_key.name}
            total += item_bytes({name: item[name] for name in names}) + OVERHEAD
    return total


def _value_bytes(kind: str, value: Any) -> int:
    match kind:
        case "S":
            return len(value.encode())
        case "B":
            return len(value)
        case "N":
            return math.ceil(len(value.strip("-0.")) / 2) + 1
    raise ValueError(f"no item of Baton's holds a {kind}")
