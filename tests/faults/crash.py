"""A process that dies around its n-th DynamoDB call, and everything that follows from it.

`points` runs an operation whole to count its calls, then yields it once for every call and `Mode`. `suffer`
plays one point: fresh tables, set-up, the fault, recovery, and the invariants.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from enum import Enum
from itertools import islice
from typing import Any, NamedTuple

from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from baton.errors import Unavailable
from tests.faults import invariants
from tests.faults.seam import Answer, Call, Death, Send, Wire
from tests.faults.world import Container, House, World

SHOWN = 5
RECOVERY_SWEEPS = 2
RECOVERY_SECONDS = 2 * 86_400
"""Longer than any watchdog, grace and purge delay of a scenario: after it nothing may be left to do."""


class Mode(Enum):
    """What happens at the call. UNSENT and UNHEARD are what botocore raises once its retries are used up."""

    BEFORE = "the process dies before it"
    AFTER = "the process dies after it"
    LOST = "it is applied, its reply lost, and botocore sends it again"
    UNSENT = "the store can't be reached"
    UNHEARD = "it is applied, and no reply ever comes"
    CONFLICT = "another transaction is at its items"

    @property
    def fatal(self) -> bool:
        """Whether the container dies of it."""
        return self in (Mode.BEFORE, Mode.AFTER)


class CrashPlan:
    """A watcher that makes the `at`-th call (from 0) go wrong. A container that died of it stays dead."""

    def __init__(self, at: int, mode: Mode, wire: Wire) -> None:
        self.struck: Call | None = None
        self._at = at
        self._mode = mode
        self._wire = wire
        self._seen = -1

    def __call__(self, call: Call, send: Send) -> Answer:
        if self.struck is not None and self._mode.fatal:
            raise Death
        self._seen += 1
        if self._seen != self._at:
            return send()
        self.struck = call
        if self._mode is Mode.CONFLICT:
            return self._refuse(call, send)
        if self._mode is Mode.LOST:
            self._wire.lose_next_reply()
            answer = send()
            assert self._wire.lost, "the reply came after all"
            return answer
        if self._mode in (Mode.AFTER, Mode.UNHEARD):
            try:
                send()
            finally:
                self._end(call)
        return self._end(call)

    def _refuse(self, call: Call, send: Send) -> Answer:
        if not call.writes:
            return send()  # a read of one item waits for nobody
        error: Any = {"Error": {"Code": "TransactionConflictException"}}
        if "TransactItems" in call.request:
            reasons = [{"Code": "TransactionConflict"}] * len(call.request["TransactItems"])
            error = {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": reasons}
        raise ClientError(error, call.operation)

    def _end(self, call: Call) -> Answer:
        if self._mode is Mode.UNSENT:
            raise EndpointConnectionError(endpoint_url=call.operation)
        if self._mode is Mode.UNHEARD:
            raise ReadTimeoutError(endpoint_url=call.operation)
        raise Death


class Scenario:
    """An operation to break. One instance lives through one point.

    `prepare` sets up and gives the container the operation runs in; `act` is the operation, and again its
    retry, so that it must not change what it sends; `verify` judges the answer the client has in the end.
    """

    world: World
    at_once = True
    """Whether an answer means that all is done; a sweep's leaves what was in trouble to the next one."""

    def prepare(self, world: World) -> Container:
        raise NotImplementedError

    def act(self, container: Container) -> Any:
        raise NotImplementedError

    def verify(self, answer: Any) -> None:
        """Anything beyond the invariants; `answer` is that of the request that came through."""

    def verify_once(self) -> None:
        """What costs too much to be looked at after each answer."""

    def verify_unretried(self) -> None:
        """Anything that must hold although the client never came back."""


class Point(NamedTuple):
    """One fault of one scenario. `swapped`: of two calls made together the second goes first."""

    name: str
    scenario: Callable[[], Scenario]
    at: int
    mode: Mode
    swapped: bool
    retried: bool
    thorough: bool
    """Whether all is read as a stranger would, sent once more, and left until nothing is due."""

    def __str__(self) -> str:
        order = ", pairs swapped" if self.swapped else ""
        return (
            f"{self.name}, call {self.at}{order}: {self.mode.value}, {'retried' if self.retried else 'left'}"
        )


