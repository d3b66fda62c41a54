"""A workflow as it is registered, what it subscribes to, and who starts whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from baton_sdk.errors import BadAnswer
from baton_sdk.run import moment
from baton_sdk.wish import Wish


@dataclass(frozen=True, kw_only=True)
class Subscription(Wish):
    """Start the workflow that has it when ``event`` happens: ``run.completed:<workflow>``,
    ``run.failed:<workflow>`` (failed, cancelled and dead), or an event of your own.

    ``where`` and ``input`` are JMESPath over the event's payload: whether to start, and with which input (the
    payload itself without it).
    """

    event: str
    where: str | None = None
    input: str | None = None


@dataclass(frozen=True, kw_only=True)
class Batch(Wish):
    """How starts of a workflow are put together. ``mode`` is ``debounce`` (the last input, once it is quiet
    for the window) or ``batch`` (all of them); ``key`` is JMESPath over the payload: a window for each value.
    """

    mode: str
    window_seconds: float
    key: str | None = None
    max_size: int | None = None
    max_wait_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Target(Wish):
    """Who performs the workflow's queued runs. ``kind`` is worker, lambda, sqs or eventbridge; all but a
    worker have an ``arn``."""

    kind: str
    arn: str | None = None


@dataclass(frozen=True, kw_only=True)
class Backoff(Wish):
    """How long a run waits after a failure: anything up to ``base_seconds``, twice as much after each further
    one, ``max_seconds`` at most. What is not given is the service's default; a base of 0 is at once."""

    base_seconds: float | None = None
    max_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """A workflow. ``announced``: workers serve it, or did of late; where it is registered without a target or
    subscriptions, theirs count. ``raw`` is the JSON object as it came."""

    name: str
    description: str | None
    target: Target | None
    subscribes: tuple[Subscription, ...]
    batch: Batch | None
    backoff: Backoff | None
    inactivity_timeout_seconds: float | None
    max_attempts: int | None
    retention_seconds: float | None
    announced: bool
    created_at: datetime | None
    updated_at: datetime | None
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, data: Any) -> Workflow:
        """Read a workflow object. Raises BadAnswer."""
        try:
            plain: dict[str, Any] = {name: data.get(name) for name in _PLAIN}
            return cls(
                **plain,
                name=data["name"],
                target=_target(data.get("target")),
                subscribes=tuple(_subscription(entry) for entry in data.get("subscribes") or ()),
                batch=_batch(data.get("batch")),
                backoff=_backoff(data.get("backoff")),
                announced=bool(data.get("announced")),
                created_at=moment(data.get("created_at")),
                updated_at=moment(data.get("updated_at")),
                raw=data,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise BadAnswer(f"the server's workflow object is not one: {exc!r}") from exc


_PLAIN = ("description", "inactivity_timeout_seconds", "max_attempts", "retention_seconds")


@dataclass(frozen=True, kw_only=True)
class Link:
    """``workflow`` is started when ``event`` happens; ``announced`` by a worker rather than registered."""

    workflow: str
    event: str
    where: str | None
    input: str | None
    batch: Batch | None
    announced: bool

    @classmethod
    def from_json(cls, data: Any) -> Link:
        """Read a link. Raises BadAnswer."""
        try:
            return cls(
                workflow=data["workflow"],
                event=data["event"],
                where=data.get("where"),
                input=data.get("input"),
                batch=_batch(data.get("batch")),
                announced=bool(data.get("announced")),
            )
        except (KeyError, TypeError, AttributeError) as exc:
            raise BadAnswer(f"the server's link is not one: {exc!r}") from exc


@dataclass(frozen=True, kw_only=True)
class Registered:
    """The workflow as it stands now; ``created`` is True where there was none of its name."""

    workflow: Workflow
    created: bool


@dataclass(frozen=True, kw_only=True)
class WorkflowDetail:
    """A workflow, whom its endings start, and what starts it."""

    workflow: Workflow
    starts_on_settle: tuple[Link, ...]
    started_by: tuple[Link, ...]
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> WorkflowDetail:
        """Read the answer of ``GET /v1/workflows/{name}``. Raises BadAnswer."""
        return cls(
            workflow=Workflow.from_json(data.get("workflow")),
            starts_on_settle=links(data.get("starts_on_settle")),
            started_by=links(data.get("started_by")),
            raw=data,
        )


def links(found: Any) -> tuple[Link, ...]:
    """The links of a JSON array; none where it is absent."""
    return tuple(Link.from_json(entry) for entry in found or ())


def _subscription(data: Mapping[str, Any]) -> Subscription:
    return Subscription(event=data["event"], where=data.get("where"), input=data.get("input"))


def _target(data: Mapping[str, Any] | None) -> Target | None:
    return None if data is None else Target(kind=data["kind"], arn=data.get("arn"))


def _batch(data: Mapping[str, Any] | None) -> Batch | None:
    if data is None:
        return None
    optional = {name: data.get(name) for name in ("key", "max_size", "max_wait_seconds")}
    return Batch(mode=data["mode"], window_seconds=data["window_seconds"], **optional)


def _backoff(data: Mapping[str, Any] | None) -> Backoff | None:
    if data is None:
        return None
    return Backoff(base_seconds=data.get("base_seconds"), max_seconds=data.get("max_seconds"))
