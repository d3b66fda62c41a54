"""From requests to what is asked of the catalog."""

from __future__ import annotations

from collections.abc import Iterable

from baton.api import models, shapes
from baton.api.request import Request
from baton.domain import names
from baton.domain.catalog import (
    DEFAULT_BACKOFF,
    DEFAULT_MAX_SIZE,
    Backoff,
    Batch,
    Subscription,
    Target,
)
from baton.domain.registering import Registration
from baton.errors import InvalidRequest, NotFound


def register(request: Request) -> Registration:
    """PUT /v1/workflows/{name}. Raises InvalidRequest, UnsupportedMediaType."""
    sent = shapes.numbers(request.json())
    for part in ("backoff", "batch"):
        if isinstance(sent.get(part), dict):
            sent = {**sent, part: shapes.numbers(sent[part])}
    body = shapes.convert(sent, models.PutWorkflow)
    watch = body.inactivity_timeout_seconds
    if watch is not None and 0 < watch < 1:
        raise InvalidRequest.at(["body", "inactivity_timeout_seconds"], "must be 0 or at least 1")
    return Registration(
        namespace=request.namespace,
        name=request.name,
        description=body.description,
        target=None if body.target is None else Target(body.target.kind, body.target.arn),
        subscribes=None if body.subscribes is None else subscriptions(body.subscribes),
        batch=None if body.batch is None else _batch(body.batch),
        inactivity_timeout_seconds=_whole(watch),
        max_attempts=body.max_attempts,
        backoff=None if body.backoff is None else _backoff(body.backoff),
        retention_seconds=_whole(body.retention_seconds),
    )


def workflow(request: Request) -> str:
    """The path's workflow. Raises NotFound for what can be none."""
    if not names.matches(names.WORKFLOW, request.name):
        raise NotFound("no such workflow here")
    return request.name


def subscriptions(wishes: Iterable[models.NewSubscription]) -> tuple[Subscription, ...]:
    """What is to start a workflow, in the order it was said."""
    return tuple(Subscription(wish.event, wish.where, wish.input) for wish in wishes)


def _backoff(wish: models.NewBackoff) -> Backoff:
    base = DEFAULT_BACKOFF.base_seconds if wish.base_seconds is None else wish.base_seconds
    most = DEFAULT_BACKOFF.max_seconds if wish.max_seconds is None else wish.max_seconds
    if most < base:
        raise InvalidRequest.at(
            ["body", "backoff", "max_seconds"], f"must be at least base_seconds, which is {base:g}"
        )
    return Backoff(_whole(float(base)) or 0, _whole(float(most)) or 0)


def _batch(wish: models.NewBatch) -> Batch:
    return Batch(
        mode=wish.mode,
        window_seconds=_whole(wish.window_seconds) or 0,
        key=wish.key,
        max_size=wish.max_size or DEFAULT_MAX_SIZE,
        max_wait_seconds=_whole(wish.max_wait_seconds) or 0,
    )


def _whole(seconds: float | None) -> float | None:
    """A duration as it is told again: 60 is not 60.0."""
    return int(seconds) if seconds is not None and seconds.is_integer() else seconds
