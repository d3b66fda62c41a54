"""What an attempt's ending owes, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from baton.domain.clock import Millis

MAX_IN_ROW = 8
MAX_IN_ROW_BYTES = 256
"""Subscribers that a run's row holds, and the characters of their names, reasons and windows' runs; more
stand in an item of their own, so that the row stays within the kilobyte that each write of it costs."""

LONGEST_UNSEEN: Millis = 3_600_000
"""How long what is only buffered is not looked at, at the most."""


class DeliveryState(StrEnum):
    """What became of one owed subscriber."""

    OWED = "owed"
    STARTED = "started"
    COALESCED = "coalesced"
    DECLINED = "declined"
    FAILED = "failed"


REACHED = (DeliveryState.STARTED, DeliveryState.COALESCED)


class Delivery(msgspec.Struct, frozen=True, array_like=True):
    """What became of one owed subscriber. ``run_id`` is that of a coalesced one's window; a started run's id
    is derived. ``buffered``: its input stood in an open window when this was last looked at."""

    subscriber: str
    state: DeliveryState
    at: Millis
    run_id: str | None = None
    error: str | None = None
    buffered: bool = False

    @property
    def reached(self) -> bool:
        """Whether the subscriber has got it: a run was started for it, or its input joined a window."""
        return self.state in REACHED


class PublishLease(msgspec.Struct, frozen=True, array_like=True):
    """Who publishes now. It saves double work; correctness never rests on it."""

    owner: str
    until: Millis


_SHORT = {"owed": "o", "unresolved": "u", "waiters": "w", "deliveries": "d", "lease": "l"}


class Settlement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=_SHORT):
    """The marker of one attempt's ending, and its deliveries.

    ``unresolved``: whom it owes could not be read when it was settled. ``waiters``: suspended runs that it is
    to wake; they are counted from before it settled.
    """

    owed: tuple[str, ...] = ()
    unresolved: bool = False
    waiters: int = 0
    deliveries: tuple[Delivery, ...] = ()
    lease: PublishLease | None = None

    @property
    def marked(self) -> bool:
        """Whether something is owed, unresolved or waiting (I4)."""
        return bool(self.owed) or self.unresolved or self.waiters > 0

    @property
    def holding(self) -> bool:
        """Whether the run must not expire: it is marked, or an input of its sits in an open window (I5)."""
        return self.marked or any(delivery.buffered for delivery in self.deliveries)

    def look_at(self, now: Millis, grace: Millis) -> Millis:
        """When to look at this again: after ``grace`` while anything is marked; at what is only buffered each
        time after twice as long, though once an hour: a window which is open for a day costs some thirty
        looks."""
        if self.marked:
            return now + grace
        buffered = [max(grace, now - each.at) for each in self.deliveries if each.buffered]
        return now + (min(LONGEST_UNSEEN, *buffered) if buffered else grace)

    @property
    def small(self) -> bool:
        """Whether a run's row may hold it."""
        names = {*self.owed, *(delivery.subscriber for delivery in self.deliveries)}
        said = sum(len(each.error or "") + len(each.run_id or "") for each in self.deliveries)
        return len(names) <= MAX_IN_ROW and sum(map(len, names)) + said <= MAX_IN_ROW_BYTES

    def delivery(self, subscriber: str) -> Delivery | None:
        """What became of ``subscriber``, if anything did."""
        return next((each for each in self.deliveries if each.subscriber == subscriber), None)

    def reached(self, subscriber: str) -> bool:
        """Whether ``subscriber`` has got it: a run was started for it, or its input joined a window."""
        delivery = self.delivery(subscriber)
        return delivery is not None and delivery.reached

    def owing(self, subscribers: Iterable[str]) -> Settlement:
        """This, with ``subscribers`` owed (again) as well."""
        return replace(self, owed=tuple(sorted({*self.owed, *subscribers})))

    def delivered(self, deliveries: Iterable[Delivery]) -> Settlement:
        """This, once ``deliveries`` are made: each leaves what is owed, and takes the place of an earlier one
        to the same subscriber."""
        now = {each.subscriber: each for each in deliveries}
        kept = [each for each in self.deliveries if each.subscriber not in now]
        return replace(
            self,
            owed=tuple(name for name in self.owed if name not in now),
            deliveries=(*kept, *now.values()),
        )


NOTHING = Settlement()


class Wait(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a suspended run waits for: exactly one of ``until``, ``run_id`` and ``event``. ``id`` tells this
    wait from the run's others."""

    id: str
    until: Millis | None = None
    run_id: str | None = None
    event: str | None = None


class Chain(msgspec.Struct, frozen=True, array_like=True):
    """Where a run stands among those that continue each other."""

    first_run_id: str
    length: int
