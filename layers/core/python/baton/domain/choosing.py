"""Whether a subscriber wants an event, and what it gets of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from baton.domain.catalog import Subscription
from baton.domain.expressions import ExpressionFailed, accepts, load, mapped


class Payload(NamedTuple):
    """What subscribers to an event get: as canonical JSON, and as expressions take it."""

    canonical: bytes
    value: Any

    @classmethod
    def of(cls, canonical: bytes) -> Payload:
        """Parsed once for all that look at it."""
        return cls(canonical, load(canonical))


class Accepted(msgspec.Struct, frozen=True):
    """It wants the event; ``input`` is canonical JSON."""

    input: bytes


class Declined(msgspec.Struct, frozen=True):
    """None of its subscriptions wants the event."""


class Unclear(msgspec.Struct, frozen=True):
    """None of its subscriptions accepts, and an expression of one failed."""

    reason: str


def choose(subscriptions: Iterable[Subscription], payload: Payload) -> Accepted | Declined | Unclear:
    """What becomes of an event by one subscriber's subscriptions to it.

    The first that accepts counts; one whose expression fails does not hide a later one that accepts.
    """
    trouble: str | None = None
    for each in subscriptions:
        try:
            if each.where is None or accepts(each.where, payload.value):
                return Accepted(
                    payload.canonical if each.input is None else mapped(each.input, payload.value)
                )
        except ExpressionFailed as failed:
            trouble = trouble or failed.reason
    return Declined() if trouble is None else Unclear(trouble)
