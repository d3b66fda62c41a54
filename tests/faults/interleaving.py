"""Containers that take turns, call by call: every order in which their DynamoDB calls can meet.

Each actor runs in a thread of its own and stands still before each of its calls until it is let go; only one
moves at a time, so an order that broke something breaks it again. `explore` goes over all orders with few
changes of turn: which is what nearly every race needs.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Any, NamedTuple

from baton.errors import BatonError
from tests.faults.seam import Answer, Call, Send
from tests.faults.world import Container, House, World

STUCK_SECONDS = 60
MAX_TURNS = 400
MAX_STEPS = 2000
SHOWN = 3


class Failed(NamedTuple):
    """An actor's answer was a refusal."""

    error: BatonError


class Actor:
    """One operation in one container, stopped before each call."""

    def __init__(self, name: str, container: Container, act: Callable[[], Any]) -> None:
        self.name = name
        self.result: Any = None
        self.at: Call | None = None
        """The call it stands before; None once it is done."""
        self._act = act
        self._go, self._stopped = Event(), Event()
        self._fault: BaseException | None = None
        container.seam.watch = self._stand
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        self._await()

    def step(self) -> None:
        """Let it make the call it stands before, and go on to the next one."""
        self._stopped.clear()
        self._go.set()
        self._await()

    def finish(self) -> Any:
        """Let it go on to its end, undisturbed: its answer."""
        while self.at is not None:
            self.step()
        return self.result

    def until(self, stop: Callable[[Call], bool]) -> Actor:
        """Let it go on to the next call of a kind, which it has not made then."""
        while self.at is not None and not stop(self.at):
            self.step()
        assert self.at is not None, f"{self.name} never came to that call"
        return self

    def _run(self) -> None:
        try:
            self.result = self._act()
        except BatonError as refused:
            self.result = Failed(refused)
        except BaseException as fault:  # noqa: BLE001 - raised where the actor is stepped
            self._fault = fault
        self.at = None
        self._stopped.set()

    def _stand(self, call: Call, send: Send) -> Answer:
        self.at = call
        self._stopped.set()
        assert self._go.wait(STUCK_SECONDS), f"{self.name} was never let go"
        self._go.clear()
        return send()

    def _await(self) -> None:
        assert self._stopped.wait(STUCK_SECONDS), f"{self.name} is stuck"
        if self._fault is not None:
            raise self._fault


class Race(ABC):
    """What is played in every order. One instance lives through one order."""

    @abstractmethod
    def prepare(self, world: World) -> dict[str, tuple[Container, Callable[[], Any]]]:
        """Set up; the actors by name, each in a container of its own."""

    @abstractmethod
    def verify(self, world: World, results: dict[str, Any]) -> None:
        """Judge the answers, which are `Failed` where they were refusals."""


def explore(race: Callable[[], Race], house: House, *, changes: int = 3) -> int:
    """Play a race in every order with up to `changes` unforced changes of turn; how many orders they were.

    Orders are walked depth first: a prefix of choices, then whoever is at it stays at it.
    """
    prefix: list[str] | None = []
    played = 0
    broken: list[Exception] = []
    while prefix is not None:
        world = World(house)
        played += 1
        trace = _play(race(), world, prefix, changes, broken)
        prefix = _next(trace)
    print(f"{played} orders")
    if broken:
        raise ExceptionGroup(f"{len(broken)} of {played} orders", broken[:SHOWN])
    return played


def stray(race: Callable[[random.Random], Race], house: House, seeds: Sequence[int]) -> int:
    """Play a race in an order by chance for each seed, and as the chance of the seed makes it; how many they
    were. For races whose orders are too many to go over."""
    broken: list[Exception] = []
    for seed in seeds:
        rng, world = random.Random(seed), World(house)
        made = race(rng)
        actors = _actors(made, world)
        steps = 0
        while waiting := [actor for actor in actors.values() if actor.at is not None]:
            assert steps < MAX_STEPS, "they never come to an end"
            rng.choice(waiting).step()
            steps += 1
        try:
            made.verify(world, {name: actor.result for name, actor in actors.items()})
        except Exception as failure:  # noqa: BLE001 - all that broke is told together
            failure.add_note(f"seed: {seed}")
            broken.append(failure)
    print(f"{len(seeds)} orders")
    if broken:
        raise ExceptionGroup(f"{len(broken)} of {len(seeds)} orders", broken[:SHOWN])
    return len(seeds)


def _actors(race: Race, world: World) -> dict[str, Actor]:
    return {name: Actor(name, container, act) for name, (container, act) in race.prepare(world).items()}


class _Choice(NamedTuple):
    taken: str
    untried: list[str]


def _play(
    race: Race, world: World, prefix: list[str], changes: int, broken: list[Exception]
) -> list[_Choice]:
    actors = _actors(race, world)
    trace: list[_Choice] = []
    last = ""
    left = changes
    while waiting := [name for name, actor in actors.items() if actor.at is not None]:
        assert len(trace) < MAX_TURNS, "they never come to an end"
        forced = last not in waiting
        options = waiting if forced else sorted(waiting if left else [last], key=lambda name: name != last)
        taken = prefix[len(trace)] if len(trace) < len(prefix) else options[0]
        trace.append(_Choice(taken, options[options.index(taken) + 1 :]))
        left -= not forced and taken != last
        last = taken
        actors[taken].step()
    try:
        race.verify(world, {name: actor.result for name, actor in actors.items()})
    except Exception as failure:  # noqa: BLE001 - all that broke is told together
        failure.add_note("order: " + " ".join(choice.taken for choice in trace))
        broken.append(failure)
    return trace


def _next(trace: list[_Choice]) -> list[str] | None:
    """The prefix that leads to the next order; None when all have been played."""
    while trace:
        choice = trace.pop()
        if choice.untried:
            return [*(before.taken for before in trace), choice.untried[0]]
    return None
