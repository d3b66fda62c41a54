"""What requests may say: bodies and queries, each field with its bounds. OpenAPI is made from these."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct

from baton.api.patterns import (
    AnyRunId,
    CustomEvent,
    EntryType,
    Event,
    EventId,
    Ref,
    RunId,
    Signal,
    Tag,
    Workflow,
)
from baton.domain.catalog import MAX_SUBSCRIPTIONS, BatchMode, TargetKind
from baton.domain.states import Mode, State

MAX_SAFE = 2**53 - 1
"""The largest integer that every JSON reader keeps."""

Payload = Annotated[
    Any, Meta(description="Any JSON; comes back as it was sent. At most 256 KB of canonical JSON.")
]
Time = Annotated[datetime, Meta(tz=True)]


class Body(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A JSON object. Unknown fields are refused; null means absent, save in a payload."""


Watchdog = Annotated[
    float, Meta(ge=0, le=2_592_000, extra_json_schema={"anyOf": [{"const": 0}, {"minimum": 1}]})
]
"""Seconds of silence; 0: never."""


class StartRun(Body, frozen=True):
    """A wish for a run."""

    workflow: Workflow
    run_id: RunId | None = None
    input: Payload = None
    context_ref: Ref | None = None
    agent_id: Ref | None = None
    tags: Annotated[list[Tag], Meta(max_length=16)] | None = None
    mode: Mode | None = None
    inactivity_timeout_seconds: Watchdog | None = None
    max_attempts: Annotated[int, Meta(ge=1, le=100)] | None = None
    available_at: Time | None = None
    priority: Annotated[int, Meta(ge=0, le=9)] | None = None


class FinishStatus(StrEnum):
    """How a driver may say that its run ended, common spellings included."""

    COMPLETED = "completed"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    CANCELED = "canceled"

    @property
    def state(self) -> State:
        """The state it means: spellings are taken, never stored."""
        return _STATES[self]


_STATES = {
    FinishStatus.COMPLETED: State.COMPLETED,
    FinishStatus.SUCCEEDED: State.COMPLETED,
    FinishStatus.FAILED: State.FAILED,
    FinishStatus.CANCELLED: State.CANCELLED,
    FinishStatus.CANCELED: State.CANCELLED,
}


class RunError(Body, frozen=True):
    """Why a run did not complete."""

    message: str
    type: str | None = None
    stack: str | None = None


class ContinueAsNew(Body, frozen=True):
    """The run that a completed one goes on as: its like in everything but the input."""

    input: Payload = None
    run_id: RunId | None = None


class FinishRun(Body, frozen=True):
    """A driver's word that its run is over."""

    status: FinishStatus
    output: Payload = None
    error: RunError | None = None
    code: Annotated[int, Meta(ge=-MAX_SAFE, le=MAX_SAFE)] | None = None
    signal: Signal | None = None
    resumable: bool | None = None
    session_ref: Annotated[str, Meta(max_length=256)] | None = None
    continue_as_new: ContinueAsNew | None = None


class CancelRun(Body, frozen=True):
    """A wish that a run end. ``force`` does not wait for its driver."""

    reason: Annotated[str, Meta(description="At most 1 KB of canonical JSON.")] | None = None
    force: bool | None = None


class ResumeRun(Body, frozen=True):
    """A wish that a settled run go on. ``force`` also takes one that is not resumable."""

    force: bool | None = None


class Suspension(Body, frozen=True):
    """What a run is to wait for: exactly one of a time, another run's settling, and an event."""

    until: Time | None = None
    run: AnyRunId | None = None
    event: CustomEvent | None = None


def _one_of(model: type[Body]) -> list[dict[str, Any]]:
    names = model.__struct_fields__
    return [{"required": [name], "properties": {name: {"type": "string"}}} for name in names]


SuspendRun = Annotated[Suspension, Meta(extra_json_schema={"oneOf": _one_of(Suspension)})]


class PublishEvent(Body, frozen=True):
    """An event of one's own. The same ``id`` again is the same event."""

    payload: Payload = None
    id: EventId | None = None


Expression = Annotated[str, Meta(description="JMESPath over the event's payload. At most 1 KB.")]


