"""From requests to what services are asked for."""

from __future__ import annotations

from typing import Any

from baton.api import models, shapes
from baton.api.moments import sayable
from baton.api.request import Request
from baton.domain.controlling import Cancel
from baton.domain.events import Post
from baton.domain.payload import KB, canonical, check_size, digest
from baton.domain.settling import Finish, Outcome
from baton.domain.starting import Start, Succession
from baton.domain.states import State
from baton.domain.waiting import Suspend
from baton.errors import InvalidRequest

MAX_REASON = KB


def start(request: Request) -> Start:
    """POST /v1/runs. Raises InvalidRequest, UnsupportedMediaType."""
    sent = request.json()
    body = shapes.convert(shapes.numbers(sent), models.StartRun)
    watch = body.inactivity_timeout_seconds
    if watch is not None and 0 < watch < 1:
        raise InvalidRequest.at(["body", "inactivity_timeout_seconds"], "must be 0 or at least 1")
    return Start(
        namespace=request.namespace,
        workflow=body.workflow,
        body=digest(canonical(sent)),
        run_id=body.run_id,
        key=request.idempotency_key,
        input=canonical(body.input),
        context_ref=body.context_ref,
        agent_id=body.agent_id,
        tags=tuple(body.tags or ()),
        mode=body.mode,
        inactivity_timeout_seconds=int(watch) if watch is not None and watch.is_integer() else watch,
        max_attempts=body.max_attempts,
        available_at=sayable(body.available_at, "available_at"),
        priority=body.priority,
        traceparent=request.traceparent,
        by=request.caller.by,
    )


def finish(request: Request) -> Finish:
    """POST /v1/runs/{id}/finish. Raises InvalidRequest, UnsupportedMediaType."""
    sent = request.json()
    body = shapes.convert(shapes.numbers(sent), models.FinishRun)
    if body.resumable and body.status.state is State.COMPLETED:
        raise InvalidRequest.at(["body", "resumable"], "a completed run is never resumable")
    outcome = Outcome(
        status=body.status.state,
        output=canonical(body.output),
        error=None if body.error is None else present(sent["error"]),
        code=body.code,
        signal=body.signal,
        resumable=bool(body.resumable),
        session_ref=body.session_ref,
        key=key_digest(request),
        body=digest(canonical(sent)),
    )
    return Finish(outcome=outcome, attempt=request.attempt, succession=_succession(body))


def _succession(body: models.FinishRun) -> Succession | None:
    wish = body.continue_as_new
    if wish is None:
        return None
    if body.status.state is not State.COMPLETED:
        raise InvalidRequest.at(["body", "continue_as_new"], "only a completed run goes on as a new one")
    return Succession(input=canonical(wish.input), run_id=wish.run_id)


def cancel(request: Request) -> Cancel:
    """POST /v1/runs/{id}/cancel. Raises InvalidRequest, UnsupportedMediaType, PayloadTooLarge."""
    sent = request.json()
    body = shapes.convert(sent, models.CancelRun)
    if body.reason is not None:
        check_size("reason", len(canonical(body.reason)), MAX_REASON)
    return Cancel(
        reason=body.reason,
        force=bool(body.force),
        key=key_digest(request),
        body=digest(canonical(sent)),
        by=request.caller.by,
    )


def resume(request: Request) -> models.ResumeRun:
    """POST /v1/runs/{id}/resume. Raises InvalidRequest, UnsupportedMediaType."""
    return shapes.convert(request.json(), models.ResumeRun)


def suspend(request: Request) -> Suspend:
    """POST /v1/runs/{id}/suspend. Raises InvalidRequest, UnsupportedMediaType."""
    sent = request.json()
    body = shapes.convert(sent, models.Suspension)
    if [body.until, body.run, body.event].count(None) != 2:
        raise InvalidRequest.at(["body"], "exactly one of 'until', 'run' and 'event' is needed")
    return Suspend(
        until=sayable(body.until, "until"),
        run_id=body.run,
        event=body.event,
        attempt=request.attempt,
        key=key_digest(request),
        body=digest(canonical(sent)),
    )


def publish(request: Request) -> Post:
    """POST /v1/events/{name}. Raises InvalidRequest, UnsupportedMediaType."""
    name, body = request.event, shapes.convert(request.json(), models.PublishEvent)
    return Post(
        namespace=request.namespace,
        name=name,
        payload=canonical(body.payload),
        id=body.id,
        traceparent=request.traceparent,
    )


def key_digest(request: Request) -> str | None:
    """What stands for the request's Idempotency-Key in a run's row. Raises InvalidRequest."""
    key = request.idempotency_key
    return None if key is None else digest(key.encode())


def present(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that say something: null means absent."""
    return {name: value for name, value in fields.items() if value is not None}
