"""Makes moto's work follow what a call asks for, not all that its tables hold.

As it comes, moto sorts the whole table for each query and copies it for each transaction: on a laptop that
has kept a few thousand log items, one look at a log's end takes a tenth of a second, under a lock; and a list
of forty rows takes a quarter of one to be written as JSON. What a call answers stays the same, which a test
holds against moto as it comes. One call at a time may run: `memory` sees to that.
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from moto.core.serialize import BaseJSONSerializer
from moto.dynamodb.comparisons import get_comparison_func
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table

Partition = dict[DynamoType, Item]

_AS_IT_COMES = Table.query
_PLAIN = frozenset({"S", "N", "BOOL", "NULL"})


@contextmanager
def proportionate() -> Iterator[None]:
    """Inside the block a query sorts what it may answer, a transaction copies what it touches, and an answer
    is written without a look at each thing that a value is not. Blocks nest."""
    if Table.query is not _AS_IT_COMES:
        yield
        return
    query, transact = Table.query, DynamoDBBackend.transact_write_items
    structure = BaseJSONSerializer._serialize_type_structure  # noqa: SLF001 - there is no other door

    def narrow_query(table: Table, *args: Any, **more: Any) -> Any:
        everything = table.items
        table.items = _candidates(table, *args, **more)
        try:
            return query(table, *args, **more)
        finally:
            table.items = everything

    def narrow_transact(backend: DynamoDBBackend, transact_items: list[dict[str, Any]]) -> None:
        undoing = [_undo(backend, write) for write in transact_items]
        Table.__deepcopy__ = _itself  # type: ignore[attr-defined]
        try:
            transact(backend, transact_items)
        except Exception:
            for undo in reversed(undoing):
                undo()
            raise
        finally:
            del Table.__deepcopy__  # type: ignore[attr-defined]

    def narrow_structure(
        serializer: BaseJSONSerializer, serialized: Any, value: Any, shape: Any, key: str
    ) -> None:
        if key and shape.name == "AttributeValue" and type(value) is dict and len(value) == 1:
            ((kind, plain),) = value.items()
            if kind in _PLAIN and type(plain) in (str, bool):
                serialized[serializer.get_serialized_name(shape, key)] = {kind: plain}
                return
        structure(serializer, serialized, value, shape, key)

    _replace(narrow_query, narrow_transact, narrow_structure)
    try:
        yield
    finally:
        _replace(query, transact, structure)


def _replace(query: Any, transact: Any, structure: Any) -> None:
    Table.query = query  # type: ignore[method-assign]
    DynamoDBBackend.transact_write_items = transact  # type: ignore[method-assign]
    BaseJSONSerializer._serialize_type_structure = structure  # type: ignore[method-assign] # noqa: SLF001


def _candidates(
    table: Table,
    hash_key: DynamoType | None,
    comparison: str | None,
    operands: list[DynamoType],
    limit: int | None,
    start: dict[str, Any] | None,
    forward: bool,
    _projections: Any,
    index_name: str | None = None,
    *_args: Any,
    hash_key_conditions: list[tuple[str, DynamoType]] | None = None,
    **_more: Any,
) -> Any:
    """The items that a query may answer, in the form in which its table keeps them."""
    if index_name is not None:
        return {key: _indexed(partition, hash_key_conditions or []) for key, partition in table.items.items()}
    if hash_key is None:
        return table.items
    partition = _compared(table.items.get(hash_key, {}), comparison, operands)
    if limit is not None and start is None:
        # One more than wanted tells that there is more.
        best = heapq.nsmallest if forward else heapq.nlargest
        partition = dict(best(limit + 1, partition.items(), key=lambda pair: _plain(pair[0])))
    return {hash_key: partition}


def _compared(partition: Partition, comparison: str | None, operands: list[DynamoType]) -> Partition:
    if not comparison:
        return partition
    holds = get_comparison_func(comparison)
    values = [operand.cast_value for operand in operands]
    return {key: item for key, item in partition.items() if holds(_plain(key), *values)}


def _plain(key: DynamoType) -> Any:
    # The property costs ten times as much, and for strings says the same.
    return key.value if key.type == "S" else key.cast_value


def _indexed(partition: Partition, conditions: list[tuple[str, DynamoType]]) -> Partition:
    return {
        key: item
        for key, item in partition.items()
        if all(name in item.attrs and item.attrs[name].value == wanted.value for name, wanted in conditions)
    }


def _undo(backend: DynamoDBBackend, write: dict[str, Any]) -> Callable[[], None]:
    """What puts back what stands at the key of one write of a transaction."""
    request = next(iter(write.values()))
    table = backend.tables.get(request.get("TableName", ""))
    key = request.get("Item") or request.get("Key") or {}
    if table is None or table.hash_key_attr not in key or table.range_key_attr not in key:
        return lambda: None  # refused before it writes
    hash_key, range_key = DynamoType(key[table.hash_key_attr]), DynamoType(key[table.range_key_attr])
    standing: Item | None = copy.deepcopy(table.items[hash_key].get(range_key))
    shard = table.stream_shard
    records = len(shard.items) if shard is not None else 0

    def undo() -> None:
        if standing is None:
            table.items[hash_key].pop(range_key, None)
        else:
            table.items[hash_key][range_key] = standing
        if shard is not None:
            del shard.items[records:]

    return undo


def _itself(table: Table, _memo: dict[int, Any]) -> Table:
    return table
