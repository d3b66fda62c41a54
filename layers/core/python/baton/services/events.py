"""Custom events: their subscribers are started and the runs that wait for them woken, once, whoever dies; one
that reaches nobody is kept for the next run that comes to wait."""

from __future__ import annotations

from functools import cache

from msgspec.structs import replace

from baton.domain.catalog import Snapshot
from baton.domain.choosing import Payload
from baton.domain.clock import millis
from baton.domain.events import Post, Posted, check_same, event_payload, post
from baton.domain.settlement import Settlement
from baton.errors import Unavailable
from baton.services.catalog import Catalog
from baton.services.context import Context
from baton.services.delivering import Deliverer, Outcome
from baton.services.waits import Waits
from baton.store.events import EventKey

ROUNDS = 12


class Events:
    """Where events of one's own are posted."""

    def __init__(self, context: Context, catalog: Catalog, deliverer: Deliverer, waits: Waits) -> None:
        self._context = context
        self._catalog = catalog
        self._deliverer = deliverer
        self._waits = waits

    def publish(self, wish: Post) -> Posted:
        """Post an event: what became of it.

        An id that was posted before starts nothing new, and answers the same once all was done; what its
        poster left undone is done now. Raises PayloadTooLarge, IdempotencyMismatch (the id came with another
        payload), and Unavailable: the event may be posted then, the same again finds out and the sweep
        finishes it.
        """
        context = self._context
        posted = post(
            wish,
            id_=wish.id or context.birth(),
            rev=context.nonce(),
            now=context.clock.now(),
            sweep_after_seconds=context.settings.publish_grace_seconds,
        )
        standing = context.events.create(posted)
        check_same(standing, wish)
        return self._finished(standing) if standing.pressing else standing

    def tend(self, key: EventKey) -> Posted | None:
        """What the sweep does with an event that is due: finish it. None when there is none, or nothing is
        left to do. Raises Unavailable."""
        posted = self._context.events.get(key)
        if posted is None or posted.due_at is None:
            return None
        return self._finished(posted)

    def _finished(self, posted: Posted) -> Posted:
        """The event once its subscribers have got it and its waiters are awake, as far as that can be now.

        It may be done by several at once, and again after a death: what each starts and wakes the others find
        so, and one of them records it.
        """
        context, tried = self._context, dict[str, Outcome]()
        payload = cache(lambda: Payload.of(event_payload(posted)))
        key = EventKey(posted.namespace, posted.name, posted.id)
        for round_ in range(ROUNDS):
            snapshot = self._snapshot(posted)
            for name in _resolved(posted, snapshot).owed:
                if name not in tried:
                    tried[name] = self._deliverer.deliver(posted, snapshot, name, payload)
            looked, met = (True, 0) if posted.looked else self._waits.wake_by(posted)
            if met:
                posted = context.events.get(key) or posted
            after = self._recorded(posted, _resolved(posted, snapshot), tried, looked=looked)
            if context.events.record(posted, after):
                return after
            context.stand_back(round_)
            posted = context.events.get(key) or posted
            if not posted.pressing:
                return posted
        raise Unavailable("the event changes faster than it can be recorded")

    def _snapshot(self, posted: Posted) -> Snapshot:
        """The catalog to deliver by. Nothing heals an event whose subscriber was registered just before it:
        so whom it is owed to is never read from memory."""
        if posted.settlement.unresolved:
            return self._catalog.snapshot(posted.namespace, fresh=True)
        return self._deliverer.snapshot(posted.namespace, posted.name, posted.settlement.owed)

    def _recorded(
        self, posted: Posted, settlement: Settlement, tried: dict[str, Outcome], *, looked: bool
    ) -> Posted:
        context = self._context
        outcomes = [tried[name] for name in settlement.owed if name in tried]
        made = [outcome.delivery for outcome in outcomes if outcome.delivery is not None]
        left = [outcome.look_at for outcome in outcomes if outcome.delivery is None]
        after = settlement.delivered([*self._deliverer.fired(posted.namespace, settlement), *made])
        grace = millis(context.settings.publish_grace_seconds)
        return posted.recorded(
            after,
            looked=looked,
            rev=context.nonce(),
            look_at=min(left, default=after.look_at(context.clock.now(), grace)),
        )


def _resolved(posted: Posted, snapshot: Snapshot) -> Settlement:
    """Whom it is owed to, which is found out once."""
    settlement = posted.settlement
    if not settlement.unresolved:
        return settlement
    return replace(settlement, unresolved=False).owing(snapshot.subscribers_of(posted.name))
