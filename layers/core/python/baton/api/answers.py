"""What answers say. A run carries every field always: null, ``[]``, 0 or false where empty."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from baton.domain.catalog import BatchMode, TargetKind
from baton.domain.states import Mode, State

Time = Annotated[
    str, Meta(description="RFC 3339, UTC, milliseconds.", extra_json_schema={"format": "date-time"})
]
Json = Annotated[Raw, Meta(description="Any JSON.")]


class CancelRequested(Struct, frozen=True):
    """A latched intent to cancel."""

    at: Time
    reason: str | None


class LeaseHeld(Struct, frozen=True):
    """Who drives the run, and until when unless renewed."""

    worker_id: str
    expires_at: Time


class TriggeredBy(Struct, frozen=True):
    """The ending that started the run."""

    run_id: str
    workflow: str
    event: str
    attempt: int


class Run(Struct, frozen=True, kw_only=True):
    """A run. ``input``, ``output`` and ``next_offset`` are null in lists."""

    id: str
    namespace: str
    workflow: str
    state: State
    attempt: int
    mode: Mode
    context_ref: str | None
    agent_id: str | None
    tags: tuple[str, ...]
    input: Json
    output: Json
    error: Annotated[Raw, Meta(extra_json_schema={"type": ["object", "null"]})]
    code: int | None
    signal: str | None
    resumable: bool
    session_ref: str | None
    priority: int
    created_at: Time
    started_at: Time | None
    updated_at: Time
    ended_at: Time | None
    available_at: Time | None
    inactivity_timeout_seconds: float
    max_attempts: int
    cancel_requested: CancelRequested | None
    lease: LeaseHeld | None
    triggered_by: TriggeredBy | None
    depth: int
    continued_from: str | None
    continued_as: str | None
    next_offset: str | None
    traceparent: str | None


class Started(Struct, frozen=True):
    """The run, and whether this request made it."""

    run: Run
    started: bool


class Delivery(Struct, frozen=True):
    """What became of one subscriber the run's ending was owed to."""

    subscriber: str
    event: str
    attempt: int
    state: Literal["owed", "started", "coalesced", "declined", "failed"]
    run_id: str | None
    run_state: State | None
    error: str | None
    at: Time


class Awaited(Struct, frozen=True):
    """A time, a run or an event that the run waits for."""

    kind: Literal["time", "run", "event"]
    until: Time | UnsetType = UNSET
    run_id: str | UnsetType = UNSET
    run_state: State | UnsetType = UNSET
    event: str | UnsetType = UNSET


class Awaiting(Struct, frozen=True):
    """A run that waits for this one."""

    run_id: str
    run_state: State


class LeaseFailure(Struct, frozen=True):
    """Why a lease's end counts as a failure; ``type`` is ``lease`` where it ran out."""

    message: str
    type: str | None


class Released(Struct, frozen=True):
    """How the last lease of a pending run ended: given back, or with a failure."""

    worker_id: str
    attempt: int
    error: LeaseFailure | None


class RunDetail(Struct, frozen=True):
    """A run and all around it. ``released``: it is pending again, and why."""

    run: Run
    deliveries: tuple[Delivery, ...] = ()
    subscribers: tuple[str, ...] = ()
    waits_for: tuple[Awaited, ...] = ()
    awaited_by: tuple[Awaiting, ...] = ()
    released: Released | None = None


class RunsPage(Struct, frozen=True):
    """Some runs, newest first. Only the absence of ``next_token`` is the end."""

    runs: list[Run]
    next_token: str | UnsetType = UNSET


class Waited(Struct, frozen=True):
    """The run now, and whether it has settled."""

    run: Run
    terminal: bool


class Finished(Struct, frozen=True):
    """The run, and whether this very request settled it, now or before its reply was lost."""

    run: Run
    finished: bool


class Cancelled(Struct, frozen=True):
    """The run after a cancel: settled, or with the intent latched."""

    run: Run


class Resumed(Struct, frozen=True):
    """The run, and whether this request began its attempt."""

    run: Run
    resumed: bool


class Suspended(Struct, frozen=True):
    """The run after it was told to wait: suspended, or woken already."""

    run: Run


class Handed(Struct, frozen=True):
    """A subscriber that an event started, and its run."""

    subscriber: str
    run_id: str


class Published(Struct, frozen=True):
    """What an event did: whom it started, how many waiting runs it woke, and whether it is kept, as it
    reached nobody, for the next run that comes to wait for it."""

    event_id: str
    started: tuple[Handed, ...]
    woken: int
    kept: bool


