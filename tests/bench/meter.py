"""Counts what one container asks of DynamoDB: units from its own answers, and round trips in sequence."""

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from baton.store.dynamo import Dynamo
from tests.bench import transactions
from tests.bench.house import Tables
from tests.bench.transactions import Item, Place

A = TypeVar("A")
B = TypeVar("B")

_WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")


@dataclass(frozen=True)
class Call:
    """One DynamoDB call. ``units`` is None where DynamoDB gave none: it answers a refusal without them."""

    operation: str
    request: dict[str, Any]
    units: float | None

    @property
    def writes(self) -> bool:
        return self.operation in _WRITES

    @property
    def unreported(self) -> float:
        """The least that AWS asks for a refused write: one unit for each item, two in a transaction."""
        if self.units is not None or not self.writes:
            return 0
        return 2.0 * len(self.request["TransactItems"]) if self.operation == "TransactWriteItems" else 1.0


@dataclass
class Tally:
    """What was counted in one block: the calls, and the longest chain of them that had to wait for each
    other."""

    calls: list[Call] = field(default_factory=list)
    trips: int = 0

    @property
    def wru(self) -> float:
        return sum(call.units or 0 for call in self.calls if call.writes)

    @property
    def rru(self) -> float:
        return sum(call.units or 0 for call in self.calls if not call.writes)

    @property
    def refused(self) -> int:
        return sum(call.units is None for call in self.calls)

    @property
    def unreported(self) -> float:
        return sum(call.unreported for call in self.calls)

    @property
    def reads(self) -> int:
        return sum(not call.writes for call in self.calls)

    @property
    def puts(self) -> list[dict[str, Any]]:
        """The items put alone."""
        return [call.request["Item"] for call in self.calls if call.operation == "PutItem"]


class Meter:
    """Listens at a container's one door to DynamoDB.

    Chains are counted by structure, not by the clock: of two calls made together only the longer chain
    counts, and one made beside others counts from where it began to where it is waited for, so the number is
    the same on a slow machine.
    """

    def __init__(self, dynamo: Dynamo, tables: Tables) -> None:
        self._tables = tables
        self._tally: Tally | None = None
        self._chain = _Chain()
        self._together, self._each, self._begin = dynamo.together, dynamo.each, dynamo.begin
        dynamo.together = self._side_by_side  # type: ignore[method-assign]
        dynamo.each = self._all_side_by_side  # type: ignore[method-assign]
        dynamo.begin = self._beside  # type: ignore[method-assign]
        events = dynamo.connection.client.meta.events
        events.register("before-parameter-build.dynamodb", self._asked)
        events.register("after-call.dynamodb", self._answered)

    @contextmanager
    def counting(self) -> Iterator[Tally]:
        """Count what this container asks while the block lasts."""
        tally = Tally()
        self._tally, self._chain.length = tally, 0
        try:
            yield tally
        finally:
            self._tally = None
            tally.trips = self._chain.length

    def _asked(self, params: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        if self._tally is not None:
            params["ReturnConsumedCapacity"] = "INDEXES"
            context["bench_request"] = copy.deepcopy(params)
            if model.name == "TransactWriteItems":
                context["bench_before"] = self._standing(params)

    def _answered(self, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        if self._tally is not None and "bench_request" in context:
            self._chain.length += 1
            request, took = context["bench_request"], None
            if model.name != "TransactWriteItems":
                took = units(model.name, request, parsed)
            elif "ConsumedCapacity" in parsed:
                took = self._transaction(request, context["bench_before"], parsed)
            self._tally.calls.append(Call(model.name, request, took))

    def _transaction(self, request: dict[str, Any], before: list[Item | None], answer: dict[str, Any]) -> int:
        """What AWS asks for a transaction; that DynamoDB Local reports just what it makes of it is proved
        with each."""
        after = self._standing(request)
        where = transactions.places(request, self._tables.specs)
        parts = [
            transactions.part(place, self._tables.specs[place.table], was, is_)
            for place, was, is_ in zip(where, before, after, strict=True)
        ]
        expected, reported = transactions.reported(parts), _by_arm(answer)
        if reported != expected:
            raise AssertionError(f"DynamoDB Local reports {reported}, by the formula it is {expected}")
        return sum(each.units for each in parts)

    def _standing(self, request: dict[str, Any]) -> list[Item | None]:
        return [self._item(place) for place in transactions.places(request, self._tables.specs)]

    def _item(self, place: Place) -> Item | None:
        answer = self._tables.client.get_item(TableName=place.table, Key=place.key, ConsistentRead=True)
        return answer.get("Item")

    def _side_by_side(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        with self._longest_of() as measured:
            return self._together(measured(first), measured(second))

    def _all_side_by_side(self, calls: Sequence[Callable[[], A]]) -> list[A]:
        with self._longest_of() as measured:
            return self._each([measured(call) for call in calls])

    @contextmanager
    def _longest_of(self) -> Iterator[Callable[[Callable[[], Any]], Callable[[], Any]]]:
        """Measures branches that go on side by side: the longest counts."""
        before = self._chain.length
        lengths: list[int] = []

        def measured(branch: Callable[[], Any]) -> Callable[[], Any]:
            def run() -> Any:
                self._chain.length = 0
                try:
                    return branch()
                finally:
                    lengths.append(self._chain.length)

            return run

        try:
            yield measured
        finally:
            self._chain.length = before + max(lengths, default=0)

    def _beside(self, call: Callable[[], A]) -> Future[A]:
        began_at, tally = self._chain.length, self._tally
        ended_at = 0

        def measured() -> A:
            nonlocal ended_at
            self._chain.length = began_at
            try:
                return call()
            finally:
                ended_at = self._chain.length

        future = self._begin(measured)
        result = future.result

        def waited_for(timeout: float | None = None) -> A:
            try:
                return result(timeout)
            finally:
                if tally is self._tally:  # one that an earlier request began is no part of this chain
                    self._chain.length = max(self._chain.length, ended_at)

        future.result = waited_for  # type: ignore[method-assign]
        return future


class _Chain(threading.local):
    """How many calls each thread has waited for, one after the other."""

    length = 0


def _by_arm(answer: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """What a transaction reports by table: for the table itself, and for its indexes."""
    return {
        each["TableName"]: (
            each["Table"]["CapacityUnits"],
            sum(index["CapacityUnits"] for index in each.get("GlobalSecondaryIndexes", {}).values()),
        )
        for each in answer["ConsumedCapacity"]
    }


def units(operation: str, request: dict[str, Any], answer: dict[str, Any]) -> float | None:
    """The units that an answer of DynamoDB Local reports of anything but a transaction: a read that finds
    nothing, which it gives away, counts as the least one, and so does each that a batch of reads misses."""
    consumed = answer.get("ConsumedCapacity")
    if consumed is None:
        return None
    parts = consumed if isinstance(consumed, list) else [consumed]
    total = float(sum(part["CapacityUnits"] for part in parts))
    if operation in ("GetItem", "Query"):
        return max(total, 1.0 if request.get("ConsistentRead") else 0.5)
    if operation == "BatchGetItem":
        return total + 0.5 * _missed(request, answer)
    return total


def _missed(request: dict[str, Any], answer: dict[str, Any]) -> int:
    """Keys of a batch of reads, which are eventually consistent here, at which nothing stood."""

    def keys(tables: dict[str, Any]) -> int:
        return sum(len(wanted["Keys"]) for wanted in tables.values())

    found = sum(len(items) for items in answer["Responses"].values())
    return keys(request["RequestItems"]) - keys(answer.get("UnprocessedKeys", {})) - found