def points(
    name: str, scenario: Callable[[], Scenario], house: House, *, rest: bool = False
) -> Iterator[Point]:
    """The points of a scenario; what a dead process left is also looked at without a retry.

    They are those that leave something different behind: a death between two writes is the same wherever it
    is between them, and so is a reply that is lost to a reader. The `rest` are all others, so that with both
    every call has been played in every mode.
    """
    straight, pairs = _count(scenario, house, swapped=False)
    orders = [(False, straight)] + ([(True, _count(scenario, house, swapped=True)[0])] if pairs else [])
    for swapped, calls in orders:
        for at, call in enumerate(calls):
            for mode in Mode:
                if mode is Mode.CONFLICT and not call.writes:
                    continue
                if _differs(at, call, mode) is not rest:
                    yield Point(name, scenario, at, mode, swapped, True, mode is Mode.AFTER)
                if mode.fatal and (call.writes and mode is Mode.AFTER) is not rest:
                    yield Point(name, scenario, at, mode, swapped, False, False)


def _differs(at: int, call: Call, mode: Mode) -> bool:
    if mode in (Mode.BEFORE, Mode.UNSENT) and at == 0:
        return True
    return call.writes and mode is not Mode.BEFORE


def suffer(point: Point, house: House) -> None:
    """Play one point. AssertionError says what broke."""
    world = World(house, swapped=point.swapped)
    scenario = point.scenario()
    scenario.world = world
    container = scenario.prepare(world)
    plan = CrashPlan(point.at, point.mode, house.wire)
    container.seam.watch = plan
    answer, survived = _strike(scenario, container)
    container.seam.watch = None
    assert survived or point.mode is not Mode.CONFLICT, "it gave up on a conflict that passed"
    assert plan.struck is not None, "the operation made fewer calls than when it was counted"
    invariants.check(world)
    # A dead process is replaced, one that lost the store goes on with all it remembers.
    successor = world.container() if point.mode.fatal else container
    if point.retried:
        answer = answer if survived and scenario.at_once else scenario.act(successor)
        scenario.verify(answer)
        if point.thorough:
            scenario.verify(scenario.act(successor))
            scenario.verify_once()
    else:
        scenario.verify_unretried()
    invariants.check(world, as_read=point.thorough)
    if point.thorough or not point.retried:
        settle_down(world)


def settle_down(world: World) -> None:
    """Let the clock's functions do all that is left, and find nothing more to do."""
    runtime = world.container().runtime
    for _ in range(RECOVERY_SWEEPS):
        world.clock.advance(RECOVERY_SECONDS)
        healed, swept = runtime.heal.run(), runtime.sweep.run()
        assert not healed.failed, healed
        assert not swept.failed, swept
    assert runtime.heal.run().works == 0
    invariants.check(world)
    invariants.check_quiet(world)


def _strike(scenario: Scenario, container: Container) -> tuple[Any, bool]:
    """The operation's answer and whether it gave one, dying, failing or not."""
    try:
        return scenario.act(container), True
    except (Death, Unavailable):
        return None, False


def _count(scenario: Callable[[], Scenario], house: House, *, swapped: bool) -> tuple[list[Call], int]:
    world = World(house, swapped=swapped)
    whole = scenario()
    whole.world = world
    container = whole.prepare(world)
    before, pairs = len(container.seam.calls), container.seam.pairs
    answer = whole.act(container)
    counted = container.seam.calls[before:], container.seam.pairs - pairs
    whole.verify(answer)
    invariants.check(world, as_read=True)
    return counted


def survive(
    name: str, scenario: Callable[[], Scenario], house: House, *, rest: bool = False, every: int = 1
) -> int:
    """Play the points of a scenario, or `every` so-manieth of them, which begin elsewhere for each scenario:
    how many they were. Those that broke come as one ExceptionGroup."""
    broken: list[Exception] = []
    played, first = 0, zlib.crc32(name.encode()) % every
    for point in islice(points(name, scenario, house, rest=rest), first, None, every):
        played += 1
        try:
            suffer(point, house)
        except Exception as failure:  # noqa: BLE001 - all that broke is told together
            failure.add_note(str(point))
            broken.append(failure)
    print(f"{name}: {played} points")
    if broken:
        raise ExceptionGroup(f"{len(broken)} of {played} points of {name!r}", broken[:SHOWN])
    return played
