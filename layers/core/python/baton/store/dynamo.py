"""The one door to DynamoDB: reads, conditional writes, and what their refusals mean.

Two refusals are translated. A failed condition is a normal result (``Clash``), with the items that stood in
the way. Throttling, conflicts that last and an unreachable service are ``Unavailable``. Everything else is a
fault.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple, TypeVar

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from pynamodb.attributes import Attribute
from pynamodb.connection import Connection
from pynamodb.connection.base import MetaTable
from pynamodb.exceptions import QueryError
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action
from pynamodb.models import Model

from baton.errors import Unavailable
from baton.store.schema import TableSpec

Raw = dict[str, Any]
"""An item in DynamoDB's own JSON: ``{"k": {"S": "…"}}``."""

A = TypeVar("A")
B = TypeVar("B")

CONFLICT_PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Seconds before a write that met another transaction is tried again, each with full jitter."""

READ_TIMEOUT_SECONDS = 3
TRIES = 3
"""Of one call, so at most some 9 seconds of it: two calls fit in the shortest function's time, and a store
that hangs is told as unavailable rather than the function cut off."""

_CONFLICTS = frozenset(
    {"TransactionConflict", "TransactionConflictException", "TransactionInProgressException"}
)
_BUSY = frozenset(
    {
        "ThrottlingException",
        "ThrottlingError",
        "ProvisionedThroughputExceededException",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "InternalServerError",
        "ServiceUnavailable",
    }
)


class Write(NamedTuple):
    """One conditional write, ready to go alone or within a transaction."""

    kind: str
    request: dict[str, Any]


class Clash(NamedTuple):
    """Conditions failed: for each write whether it did, and the item that stood there (None: none)."""

    failed: tuple[bool, ...]
    existing: tuple[Raw | None, ...]


class Page(NamedTuple):
    """Items of one query call; ``more`` is where the next call goes on."""

    items: list[Raw]
    more: Raw | None


class Dynamo:
    """A connection shared by the tables of one container."""

    def __init__(
        self,
        *,
        region: str,
        endpoint_url: str | None,
        sleep: Callable[[float], None],
        rng: random.Random,
        max_connections: int = 50,
    ) -> None:
        self.connection = Connection(
            region=region,
            host=endpoint_url,
            connect_timeout_seconds=1,
            read_timeout_seconds=READ_TIMEOUT_SECONDS,
            max_pool_connections=max_connections,
            retry_configuration={"total_max_attempts": TRIES, "mode": "standard"},
        )
        self._sleep = sleep
        self._rng = rng
        self._described: set[str] = set()
        self._pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="dynamo")
        self._many = ThreadPoolExecutor(max_workers=8, thread_name_prefix="dynamo-many")
        self._aside = ThreadPoolExecutor(max_workers=2, thread_name_prefix="dynamo-aside")

    def connect(self) -> None:
        """Make the client now. Left to the first request it takes that one's time: at a container's start
        Lambda gives a whole processor, later only what the function's memory buys."""
        _ = self.connection.client

    def client(self, service: str, region: str) -> Any:
        """The client of another service, made by the session of this one's: a new session would cost a
        container's start a quarter of a second, this a few milliseconds. Patient: for what is needed."""
        config = Config(
            connect_timeout=1, read_timeout=READ_TIMEOUT_SECONDS, retries={"total_max_attempts": TRIES}
        )
        return self.connection.session.create_client(service, region_name=region, config=config)

    def describe(self, spec: TableSpec, name: str) -> None:
        """Tell the connection what a table's keys are. Several stores may share one."""
        if name not in self._described:
            self._described.add(name)
            self.connection.add_meta_table(MetaTable(_meta(spec, name)))

    def together(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """Both calls at once: one round trip's time for two that do not need each other."""
        later = self._pool.submit(second)
        try:
            mine = first()
        finally:
            other = later.exception()
        if other is not None:
            raise other
        return mine, later.result()

    def each(self, calls: Sequence[Callable[[], A]]) -> list[A]:
        """All calls, several at once, in a pool of their own: they may use ``together``, but not this. The
        first that failed is raised when all are done."""
        if len(calls) == 1:
            return [calls[0]()]
        under_way = [self._many.submit(call) for call in calls]
        wait(under_way)
        return [each.result() for each in under_way]

    def begin(self, call: Callable[[], A]) -> Future[A]:
        """The call, under way beside the caller's own."""
        return self._aside.submit(call)

    def pause(self) -> None:
        """Stand back a little before asking for what a batch left over."""
        self._sleep(CONFLICT_PAUSES[-1] * self._rng.random())

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """One DynamoDB call. Raises Unavailable when it should be tried again, ClientError on anything
        else."""
        try:
            return self.connection.dispatch(operation, request)
        except ClientError as exc:
            if _code(exc) in _BUSY | _CONFLICTS:
                raise Unavailable("the store is busy") from exc
            raise
        except BotoCoreError as exc:
            raise Unavailable("the store can't be reached") from exc

    def write(self, *writes: Write) -> Clash | None:
        """All writes or none: None when applied, the Clash when conditions failed. A conflict with another
        transaction is tried again on the same items; Unavailable when it lasts (the outcome is then
        unknown)."""
        for pause in (*CONFLICT_PAUSES, None):
            try:
                self._send(writes)
                return None
            except ClientError as exc:
                clash = _clash(exc, len(writes))
                if clash is not None:
                    return clash
                if _busy(exc):
                    raise Unavailable("the store is busy") from exc
                if not _conflicted(exc):
                    raise
                if pause is None:
                    raise Unavailable("the store is busy with these items") from exc
            except BotoCoreError as exc:
                raise Unavailable("the store can't be reached") from exc
            self._sleep(pause * self._rng.random())
        raise AssertionError("unreachable")

    def changed(self, update: Write) -> Raw:
        """Make an update that has no condition; the attributes that it changed, as they are now. Raises
        Unavailable, and the outcome is then unknown."""
        answer = self.call("UpdateItem", {**update.request, "ReturnValues": "UPDATED_NEW"})
        changed: Raw = answer["Attributes"]
        return changed

    def _send(self, writes: Sequence[Write]) -> None:
        if len(writes) == 1:
            self.connection.dispatch(f"{writes[0].kind}Item", writes[0].request)
        else:
            items = [{write.kind: write.request} for write in writes]
            self.connection.dispatch("TransactWriteItems", {"TransactItems": items})


class Table:
    """One table by the name it has here."""

    def __init__(self, dynamo: Dynamo, spec: TableSpec, name: str) -> None:
        self._dynamo = dynamo
        self.name = name
        self._spec = spec
        dynamo.describe(spec, name)

    def get(self, key: str, sort: str, *, consistent: bool) -> Raw | None:
        """The item, or None."""
        request = {"TableName": self.name, "Key": self._key(key, sort), "ConsistentRead": consistent}
        found: Raw | None = self._dynamo.call("GetItem", request).get("Item")
        return found

    def get_many(self, keys: Sequence[tuple[str, str]]) -> list[Raw]:
        """Those of up to 100 items that exist, in no order. Eventually consistent."""
        wanted = [self._key(key, sort) for key, sort in keys]
        found: list[Raw] = []
        while wanted:
            answer = self._dynamo.call("BatchGetItem", {"RequestItems": {self.name: {"Keys": wanted}}})
            found += answer["Responses"].get(self.name, [])
            wanted = answer.get("UnprocessedKeys", {}).get(self.name, {}).get("Keys", [])
            if wanted:
                self._dynamo.pause()
        return found

    def query(
        self,
        key: str,
        where: Condition | None = None,
        *,
        index: str | None = None,
        consistent: bool = False,
        forward: bool = True,
        limit: int | None = None,
        start: Raw | None = None,
    ) -> Page:
        """One call's worth of items under ``key``, in the order of the sort key."""
        try:
            answer = self._dynamo.connection.query(
                self.name,
                key,
                range_key_condition=where,
                consistent_read=consistent,
                exclusive_start_key=start,
                index_name=index,
                limit=limit,
                scan_index_forward=forward,
            )
        except QueryError as exc:
            if isinstance(exc.cause, ClientError) and not _busy(exc.cause):
                raise exc.cause from exc
            raise Unavailable("the store can't answer now") from exc
        return Page(answer["Items"], answer.get("LastEvaluatedKey"))

    def query_all(
        self, key: str, where: Condition | None = None, *, consistent: bool = False
    ) -> Iterator[Raw]:
        """Every item under ``key``, page by page."""
        start: Raw | None = None
        while True:
            page = self.query(key, where, consistent=consistent, start=start)
            yield from page.items
            if page.more is None:
                return
            start = page.more

    def put(self, item: Model, condition: Condition | None = None) -> Write:
        """Write the whole item."""
        attributes = item.serialize()
        key = attributes.pop(self._spec.hash_key.name)["S"]
        sort = attributes.pop(self._spec.range_key.name)["S"]
        return Write("Put", self._request(key, sort, "Item", condition, attributes=attributes))

    def update(
        self, key: str, sort: str, actions: Sequence[Action], condition: Condition | None = None
    ) -> Write:
        """Change some attributes of an item."""
        return Write("Update", self._request(key, sort, "Key", condition, actions=actions))

    def delete(self, key: str, sort: str, condition: Condition | None = None) -> Write:
        """Remove an item."""
        return Write("Delete", self._request(key, sort, "Key", condition))

    def delete_many(self, keys: Sequence[tuple[str, str]]) -> None:
        """Remove up to 25 items without condition."""
        requests = [{"DeleteRequest": {"Key": self._key(key, sort)}} for key, sort in keys]
        while requests:
            answer = self._dynamo.call("BatchWriteItem", {"RequestItems": {self.name: requests}})
            requests = answer.get("UnprocessedItems", {}).get(self.name, [])
            if requests:
                self._dynamo.pause()

    def _request(
        self, key: str, sort: str, part: str, condition: Condition | None, **parts: Any
    ) -> dict[str, Any]:
        return self._dynamo.connection.get_operation_kwargs(
            self.name,
            key,
            range_key=sort,
            key=part,
            condition=condition,
            return_values_on_condition_failure=None if condition is None else "ALL_OLD",
            **parts,
        )

    def _key(self, key: str, sort: str) -> Raw:
        return {self._spec.hash_key.name: {"S": key}, self._spec.range_key.name: {"S": sort}}


def changes(
    before: Mapping[str, Any], after: Mapping[str, Any], attributes: Mapping[str, Attribute[Any]]
) -> list[Action]:
    """The update that turns one serialized item into the other, attribute by attribute: what a newer version
    of the code keeps beside them is left alone."""
    actions: list[Action] = []
    for attribute in attributes.values():
        name = attribute.attr_name
        if before.get(name) == after.get(name):
            continue
        if name in after:
            actions.append(attribute.set(after[name]))
        else:
            actions.append(attribute.remove())
    return actions


def _meta(spec: TableSpec, name: str) -> dict[str, Any]:
    def schema(hash_key: str, range_key: str) -> list[dict[str, str]]:
        return [
            {"AttributeName": hash_key, "KeyType": "HASH"},
            {"AttributeName": range_key, "KeyType": "RANGE"},
        ]

    return {
        "TableName": name,
        "KeySchema": schema(spec.hash_key.name, spec.range_key.name),
        "AttributeDefinitions": [
            {"AttributeName": key.name, "AttributeType": key.type} for key in spec.attributes
        ],
        "GlobalSecondaryIndexes": [
            {"IndexName": index.name, "KeySchema": schema(index.hash_key.name, index.range_key.name)}
            for index in spec.indexes
        ],
        "LocalSecondaryIndexes": [],
    }


def _code(exc: ClientError) -> str:
    code: str = exc.response.get("Error", {}).get("Code", "")
    return code


def _response(exc: ClientError) -> Mapping[str, Any]:
    """The full answer: pynamodb keeps only its error part and chains the original."""
    cause = exc.__cause__
    return cause.response if isinstance(cause, ClientError) else exc.response


def _reasons(exc: ClientError) -> list[Mapping[str, Any]]:
    reasons: list[Mapping[str, Any]] = _response(exc).get("CancellationReasons", [])
    return reasons


def _clash(exc: ClientError, count: int) -> Clash | None:
    if _code(exc) == "ConditionalCheckFailedException":
        return Clash((True,), (_response(exc).get("Item"),))
    reasons = _reasons(exc)
    failed = tuple(reason.get("Code") == "ConditionalCheckFailed" for reason in reasons)
    if len(failed) != count or not any(failed):
        return None
    return Clash(failed, tuple(reason.get("Item") for reason in reasons))


def _conflicted(exc: ClientError) -> bool:
    return _code(exc) in _CONFLICTS or any(reason.get("Code") in _CONFLICTS for reason in _reasons(exc))


def _busy(exc: ClientError) -> bool:
    return _code(exc) in _BUSY or any(reason.get("Code") in _BUSY for reason in _reasons(exc))
