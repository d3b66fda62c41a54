"""A run as the server tells it, and what it answers about one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from baton_sdk.errors import BadAnswer
from baton_sdk.wish import Wish

TERMINAL_STATES = frozenset({"completed", "failed", "cancelled", "dead"})


@dataclass(frozen=True, kw_only=True)
class CancelRequest:
    """A latched wish that the driver stop."""

    at: datetime | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Lease:
    """A worker's claim of limited time."""

    worker_id: str
    expires_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """The ending that started a run by hand-off."""

    run_id: str | None
    workflow: str | None
    event: str | None
    attempt: int | None


@dataclass(frozen=True, kw_only=True)
class Run:
    """One piece of work. Every field of the contract; ``raw`` is the JSON object as it came."""

    id: str
    namespace: str
    workflow: str
    state: str
    attempt: int
    mode: str
    context_ref: str | None
    agent_id: str | None
    tags: tuple[str, ...]
    input: Any
    output: Any
    error: Mapping[str, Any] | None
    code: int | None
    signal: str | None
    resumable: bool
    session_ref: str | None
    priority: int
    created_at: datetime | None
    started_at: datetime | None
    updated_at: datetime | None
    ended_at: datetime | None
    available_at: datetime | None
    inactivity_timeout_seconds: float | None
    max_attempts: int | None
    cancel_requested: CancelRequest | None
    lease: Lease | None
    triggered_by: Trigger | None
    depth: int
    continued_from: str | None
    continued_as: str | None
    next_offset: str | None
    traceparent: str | None
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def terminal(self) -> bool:
        """Whether the run has settled: completed, failed, cancelled or dead."""
        return self.state in TERMINAL_STATES

    @classmethod
    def from_json(cls, data: Any) -> Run:
        """Read a run object. Fields this version does not know are kept in ``raw`` only. Raises BadAnswer."""
        try:
            fields: dict[str, Any] = {name: data[name] for name in _REQUIRED}
            fields |= {name: data.get(name) for name in _OPTIONAL}
            fields |= {name: moment(data.get(name)) for name in _TIMES}
            return cls(
                **fields,
                tags=tuple(data.get("tags") or ()),
                resumable=bool(data.get("resumable")),
                priority=data.get("priority") or 0,
                depth=data.get("depth") or 0,
                cancel_requested=cancel_request(data.get("cancel_requested")),
                lease=_lease(data.get("lease")),
                triggered_by=_trigger(data.get("triggered_by")),
                raw=data,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise BadAnswer(f"the server's run object is not one: {exc!r}") from exc


_REQUIRED = ("id", "namespace", "workflow", "state", "attempt", "mode")
_OPTIONAL = (
    "context_ref",
    "agent_id",
    "input",
    "output",
    "error",
    "code",
    "signal",
    "session_ref",
    "inactivity_timeout_seconds",
    "max_attempts",
    "continued_from",
    "continued_as",
    "next_offset",
    "traceparent",
)
_TIMES = ("created_at", "started_at", "updated_at", "ended_at", "available_at")


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """What became of one subscriber of the run's ending. ``state`` is owed, started, coalesced, declined or
    failed; ``run_id`` the run that was started for it, ``run_state`` that run's state now."""

    subscriber: str
    event: str
    attempt: int
    state: str
    run_id: str | None
    run_state: str | None
    error: Any
    at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Wait:
    """What a suspended run waits for: a time, another run, or an event."""

    kind: str
    until: datetime | None
    run_id: str | None
    run_state: str | None
    event: str | None


@dataclass(frozen=True, kw_only=True)
class Waiter:
    """A run that waits for this one."""

    run_id: str
    run_state: str | None


@dataclass(frozen=True, kw_only=True)
class Released:
    """How the last lease of a pending run ended. Without an ``error`` its worker gave it back; with one the
    attempt failed, or the lease ran out (type ``lease``)."""

    worker_id: str
    attempt: int
    error: Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class RunDetail:
    """A run with what hangs on it. ``subscribers`` are those of both its endings; ``released`` says why a run
    that was driven is pending again; ``etag`` covers all."""

    run: Run
    deliveries: tuple[Delivery, ...]
    subscribers: tuple[str, ...]
    waits_for: tuple[Wait, ...]
    awaited_by: tuple[Waiter, ...]
    released: Released | None
    etag: str | None
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, data: Mapping[str, Any], etag: str | None) -> RunDetail:
        """Read the answer of ``GET /v1/runs/{id}``. Raises BadAnswer."""
        try:
            return cls(
                run=Run.from_json(data["run"]),
                deliveries=tuple(_delivery(entry) for entry in data.get("deliveries") or ()),
                subscribers=tuple(data.get("subscribers") or ()),
                waits_for=tuple(_wait(entry) for entry in data.get("waits_for") or ()),
                awaited_by=tuple(_waiter(entry) for entry in data.get("awaited_by") or ()),
                released=_released(data.get("released")),
                etag=etag,
                raw=data,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise BadAnswer(f"the server's answer is not a run's detail: {exc!r}") from exc


@dataclass(frozen=True, kw_only=True)
class Started:
    """``started`` is True for the start that made the run, False when its key had made it before. ``tail``,
    handed to ``writer``, saves the first append a read."""

    run: Run
    started: bool
    tail: str | None = None


@dataclass(frozen=True, kw_only=True)
class ContinueAsNew(Wish):
    """A finish's wish for a successor: it inherits everything but the input."""

    input: Any = None
    run_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Finished:
    """``finished`` is True when this request settled the run; either way ``run`` holds the real outcome."""

    run: Run
    finished: bool


@dataclass(frozen=True, kw_only=True)
class Resumed:
    """``resumed`` is False when the run was not eligible; ``run`` says why."""

    run: Run
    resumed: bool


def moment(value: Any) -> datetime | None:
    """An RFC 3339 time, or None."""
    return None if value is None else datetime.fromisoformat(value)


def cancel_request(data: Any) -> CancelRequest | None:
    """A latched wish to stop, or None."""
    return None if data is None else CancelRequest(at=moment(data.get("at")), reason=data.get("reason"))


def _lease(data: Any) -> Lease | None:
    return (
        None
        if data is None
        else Lease(worker_id=data["worker_id"], expires_at=moment(data.get("expires_at")))
    )


def _trigger(data: Any) -> Trigger | None:
    if data is None:
        return None
    return Trigger(**{name: data.get(name) for name in ("run_id", "workflow", "event", "attempt")})


def _delivery(data: Mapping[str, Any]) -> Delivery:
    fields: dict[str, Any] = {name: data[name] for name in ("subscriber", "event", "attempt", "state")}
    fields |= {name: data.get(name) for name in ("run_id", "run_state", "error")}
    return Delivery(**fields, at=moment(data.get("at")))


def _wait(data: Mapping[str, Any]) -> Wait:
    optional = {name: data.get(name) for name in ("run_id", "run_state", "event")}
    return Wait(kind=data["kind"], until=moment(data.get("until")), **optional)


def _waiter(data: Mapping[str, Any]) -> Waiter:
    return Waiter(run_id=data["run_id"], run_state=data.get("run_state"))


def _released(data: Mapping[str, Any] | None) -> Released | None:
    if data is None:
        return None
    return Released(worker_id=data["worker_id"], attempt=data["attempt"], error=data.get("error"))
