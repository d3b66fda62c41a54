"""What Baton tells everyone outside of a run's life, as CloudEvents.

An event's id is made of what it is about, so it is the same however often it is told: who keeps the ids that
it has seen meets each event once.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import msgspec

from baton.domain.clock import Millis, rfc3339
from baton.domain.payload import KB, canonical
from baton.domain.run import Run
from baton.domain.states import State

STARTED = "run.started"
COMPLETED = "run.completed"
FAILED = "run.failed"
"""Of failed, cancelled and dead runs alike: the state says which."""
TRIGGERED = "run.triggered"
TRIGGER_FAILED = "run.trigger_failed"

SPEC_VERSION = "1.0"
MAX_DATA = 128 * KB
"""Canonical bytes of an event's data. A larger payload is left out: the run's id leads to it."""


class LifecycleEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event. ``subject`` is the run's id, in ``namespace``; ``detail`` the whole event as canonical JSON,
    in CloudEvents' JSON format."""

    id: str
    type: str
    namespace: str
    subject: str
    detail: bytes


def started(run: Run) -> LifecycleEvent:
    """A run has begun its life, as ``run`` shows it then."""
    return _event(run, STARTED, at=run.created_at, attempt=1, data={"run": _about(run, 1, run.state)})


def ended(run: Run, payload: bytes, *, attempt: int, state: State, at: Millis) -> LifecycleEvent:
    """An attempt has settled in ``state`` at ``at``. ``payload`` is what its subscribers get, canonical
    JSON."""
    data: Any = msgspec.Raw(payload)
    if len(payload) > MAX_DATA:
        data = {"run": _about(run, attempt, state)}
    return _event(run, COMPLETED if state is State.COMPLETED else FAILED, at=at, attempt=attempt, data=data)


def triggered(
    run: Run, *, attempt: int, event: str, subscriber: str, started_run_id: str, at: Millis
) -> LifecycleEvent:
    """The ending ``event`` of ``run`` has started ``subscriber``, as ``started_run_id``."""
    data = {"event": event, "subscriber": subscriber, "started_run_id": started_run_id}
    return _of_delivery(run, TRIGGERED, attempt=attempt, subscriber=subscriber, at=at, data=data)


def trigger_failed(
    run: Run, *, attempt: int, event: str, subscriber: str, error: str, at: Millis
) -> LifecycleEvent:
    """The ending ``event`` of ``run`` could not start ``subscriber``."""
    data = {"event": event, "subscriber": subscriber, "error": error}
    return _of_delivery(run, TRIGGER_FAILED, attempt=attempt, subscriber=subscriber, at=at, data=data)


def _of_delivery(
    run: Run, type_: str, *, attempt: int, subscriber: str, at: Millis, data: dict[str, Any]
) -> LifecycleEvent:
    about = {"id": run.id, "workflow": run.workflow, "namespace": run.namespace, "attempt": attempt}
    return _event(run, type_, at=at, attempt=attempt, subscriber=subscriber, data={"run": about, **data})


def _event(
    run: Run, type_: str, *, at: Millis, attempt: int, data: Any, subscriber: str = ""
) -> LifecycleEvent:
    id_ = _id(run.namespace, run.birth, str(attempt), type_, subscriber)
    envelope = {
        "specversion": SPEC_VERSION,
        "id": id_,
        "source": f"urn:baton:{run.namespace}",
        "type": type_,
        "subject": run.id,
        "time": rfc3339(at),
        "datacontenttype": "application/json",
        "data": data,
    }
    return LifecycleEvent(
        id=id_, type=type_, namespace=run.namespace, subject=run.id, detail=canonical(envelope)
    )


def _about(run: Run, attempt: int, state: State) -> dict[str, Any]:
    """A run without what it was given and what it gave. The names are those of an ending's payload, so that
    one rule of a bus fits all."""
    return {
        "id": run.id,
        "workflow": run.workflow,
        "namespace": run.namespace,
        "attempt": attempt,
        "state": state.value,
        "context_ref": run.context_ref,
        "tags": run.tags,
        "traceparent": run.traceparent,
    }


def _id(*source: str) -> str:
    sum_ = hashlib.sha256("\0".join(source).encode()).digest()
    return base64.b32encode(sum_[:20]).decode().lower()
