"""Registering a workflow: what may be registered, and what changes by it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from baton.domain import expressions, names
from baton.domain.catalog import (
    MAX_SUBSCRIBERS,
    Backoff,
    Batch,
    Subscription,
    Target,
    TargetKind,
    Workflow,
    check_event,
)
from baton.domain.clock import Millis
from baton.errors import InvalidRequest

# Source: the service authorization reference, "resource types", of each of the three.
_ARN = r"arn:aws[a-z-]*:{service}:[a-z0-9-]+:[0-9]{{12}}:{resource}"
_ARNS = {
    TargetKind.LAMBDA: _ARN.format(
        service="lambda", resource=r"function:[A-Za-z0-9_-]{1,64}(:[A-Za-z0-9$_-]+)?"
    ),
    TargetKind.SQS: _ARN.format(service="sqs", resource=r"[A-Za-z0-9_-]{1,80}(\.fifo)?"),
    TargetKind.EVENTBRIDGE: _ARN.format(service="events", resource=r"event-bus/[A-Za-z0-9._/-]{1,256}"),
}


Loc: TypeAlias = list[str | int]
"""Where a field is in a request."""
SUBSCRIBES: Loc = ["body", "subscribes"]
"""Where a registration says what starts its workflow."""


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """A wish to have a workflow registered so, in the place of what is registered under its name.

    ``subscribes`` None: whoever wishes it has nothing to say about that, and leaves it to workers.
    """

    namespace: str
    name: str
    description: str | None = None
    target: Target | None = None
    subscribes: tuple[Subscription, ...] | None = None
    batch: Batch | None = None
    inactivity_timeout_seconds: float | None = None
    max_attempts: int | None = None
    backoff: Backoff | None = None
    retention_seconds: float | None = None


def check(wish: Registration) -> None:
    """Raise InvalidRequest at the field that can't be right, PayloadTooLarge at an expression over 1 KB."""
    if not names.matches(names.WORKFLOW, wish.name):  # as are the reserved ones
        raise InvalidRequest.at(["path", "name"], f"must match {names.WORKFLOW}")
    _check_target(wish.target)
    check_subscriptions(wish.subscribes or (), SUBSCRIBES)
    if wish.batch is not None and wish.batch.key is not None:
        expressions.check(wish.batch.key, ["body", "batch", "key"])


def check_subscriptions(wishes: Iterable[Subscription], loc: Loc) -> None:
    """Raise InvalidRequest at the field below ``loc`` that can't be right, PayloadTooLarge at an expression
    over 1 KB."""
    for at, wish in enumerate(wishes):
        check_event(wish.event, [*loc, at, "event"])
        for field, text in (("where", wish.where), ("input", wish.input)):
            if text is not None:
                expressions.check(text, [*loc, at, field])


def register(before: Workflow | None, wish: Registration, *, rev: str, now: Millis) -> Workflow:
    """What is registered once ``wish`` is done, in the place of ``before``; that itself where it says the
    same already. What workers announced is kept beside it."""
    after = Workflow(
        namespace=wish.namespace,
        name=wish.name,
        description=wish.description,
        target=wish.target,
        subscribes=wish.subscribes or (),
        declares=wish.subscribes is not None,
        batch=None if wish.batch is None else wish.batch.settled(),
        inactivity_timeout_seconds=wish.inactivity_timeout_seconds,
        max_attempts=wish.max_attempts,
        backoff=wish.backoff,
        retention_seconds=wish.retention_seconds,
        announced=None if before is None else before.announced,
        created_at=now if before is None else before.created_at,
        updated_at=now,
        rev=rev,
    )
    return before if before is not None and before.says_the_same(after) else after


def newly_subscribed(before: Workflow | None, after: Workflow) -> tuple[str, ...]:
    """The events that ``after`` has a claim to which ``before`` had not, or had another; both as they count
    now."""
    return tuple(
        event
        for event in after.events
        if before is None or before.subscriptions_to(event) != after.subscriptions_to(event)
    )


def check_crowd(others: Iterable[Workflow], joining: Workflow, loc: Loc) -> None:
    """Raise InvalidRequest when ``joining`` would be one subscriber too many of an event. ``others`` are all
    workflows as they count now; its own older self among them is not counted. ``loc`` is where its
    subscriptions are said."""
    crowds: dict[str, int] = {}
    for other in others:
        if other.name != joining.name:
            for event in other.events:
                crowds[event] = crowds.get(event, 0) + 1
    for at, wish in enumerate(joining.subscribes):
        if crowds.get(wish.event, 0) >= MAX_SUBSCRIBERS:
            raise InvalidRequest.at(
                [*loc, at, "event"],
                f"{wish.event!r} has {MAX_SUBSCRIBERS} subscribers already, the most an event may have",
            )


def _check_target(target: Target | None) -> None:
    if target is None:
        return
    form = _ARNS.get(target.kind)
    if form is None:
        if target.arn is not None:
            raise InvalidRequest.at(["body", "target", "arn"], f"a {target.kind.value} has none")
    elif target.arn is None:
        raise InvalidRequest.at(["body", "target", "arn"], f"required: a {target.kind.value} is found by it")
    elif re.fullmatch(form, target.arn) is None:
        raise InvalidRequest.at(["body", "target", "arn"], f"not the ARN of {_WHAT[target.kind]}")


_WHAT = {
    TargetKind.LAMBDA: "a Lambda function",
    TargetKind.SQS: "an SQS queue",
    TargetKind.EVENTBRIDGE: "an EventBridge bus",
}