class NewSubscription(Body, frozen=True):
    """A wish to be started by an event: where ``where`` accepts its payload, with what ``input`` makes of
    it."""

    event: Event
    where: Expression | None = None
    input: Expression | None = None


class NewTarget(Body, frozen=True):
    """Who performs the workflow's queued runs. All but a worker are found by an ARN."""

    kind: TargetKind
    arn: Annotated[str, Meta(max_length=2048)] | None = None


class NewBatch(Body, frozen=True):
    """How the workflow's starts are put together; ``key``: one window for each of its values."""

    mode: BatchMode
    window_seconds: Annotated[float, Meta(ge=1, le=86_400)]
    key: Expression | None = None
    max_size: Annotated[int, Meta(ge=1, le=1000)] | None = None
    max_wait_seconds: Annotated[float, Meta(ge=1, le=864_000)] | None = None


Pause = Annotated[float, Meta(ge=0, le=86_400)]
"""Seconds."""


class NewBackoff(Body, frozen=True):
    """How long a run waits after a failure: at random, up to ``base_seconds`` (1 if not given) after the
    first, up to twice as long after each further one, at most ``max_seconds`` (300), which is no less. 0: not
    at all."""

    base_seconds: Pause | None = None
    max_seconds: Pause | None = None


class PutWorkflow(Body, frozen=True):
    """A workflow as it is to be registered, all of it. Without ``subscribes`` it is for workers to say."""

    description: Annotated[str, Meta(max_length=1024)] | None = None
    target: NewTarget | None = None
    subscribes: Annotated[list[NewSubscription], Meta(max_length=MAX_SUBSCRIPTIONS)] | None = None
    batch: NewBatch | None = None
    inactivity_timeout_seconds: Watchdog | None = None
    max_attempts: Annotated[int, Meta(ge=1, le=100)] | None = None
    backoff: NewBackoff | None = None
    retention_seconds: Annotated[float, Meta(ge=1, le=315_360_000)] | None = None


class NewMessage(Body, frozen=True):
    """One message for a run's log. The types Baton writes itself are refused."""

    type: EntryType
    data: Payload = None


NewMessages = Annotated[list[NewMessage], Meta(min_length=1)]
"""A batch: it becomes one item of the log."""


class RunsQuery(Body, frozen=True):
    """Which runs to list."""

    workflow: Workflow | None = None
    state: list[State] | None = None
    context_ref: Ref | None = None
    tag: Tag | None = None
    since: Time | None = None
    until: Time | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    next_token: Annotated[str, Meta(max_length=2048)] | None = None


class PageQuery(Body, frozen=True):
    """Which page of a list."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    next_token: Annotated[str, Meta(max_length=2048)] | None = None


class WaitQuery(Body, frozen=True):
    """How long to wait for a run to settle."""

    timeout_seconds: Annotated[float, Meta(ge=0, le=25)] = 20


class Live(StrEnum):
    """How a reader waits for what is not there yet."""

    LONG_POLL = "long-poll"
    SSE = "sse"


class StreamQuery(Struct, frozen=True, kw_only=True):
    """Where to read a log from. Parameters that are not ours are ignored, as the protocol has it."""

    offset: Annotated[str, Meta(max_length=64)] | None = None
    live: Live | None = None
    cursor: Annotated[str, Meta(pattern=r"^[0-9]{1,15}\Z")] | None = None


class RepublishRun(Body, frozen=True):
    """A wish that a run's endings be delivered again: to one subscriber, or to all."""

    subscriber: Workflow | None = None


class Ends(StrEnum):
    """Which endings of a workflow's runs."""

    COMPLETED = "completed"
    FAILED = "failed"


class RepublishRange(Body, frozen=True):
    """A wish that the endings of a workflow's runs be delivered again, without ``ending`` both. ``since`` and
    ``until`` are settle times, both included. ``limit`` is how many runs this call goes over at most;
    ``dry_run`` counts and changes nothing."""

    workflow: Workflow
    ending: Ends | None = None
    since: Time | None = None
    until: Time | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    subscriber: Workflow | None = None
    dry_run: bool | None = None
    next_token: Annotated[str, Meta(max_length=2048)] | None = None
