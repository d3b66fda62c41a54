"""The catalog: which workflows are registered in a namespace, and who is to be started by what.

It knows expressions as text alone: what starts, speaks and finishes must not pay for reading them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from enum import StrEnum
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from baton.domain import names
from baton.domain.clock import Millis
from baton.domain.states import State
from baton.errors import InvalidRequest

MAX_SUBSCRIBERS = 64
"""Of one event. Whom a settled run owes must fit into one item, and into one transaction."""
MAX_SUBSCRIPTIONS = 64
"""Of one workflow: registering writes one heal item for each."""
DEFAULT_MAX_SIZE = 100
MAX_DOUBLINGS = 30
"""Beyond it a pause has long been the longest."""
DEFAULT_MAX_WAIT_WINDOWS = 10

BATONS_OWN = "run."
_COMPLETED = "run.completed:"
_FAILED = "run.failed:"


class Subscription(msgspec.Struct, frozen=True):
    """A wish to be started by an event: where its payload satisfies ``where``, with what ``input`` makes of
    it (None: with any, with the payload itself)."""

    event: str
    where: str | None = None
    input: str | None = None


class BatchMode(StrEnum):
    """What a coalescing subscriber gets of a window's inputs: the last, or all."""

    DEBOUNCE = "debounce"
    BATCH = "batch"


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """How a subscriber's inputs are put together. ``key`` is the expression that tells one window from
    another. A debouncing window ends once quiet for ``window_seconds``, at the latest after
    ``max_wait_seconds``; a batching one after ``window_seconds``, or with ``max_size`` inputs."""

    mode: BatchMode
    window_seconds: float
    key: str | None = None
    max_size: int = DEFAULT_MAX_SIZE
    max_wait_seconds: float = 0
    """0: as many windows as is usual. What is registered says the seconds."""

    def settled(self) -> Batch:
        """With its defaults as they apply."""
        longest = self.max_wait_seconds or DEFAULT_MAX_WAIT_WINDOWS * self.window_seconds
        return replace(self, max_wait_seconds=longest)


class Backoff(msgspec.Struct, frozen=True):
    """How long a run waits after a failure before it may be claimed again: at random, up to ``base_seconds``
    after the first, up to twice as long after each further one, up to ``max_seconds`` at the most."""

    base_seconds: float = 1
    max_seconds: float = 300

    def pause(self, failures: int) -> float:
        """The longest pause after so many failures, in seconds. Source: "full jitter" in "Exponential Backoff
        And Jitter", AWS Architecture Blog."""
        return min(self.max_seconds, self.base_seconds * 2.0 ** min(failures - 1, MAX_DOUBLINGS))


DEFAULT_BACKOFF = Backoff()


class TargetKind(StrEnum):
    """Who performs a workflow's queued runs: whoever claims them, or a resource they are pushed to."""

    WORKER = "worker"
    LAMBDA = "lambda"
    SQS = "sqs"
    EVENTBRIDGE = "eventbridge"


class Target(msgspec.Struct, frozen=True):
    """Where a workflow's queued runs go. ``arn`` names the resource; a worker's has none."""

    kind: TargetKind
    arn: str | None = None


BY_WORKERS = Target(TargetKind.WORKER)


class Announced(msgspec.Struct, frozen=True):
    """What workers say of a workflow that they serve. It counts ``until`` then, which is put off while any of
    them lives. ``subscribes`` None: nothing was said about that."""

    until: Millis
    subscribes: tuple[Subscription, ...] | None = None