class Message(Struct, frozen=True):
    """One entry of a run's log."""

    run_id: str
    seq: int
    attempt: int
    type: str
    ts: Time
    data: Json


class Refused(Struct, frozen=True):
    """A subscriber that a republish did not start, and why."""

    run_id: str
    subscriber: str
    error: str


class Republished(Struct, frozen=True):
    """What one call of a republish came to. ``runs`` are the settled runs gone over, subscribed to or not;
    ``created`` and ``existing`` count subscribers' runs (an input that joined a window counts as created);
    ``re_owed`` what is owed again, as it could not be started now; ``skipped`` what was coalesced already.
    ``busy`` are runs that somebody else publishes. Only the absence of ``next_token`` is the end."""

    runs: int
    created: int
    existing: int
    re_owed: int
    skipped: int
    refused: list[Refused]
    busy: list[str]
    next_token: str | UnsetType = UNSET


class Owing(Struct, frozen=True):
    """An ending that something is left to do about: to whom it is owed, since when, and why still. Without
    subscribers it is not known yet whom it is owed to, or runs wait for it."""

    run_id: str
    workflow: str
    attempt: int
    event: str
    subscribers: tuple[str, ...]
    since: Time
    why: str


class Stats(Struct, frozen=True):
    """How many endings are owed and since when at the longest, the 20 longest owed ones, and how many things
    are due and not attended to yet. ``complete`` false: there was more than one call examines."""

    owed: int
    oldest_owed_seconds: float | None
    due: int
    owing: list[Owing]
    complete: bool


class Subscription(Struct, frozen=True):
    """A wish to be started by an event. ``input`` null: with the event's payload."""

    event: str
    where: str | None
    input: str | None


class Target(Struct, frozen=True):
    """Who performs a workflow's queued runs."""

    kind: TargetKind
    arn: str | None


class Batch(Struct, frozen=True):
    """How a workflow's starts are put together."""

    mode: BatchMode
    window_seconds: float
    key: str | None
    max_size: int
    max_wait_seconds: float


class Backoff(Struct, frozen=True):
    """How long a run waits after a failure, at most: after the first, and ever."""

    base_seconds: float
    max_seconds: float


class Workflow(Struct, frozen=True, kw_only=True):
    """A workflow. Settings that are null are the deployment's. ``announced``: workers serve it, or did of
    late; where it is registered without a target or subscriptions, theirs count."""

    name: str
    namespace: str
    description: str | None
    target: Target | None
    subscribes: tuple[Subscription, ...]
    batch: Batch | None
    inactivity_timeout_seconds: float | None
    max_attempts: int | None
    backoff: Backoff | None
    retention_seconds: float | None
    announced: bool
    created_at: Time
    updated_at: Time


class Link(Struct, frozen=True):
    """``workflow`` is started by ``event``. ``announced``: by a worker's word."""

    workflow: str
    event: str
    where: str | None
    input: str | None
    batch: Batch | None
    announced: bool


class Registered(Struct, frozen=True):
    """The workflow as it counts now."""

    workflow: Workflow


class WorkflowsPage(Struct, frozen=True):
    """Some workflows, by name. Only the absence of ``next_token`` is the end."""

    workflows: list[Workflow]
    next_token: str | UnsetType = UNSET


class WorkflowDetail(Struct, frozen=True):
    """A workflow, whom its endings start, and what starts it."""

    workflow: Workflow
    starts_on_settle: tuple[Link, ...]
    started_by: tuple[Link, ...]


class GraphNode(Struct, frozen=True):
    """A workflow as the graph shows it."""

    name: str
    description: str | None
    target: Target | None
    batch: Batch | None
    announced: bool


class Graph(Struct, frozen=True):
    """Who starts whom: every workflow, and every link."""

    workflows: tuple[GraphNode, ...]
    edges: tuple[Link, ...]


class Health(Struct, frozen=True):
    """The service answers."""

    status: Literal["ok"] = "ok"


class FieldError(Struct, frozen=True):
    """A field that can't be right: where (``body``, ``query``, ``header``, and the path into it), and why."""

    loc: list[str | int]
    msg: str


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A refusal (RFC 9457). ``run`` is the present truth where the refusal is about it."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldError] = []
    run: Run | None = None
    retryable: bool = False


Document = dict[str, Any]
"""The OpenAPI document."""
