"""From requests to what services are asked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from baton.api import models, shapes
from baton.api.request import Request
from baton.api.signing import Tokens
from baton.domain.clock import Millis
from baton.domain.controlling import Cancel
from baton.domain.events import Post
from baton.domain.payload import KB, canonical, check_size, digest
from baton.domain.settling import Finish, Outcome
from baton.domain.starting import Start, Succession
from baton.domain.states import State
from baton.domain.waiting import Suspend
from baton.errors import InvalidRequest
from baton.services.republish import END_OF_TIME, Republish, RepublishRange
from baton.services.runs import Filter

MAX_REASON = KB
_ENDS = {
    None: (State.COMPLETED, State.FAILED),
    models.Ends.COMPLETED: (State.COMPLETED,),
    models.Ends.FAILED: (State.FAILED,),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LAST: Millis = 253_402_300_799_999
"""The end of the year 9999 in UTC: no later time can be told as RFC 3339 has it."""


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
        available_at=None if body.available_at is None else _sayable(body.available_at, "available_at"),
        priority=body.priority,
        traceparent=request.traceparent,
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
        error=None if body.error is None else _given(sent["error"]),
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
        reason=body.reason, force=bool(body.force), key=key_digest(request), body=digest(canonical(sent))
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
        until=None if body.until is None else _sayable(body.until, "until"),
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


def filter_of(query: models.RunsQuery) -> Filter:
    """Which runs a list is to hold."""
    return Filter(
        workflow=query.workflow,
        states=frozenset(query.state or ()),
        context_ref=query.context_ref,
        tag=query.tag,
        since=None if query.since is None else -_floor(query.since, -1),
        until=None if query.until is None else _floor(query.until),
    )


def republish(request: Request) -> Republish:
    """POST /v1/runs/{id}/republish. Raises InvalidRequest, UnsupportedMediaType."""
    body = shapes.convert(request.json(), models.RepublishRun)
    return Republish(namespace=request.namespace, subscriber=body.subscriber)


def republish_range(request: Request, tokens: Tokens) -> tuple[RepublishRange, tuple[str, ...]]:
    """POST /v1/republish: the wish, and what a token that goes on with it is about, which is all but the
    limit. Raises InvalidRequest, UnsupportedMediaType."""
    body = shapes.convert(shapes.numbers(request.json()), models.RepublishRange)
    wish = RepublishRange(
        namespace=request.namespace,
        workflow=body.workflow,
        endings=_ENDS[body.ending],
        since=0 if body.since is None else max(0, -_floor(body.since, -1)),
        until=END_OF_TIME if body.until is None else max(-1, _floor(body.until)),
        limit=body.limit,
        subscriber=body.subscriber,
        dry_run=bool(body.dry_run),
    )
    endings = [state.value for state in wish.endings]
    asked = [wish.workflow, endings, wish.since, wish.until, wish.subscriber, wish.dry_run]
    about = (request.namespace, "republish", digest(canonical(asked)))
    place = None if body.next_token is None else tokens.after(body.next_token, *about, where="body")
    return replace(wish, place=place), about


def filter_digest(wanted: Filter) -> str:
    """What tells one filter from another, in a cursor."""
    states = sorted(state.value for state in wanted.states)
    return digest(
        canonical(
            [wanted.workflow, states, wanted.context_ref, wanted.tag, wanted.since, wanted.until],
        )
    )


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _sayable(moment: datetime, field: str) -> Millis:
    """A time that is to be told again: written with an offset, it may lie beyond what UTC can say."""
    at = _floor(moment)
    if at > _LAST:
        raise InvalidRequest.at(["body", field], "after the year 9999")
    return at


def _floor(moment: datetime, sign: int = 1) -> Millis:
    """Whole milliseconds since 1970, rounded down; with ``sign`` -1 the negative of those rounded up."""
    return sign * (moment - _EPOCH) // _MILLISECOND
