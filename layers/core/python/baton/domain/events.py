"""Custom events: what was posted, whom it reached, and whether it is kept for the next run that waits for it.

Whoever posts writes the event first and looks for waiters then; whoever waits writes that first and looks for
events then. So of the two at least one sees the other, and what both write on condition lets one of them act.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from baton.domain import names
from baton.domain.catalog import BATONS_OWN
from baton.domain.clock import Millis, millis
from baton.domain.names import id_from_handoff
from baton.domain.payload import canonical, check_size, digest
from baton.domain.run import TriggeredBy
from baton.domain.settlement import NOTHING, DeliveryState, Settlement
from baton.errors import IdempotencyMismatch, InvalidRequest

KEPT_SECONDS = 24 * 3600
"""How long an event that reached nobody waits for a run that waits for it."""

_REACHED = frozenset({DeliveryState.STARTED, DeliveryState.COALESCED, DeliveryState.FAILED})


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """A wish to post an event. ``payload`` is canonical JSON; without ``id`` no repeat of it is known."""

    namespace: str
    name: str
    payload: bytes
    id: str | None = None
    traceparent: str | None = None


class Posted(msgspec.Struct, frozen=True, kw_only=True):
    """An event that was posted. ``rev`` marks its last write.

    ``looked``: the runs that waited for it have been woken. ``woken`` counts those that whoever finishes the
    event woke; ``taken``: a run that came to wait later took it. ``kept``: when last recorded it had reached
    nobody. ``due_at`` is when the sweep has to look, as long as anything is left to do.
    """

    namespace: str
    name: str
    id: str
    rev: str
    payload: bytes
    digest: str
    posted_at: Millis
    traceparent: str | None = None
    settlement: Settlement = NOTHING
    looked: bool = False
    woken: int = 0
    taken: bool = False
    kept: bool = False
    due_at: Millis | None = None
    strikes: int = 0

    @property
    def event(self) -> str:
        """Its name, as subscriptions name it."""
        return self.name

    @property
    def at(self) -> Millis:
        """Since when its subscribers are owed it."""
        return self.posted_at

    @property
    def depth(self) -> int:
        """No hand-off led here."""
        return 0

    @property
    def trigger(self) -> TriggeredBy | None:
        """No run's ending started what this starts."""
        return None

    def started_id(self, subscriber: str) -> str:
        """The id of the run that this event starts of ``subscriber`` (I3)."""
        return id_from_handoff(self.namespace, "event", self.name, self.id, subscriber)

    @property
    def pressing(self) -> bool:
        """Whether somebody is still to get it now."""
        return self.settlement.marked or not self.looked

    @property
    def open(self) -> bool:
        """Whether a run that comes to wait for it takes it."""
        return not self.taken and (not self.looked or self.kept)

    @property
    def started(self) -> tuple[tuple[str, str], ...]:
        """The subscribers it started, each with its run."""
        return tuple(
            (each.subscriber, self.started_id(each.subscriber))
            for each in self.settlement.deliveries
            if each.state is DeliveryState.STARTED
        )

    @property
    def runs_woken(self) -> int:
        """How many runs it had woken when it was last recorded, or a moment later if it is not yet."""
        return self.woken + int(self.taken and not self.kept)

    def recorded(self, settlement: Settlement, *, looked: bool, rev: str, look_at: Millis) -> Posted:
        """This once ``settlement`` says what became of its subscribers. It is kept if it has reached nobody,
        and stays what it was told to be: a run that takes it later takes what was kept."""
        reached = self.woken > 0 or any(each.state in _REACHED for each in settlement.deliveries)
        return replace(
            self,
            rev=rev,
            settlement=settlement,
            looked=looked,
            kept=looked and not reached and (self.kept or not self.taken),
            due_at=look_at if settlement.holding or not looked else None,
            strikes=0,
        )


class CountWoken(msgspec.Struct, frozen=True):
    """Count, beside a run's waking, that ``posted`` woke it. ``rev`` marks the write."""

    posted: Posted
    rev: str


class Take(msgspec.Struct, frozen=True):
    """Take ``posted``, beside the waking of the run that it was kept for, if nobody has taken it. ``rev``
    marks the write."""

    posted: Posted
    rev: str


def check_name(name: str, loc: list[str | int]) -> None:
    """Raise InvalidRequest at ``loc`` unless ``name`` is that of a custom event."""
    if name.startswith(BATONS_OWN):
        raise InvalidRequest.at(loc, f"events beginning '{BATONS_OWN}' are Baton's own")
    if not names.matches(names.EVENT, name):
        raise InvalidRequest.at(loc, f"must match {names.EVENT}")


def post(wish: Post, *, id_: str, rev: str, now: Millis, sweep_after_seconds: float) -> Posted:
    """The event that ``wish`` asks for. Raises PayloadTooLarge.

    Whom it is owed to is for whoever finishes it to find out; the sweep does ``sweep_after_seconds`` from now
    if nobody has.
    """
    check_size("payload", len(wish.payload))
    return Posted(
        namespace=wish.namespace,
        name=wish.name,
        id=id_,
        rev=rev,
        payload=wish.payload,
        digest=digest(wish.payload),
        posted_at=now,
        traceparent=wish.traceparent,
        settlement=Settlement(unresolved=True),
        due_at=now + millis(sweep_after_seconds),
    )


def check_same(standing: Posted, wish: Post) -> None:
    """Raise IdempotencyMismatch when the id of ``standing`` comes with another payload (I7)."""
    if standing.digest != digest(wish.payload):
        raise IdempotencyMismatch("an event of this id was posted with another payload")


def event_payload(posted: Posted) -> bytes:
    """What subscribers get, as canonical JSON."""
    return canonical({"event": posted.name, "id": posted.id, "payload": msgspec.Raw(posted.payload)})
