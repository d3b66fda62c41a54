"""The one place where a container's DynamoDB calls are seen, stopped, or robbed of their reply.

It sits between pynamodb's connection and botocore's client, so that no code of the product knows of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from botocore.exceptions import ConnectionClosedError

from baton.bootstrap import Runtime

A = TypeVar("A")
B = TypeVar("B")

Answer = dict[str, Any]
Send = Callable[[], Answer]


class Death(BaseException):
    """The process is gone. No `except Exception` and no `except BotoCoreError` lives to see it."""


class Call(NamedTuple):
    """One DynamoDB call, before botocore's own retries."""

    operation: str
    request: dict[str, Any]

    @property
    def writes(self) -> bool:
        return self.operation in (
            "PutItem",
            "UpdateItem",
            "DeleteItem",
            "TransactWriteItems",
            "BatchWriteItem",
        )

    @property
    def eventual(self) -> bool:
        """A read of a table (not an index) that may be behind."""
        return not self.writes and not self.request.get("ConsistentRead") and "IndexName" not in self.request

    def says(self, type_: str) -> bool:
        """Whether it puts a log item whose body begins with an entry of this type, uncompressed."""
        items = self.request.get("TransactItems", [{"Put": self.request}])
        bodies = [
            item["Put"]["Item"].get("b", {}).get("B", b"") for item in items if "Item" in item.get("Put", {})
        ]
        return any(bytes(body).startswith(f'[["{type_}"'.encode()) for body in bodies)


Watcher = Callable[[Call, Send], Answer]
"""Stands around a call: it may look, wait, raise, or not send at all."""


class Wire:
    """A botocore client whose replies can be lost on the way back, after DynamoDB has done what was asked.

    botocore then does what it does on a broken connection: it sends again.
    """

    def __init__(self, client: Any, *, in_process: bool) -> None:
        self.client = client
        self._losing = threading.local()
        if in_process:
            client.meta.events.register_last("before-send", self._cut)  # moto has answered by now
        else:
            self._send = client._endpoint._send
            client._endpoint._send = self._send_and_cut

    def lose_next_reply(self) -> None:
        """The reply to this thread's next request is lost."""
        self._losing.now = True

    @property
    def lost(self) -> bool:
        """Whether the reply that was to be lost is."""
        return not self._losing.now

    def _send_and_cut(self, request: Any) -> Any:
        answer = self._send(request)
        self._cut(request)
        return answer

    def _cut(self, request: Any, **_: Any) -> None:
        if getattr(self._losing, "now", False):
            self._losing.now = False
            raise ConnectionClosedError(endpoint_url=request.url)


class Seam:
    """Every call of one container, in the order it makes them.

    Calls that the product makes together are made one after the other, so that they can be counted; of two
    `swapped` turns the two round.
    """

    def __init__(self, runtime: Runtime, wire: Wire, *, swapped: bool = False) -> None:
        self.calls: list[Call] = []
        self.watch: Watcher | None = None
        self.interfere: Callable[[Call], None] | None = None
        self.pairs = 0
        """Times that calls were made together of which one writes: where their order shows."""
        self.wire = wire
        self._swapped = swapped
        connection: Any = runtime.dynamo.connection
        connection._client = wire.client
        self._make_api_call = connection._make_api_call
        connection._make_api_call = self._call
        dynamo: Any = runtime.dynamo
        dynamo.together = self._together
        dynamo.begin = _begin
        dynamo.each = _each

    def _call(self, operation: str, request: dict[str, Any]) -> Answer:
        call = Call(operation, request)
        self.calls.append(call)
        if self.interfere is not None:
            self.interfere(call)

        def send() -> Answer:
            answer: Answer = self._make_api_call(operation, request)
            return answer

        return send() if self.watch is None else self.watch(call, send)

    def _together(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        before = len(self.calls)
        try:
            if self._swapped:
                other, mine = _both(second, first)
            else:
                mine, other = _both(first, second)
        finally:
            self.pairs += any(call.writes for call in self.calls[before:])
        return mine, other


def _begin(call: Callable[[], A]) -> Future[A]:
    # What is begun beside is done at once, so that it can be counted. A death of it is the process's.
    begun: Future[A] = Future()
    try:
        begun.set_result(call())
    except Exception as trouble:  # noqa: BLE001 - it is whoever asks for the result that is told
        begun.set_exception(trouble)
    return begun


def _each(calls: Sequence[Callable[[], A]]) -> list[A]:
    # As the real one does: the first error is told when all are done. A death is told at once.
    done: list[A] = []
    troubles: list[Exception] = []
    for call in calls:
        try:
            done.append(call())
        except Exception as trouble:  # noqa: BLE001 - whatever it is
            troubles.append(trouble)
    if troubles:
        raise troubles[0]
    return done


def _both(first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
    # As the real one does: an error of one does not keep the other from happening. A death does.
    try:
        done = first()
    except Exception:
        second()
        raise
    return done, second()