class Workflow(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow of the catalog. ``rev`` marks its last write.

    ``declares``: whoever registered it said what it subscribes to, if only to nothing, which outranks what
    workers announce. ``registered`` false: workers alone know of it. The settings are those of its runs that
    ask for no other; None: the deployment's.
    """

    namespace: str
    name: str
    description: str | None = None
    target: Target | None = None
    subscribes: tuple[Subscription, ...] = ()
    declares: bool = False
    batch: Batch | None = None
    inactivity_timeout_seconds: float | None = None
    max_attempts: int | None = None
    backoff: Backoff | None = None
    retention_seconds: float | None = None
    registered: bool = True
    announced: Announced | None = None
    created_at: Millis
    updated_at: Millis
    rev: str

    def at(self, now: Millis) -> Workflow | None:
        """It as it counts at a time: performed by workers and started by what they announced, where nothing
        registered outranks that; None once nobody is left who says that there is such a workflow."""
        said = self.announced
        if said is None:
            return self
        if said.until <= now:
            over = replace(self, announced=None, updated_at=max(self.updated_at, said.until))
            return over if self.registered else None
        subscribes = self.subscribes if self.declares else said.subscribes or ()
        return replace(self, target=self.target or BY_WORKERS, subscribes=subscribes)

    def says_the_same(self, other: Workflow) -> bool:
        """Whether both register the same thing, whenever they did."""
        return self == replace(other, created_at=self.created_at, updated_at=self.updated_at, rev=self.rev)

    def subscriptions_to(self, event: str) -> tuple[Subscription, ...]:
        """Those to one event, in order of declaration: the first that accepts counts."""
        return tuple(wish for wish in self.subscribes if wish.event == event)

    @property
    def events(self) -> tuple[str, ...]:
        """What it subscribes to, each event once."""
        return tuple(dict.fromkeys(wish.event for wish in self.subscribes))


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """An edge of the graph: ``workflow`` is started by ``event``. ``announced``: by a worker's word."""

    workflow: str
    event: str
    where: str | None = None
    input: str | None = None
    batch: Batch | None = None
    announced: bool = False


class Snapshot:
    """A namespace's catalog as it was at ``read_at``: what is registered, and what workers announced so far
    as it counted then. Never changes. ``revision`` is that of the catalog when the reading began."""

    def __init__(
        self, *, namespace: str, read_at: Millis, workflows: Iterable[Workflow] = (), revision: int = 0
    ) -> None:
        self.namespace = namespace
        self.read_at = read_at
        self.revision = revision
        self._rows = tuple(workflows)
        counting = (row.at(read_at) for row in self._rows)
        by_name = {workflow.name: workflow for workflow in counting if workflow is not None}
        self._lapse_at = min(
            (each.announced.until for each in by_name.values() if each.announced is not None), default=None
        )
        self.workflows: Mapping[str, Workflow] = MappingProxyType(dict(sorted(by_name.items())))
        subscribers: dict[str, list[str]] = {}
        for workflow in self.workflows.values():
            for event in workflow.events:
                subscribers.setdefault(event, []).append(workflow.name)
        self._subscribers = {event: tuple(found) for event, found in subscribers.items()}

    def still(self, read_at: Millis) -> Snapshot:
        """This, found unchanged at ``read_at``, but for what has ceased to count by then."""
        if self._lapse_at is not None and self._lapse_at <= read_at:
            return Snapshot(
                namespace=self.namespace, read_at=read_at, workflows=self._rows, revision=self.revision
            )
        found = copy(self)
        found.read_at = read_at
        return found

    def workflow(self, name: str) -> Workflow | None:
        """The workflow of that name, registered or announced."""
        return self.workflows.get(name)

    def backoff(self, workflow: str) -> Backoff:
        """How long its runs wait after a failure."""
        registered = self.workflows.get(workflow)
        return (registered and registered.backoff) or DEFAULT_BACKOFF

    def subscribers_of(self, event: str) -> tuple[str, ...]:
        """The workflows that subscribe to ``event``, sorted by name."""
        return self._subscribers.get(event, ())

    def links(self, event: str, subscriber: str) -> tuple[Subscription, ...]:
        """The subscriptions of ``subscriber`` to ``event``, in order of declaration."""
        workflow = self.workflows.get(subscriber)
        return () if workflow is None else workflow.subscriptions_to(event)

    def edges_from(self, event: str) -> tuple[Link, ...]:
        """Whom ``event`` starts: by name, then in order of declaration."""
        return tuple(
            edge for name in self.subscribers_of(event) for edge in self.edges_to(name) if edge.event == event
        )

    def edges_to(self, name: str) -> tuple[Link, ...]:
        """What starts the workflow ``name``, in order of declaration."""
        workflow = self.workflows.get(name)
        if workflow is None:
            return ()
        announced = workflow.announced is not None and not workflow.declares
        return tuple(
            Link(
                workflow=name,
                event=wish.event,
                where=wish.where,
                input=wish.input,
                batch=workflow.batch,
                announced=announced,
            )
            for wish in workflow.subscribes
        )


class HealWork(msgspec.Struct, frozen=True, kw_only=True):
    """What is left to do about a subscription that came a moment late: runs whose ``event`` happened from
    ``since`` on may not know of it.

    ``changed_at`` is when the catalog last changed so; ``pass_began`` when the pass under way began, and
    ``cursor`` where it stands. ``rev`` marks the last write.
    """

    namespace: str
    event: str
    since: Millis
    changed_at: Millis
    rev: str
    pass_began: Millis | None = None
    cursor: str | None = None


def ending(state: State, workflow: str) -> str:
    """The event that a run of ``workflow`` publishes when it settles in ``state``."""
    return (_COMPLETED if state is State.COMPLETED else _FAILED) + workflow


def endings(workflow: str) -> tuple[str, str]:
    """Both events that runs of ``workflow`` may publish."""
    return _COMPLETED + workflow, _FAILED + workflow


def workflow_of(event: str) -> str | None:
    """The workflow whose ending ``event`` is; None when it is no ending."""
    for prefix in (_COMPLETED, _FAILED):
        if event.startswith(prefix):
            return event.removeprefix(prefix)
    return None


def check_event(event: str, loc: list[str | int]) -> None:
    """Raise InvalidRequest at ``loc`` unless ``event`` can happen: an ending of a workflow that publishes, or
    a custom event."""
    workflow = workflow_of(event)
    if workflow is not None:
        if not names.matches(names.WORKFLOW, workflow):  # as are the reserved ones, which publish nothing
            raise InvalidRequest.at(loc, f"{workflow[:160]!r} can't be the name of a workflow that publishes")
    elif event.startswith(BATONS_OWN):
        raise InvalidRequest.at(
            loc, f"of Baton's own events only '{_COMPLETED}<workflow>' and '{_FAILED}<workflow>' start runs"
        )
    elif not names.matches(names.EVENT, event):
        raise InvalidRequest.at(loc, f"must match {names.EVENT}")
