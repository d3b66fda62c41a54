"""Handlers beside the bare calls they contain: what a container sent to DynamoDB is sent again, request by
request, by a plain boto3 client to a second set of tables. Both are measured in turns, in one process."""

import statistics
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from baton.bootstrap import SystemClock
from infra.local.events import HttpAnswer, answer_of
from tests.bench.house import NAMESPACE, Container, Request, Tables, renamed
from tests.bench.streaming import Told

A = TypeVar("A")

Scene = Callable[["Players"], Generator[Request, HttpAnswer | None, None]]
"""Yields the requests to measure and is sent their answers; what it asks the players itself is no part."""


class Spent(NamedTuple):
    """Seconds of this process's processors, and of the clock."""

    cpu: float
    wall: float

    def __add__(self, other: tuple[Any, ...]) -> "Spent":
        return Spent(self.cpu + other[0], self.wall + other[1])


NOTHING = Spent(0, 0)


class _Stopwatch:
    """Measures from its making."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stop(self) -> Spent:
        return Spent(time.process_time() - self._cpu, time.perf_counter() - self._wall)


class Asked(NamedTuple):
    """A request to DynamoDB, and whether it was within a measured invocation."""

    measured: bool
    operation: str
    request: dict[str, Any]


@dataclass(frozen=True)
class Block:
    """Some invocations and their replay, in sum."""

    invocations: int
    calls: int
    handler: Spent
    bare: Spent


class Players:
    """Containers that take turns, all they ask of DynamoDB written down."""

    def __init__(self, tables: Tables, clock: SystemClock, turns: int) -> None:
        self.turns = turns
        self.told = Told(tables)
        self._containers = [Container(tables, clock) for _ in range(turns)]
        self._turn = 0
        self._measured = False
        self._made: dict[Any, Any] = {}
        self.asked: list[Asked] = []
        for container in self._containers:
            events = container.runtime.dynamo.connection.client.meta.events
            events.register("before-parameter-build.dynamodb", self._record)

    def send(self, request: Request) -> HttpAnswer:
        """An answer that is not measured."""
        return self._next().send(request)

    def once(self, name: Any, make: Callable[[], A]) -> A:
        """What was made under that name, the first time now: what a scene needs and does not change."""
        if name not in self._made:
            self._made[name] = make()
        made: A = self._made[name]
        return made

    def refresh(self) -> None:
        """Have every container read the catalog now."""
        for container in self._containers:
            container.runtime.catalog.snapshot(NAMESPACE, fresh=True)

    def measure(self, request: Request) -> tuple[HttpAnswer | None, Spent]:
        """An answer, and what the handler spent on it."""
        container = self._next()
        event = container.event(request)
        self._measured = True
        stopwatch = _Stopwatch()
        result = container.invoke(request.function, event)
        spent = stopwatch.stop()
        self._measured = False
        if not request.method:
            return None, spent
        answer = answer_of(result)
        assert answer.status < 400, f"{request.method} {request.path}: {answer.status} {answer.body!r}"
        return answer, spent

    def _next(self) -> Container:
        self._turn = (self._turn + 1) % self.turns
        return self._containers[self._turn]

    def _record(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.asked.append(Asked(self._measured, model.name, params))


class Theatre:
    """Two identical sets of tables: one the handlers', one the plain client's."""

    def __init__(self, endpoint: str) -> None:
        self.tables = Tables(endpoint)
        self._twin = Tables(endpoint)

    def block(self, players: Players, scene: Scene) -> Block:
        """Play the scene, then replay what was asked in it."""
        handler, invocations = NOTHING, 0
        script = scene(players)
        request = next(script, None)
        while request is not None:
            answer, spent = players.measure(request)
            handler, invocations = handler + spent, invocations + 1
            try:
                request = script.send(answer)
            except StopIteration:
                break
        asked, players.asked = players.asked, []
        return Block(invocations, sum(each.measured for each in asked), handler, self._replay(asked))

    def _replay(self, asked: Sequence[Asked]) -> Spent:
        names = {self.tables.names[role]: self._twin.names[role] for role in self.tables.names}
        bare = NOTHING
        for each in asked:
            request = renamed(each.request, names)
            stopwatch = _Stopwatch()
            self._twin.replay(each.operation, request)
            spent = stopwatch.stop()
            if each.measured:
                bare += spent
        return bare


def middle(blocks: Sequence[Block], of: Callable[[Block], float]) -> float:
    """The median over blocks."""
    return statistics.median(map(of, blocks))
