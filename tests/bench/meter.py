"""Counts what one container asks of DynamoDB: units from its own answers, and round trips in sequence."""

import copy
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from baton.store.dynamo import Dynamo

A = TypeVar("A")
B = TypeVar("B")

LOCAL_TRANSACTION_FACTOR = 2
"""DynamoDB Local reports a transaction's writes at this many times the units that AWS asks for them."""

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
    counts, so the number is the same on a slow machine.
    """

    def __init__(self, dynamo: Dynamo) -> None:
        self._tally: Tally | None = None
        self._chain = threading.local()
        self._together = dynamo.together
        dynamo.together = self._side_by_side  # type: ignore[method-assign]
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

    def _asked(self, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        if self._tally is not None:
            context["bench_request"] = copy.deepcopy(params)

    def _answered(self, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        if self._tally is not None:
            self._chain.length += 1
            request = context["bench_request"]
            call = Call(model.name, request, units(model.name, request, parsed))
            self._tally.calls.append(call)

    def _side_by_side(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        before = getattr(self._chain, "length", 0)
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
            return self._together(measured(first), measured(second))
        finally:
            self._chain.length = before + max(lengths, default=0)


def units(operation: str, request: dict[str, Any], answer: dict[str, Any]) -> float | None:
    """The units that an answer of DynamoDB Local reports, corrected to the AWS formula: it doubles a
    transaction's writes, and gives a read that finds nothing away for nothing."""
    consumed = answer.get("ConsumedCapacity")
    if consumed is None:
        return None
    parts = consumed if isinstance(consumed, list) else [consumed]
    total = float(sum(part["CapacityUnits"] for part in parts))
    if operation == "TransactWriteItems":
        return total / LOCAL_TRANSACTION_FACTOR
    if operation in ("GetItem", "Query"):
        return max(total, 1.0 if request.get("ConsistentRead") else 0.5)
    return total
