"""Publishing: delivering what an ending owes, once, whoever publishes and whatever dies in between.

A publisher starts each owed subscriber under a derived id, then moves them from what is owed to their
deliveries in one conditional write. Redelivery, two publishers at once and a death between the writes all end
the same: what was started is found under its id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Protocol

import msgspec
from msgspec.structs import replace

from baton.domain.catalog import Snapshot
from baton.domain.choosing import Payload
from baton.domain.clock import millis
from baton.domain.handoff import Settled, ending_payload
from baton.domain.run import Step
from baton.domain.settlement import NOTHING, Delivery, DeliveryState, PublishLease, Settlement
from baton.errors import Busy, Unavailable
from baton.services.announcing import Announcer
from baton.services.catalog import Catalog
from baton.services.context import Context
from baton.services.delivering import Deliverer, Outcome
from baton.services.details import Details
from baton.store.apart import attempt_of
from baton.store.runs import Changed

ROUNDS = 12
LEASE_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds before the publish lease is asked for again."""

AGAIN = (DeliveryState.DECLINED, DeliveryState.FAILED)
"""Deliveries that an operator's republishing tries anew."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What to deliver beside what is owed: to ``also``, and, with ``again``, to those whose delivery was
    declined or failed; ``only`` narrows it to some. With ``lease``, nobody else who asks for it publishes
    meanwhile."""

    also: tuple[str, ...] = ()
    only: frozenset[str] | None = None
    again: bool = False
    lease: bool = False


LIVE = Wish()
LEASED = Wish(lease=True)


class Published(msgspec.Struct, frozen=True):
    """What a publisher did: what each subscriber it tried got, and the deliveries that stood before.
    ``recorded``: it wrote the settlement."""

    outcomes: tuple[Outcome, ...] = ()
    standing: tuple[Delivery, ...] = ()
    recorded: bool = False


class Wakes(Protocol):
    """Who wakes those that waited for an attempt that has settled."""

    def wake_all(self, settled: Settled) -> bool:
        """Whether nobody waits for it any more. Nothing is raised."""


class Publisher:
    """Where endings are delivered."""

    def __init__(
        self,
        context: Context,
        catalog: Catalog,
        details: Details,
        deliverer: Deliverer,
        announcer: Announcer,
        waits: Wakes,
    ) -> None:
        self._context = context
        self._catalog = catalog
        self._details = details
        self._deliverer = deliverer
        self._announcer = announcer
        self._waits = waits

    def publish_item(self, key: str, sort: str) -> None:
        """Publish what an announced item of the runs table owes: a run's row, or a settlement of its own."""
        namespace, run_id = key.split("#", 1)
        self.publish(namespace, run_id, attempt_of(sort))

    def publish(
        self,
        namespace: str,
        run_id: str,
        attempt: int | None = None,
        wish: Wish = LIVE,
        *,
        birth: str | None = None,
    ) -> Published:
        """Deliver what the ending of ``attempt`` (None: the present one) owes, in the life ``birth`` of the
        id (None: whichever it has now).

        It may be called any number of times, by any number at once. A subscriber in trouble gets a failed
        delivery, or stays owed and is tried again by the sweep; it never keeps another from its own. Raises
        Busy when somebody else holds the lease, and Unavailable when the store or the catalog can't be used:
        whoever publishes next finds what was started.
        """
        tried: dict[str, Outcome] = {}
        settled = self._read(namespace, run_id, attempt, birth)
        if settled is None:
            return Published()
        payload = cache(partial(self._payload, settled))
        announced = settled.announced
        if wish.lease and _anything(settled, wish):
            settled = self._lease(settled)
        for round_ in range(ROUNDS):
            if settled is None:
                return Published()
            missed = _recorded_otherwise(settled.settlement, tried)
            if not missed and not _anything(settled, wish):
                if announced:
                    self._announcer.ended(settled, payload)
                return Published()
            awake = settled.settlement.waiters == 0 or self._waits.wake_all(settled)
            settlement = self._resolved(settled, awake=awake)
            names = tuple(sorted({*_wanted(settlement, wish), *missed}))
            snapshot = self._deliverer.snapshot(namespace, settled.event, names)
            for name in names:
                if name not in tried:
                    tried[name] = self._deliverer.deliver(settled, snapshot, name, payload)
            outcomes = tuple(tried[name] for name in names)
            step = self._recorded(settled, settlement, snapshot, outcomes)
            if self._context.runs.change(settled.run, step) is Changed.APPLIED:
                if announced:
                    self._announcer.ended(settled, payload)
                self._announcer.delivered(settled, outcomes)
                return Published(outcomes, settlement.deliveries, recorded=True)
            self._context.stand_back(round_)
            settled = self._again(settled)
        raise Unavailable("the run changes faster than its ending can be published")

    def owe(
        self,
        namespace: str,
        run_id: str,
        attempt: int,
        subscribers: Iterable[str],
        *,
        birth: str | None = None,
    ) -> Settlement:
        """Have the ending of ``attempt`` owed to those of ``subscribers`` that have not got it, for a
        publisher to come: what it owes then, and what was delivered before.

        The live publisher is called, and the sweep looks in any case. Raises Unavailable: then it is not
        known whether it is owed.
        """
        context = self._context
        for round_ in range(ROUNDS):
            settled = self._read(namespace, run_id, attempt, birth)
            if settled is None:
                return NOTHING
            standing = settled.settlement
            owing = standing.owing(name for name in subscribers if not standing.reached(name))
            if standing.unresolved or owing.owed == standing.owed:
                return standing
            step = settled.recorded(
                owing,
                rev=context.nonce(),
                look_at=context.clock.now() + millis(context.settings.publish_grace_seconds),
                retention_seconds=context.settings.retention_seconds,
                announce=True,
            )
            if context.runs.change(settled.run, step) is Changed.APPLIED:
                return owing
            context.stand_back(round_)
        raise Unavailable("the run changes faster than its ending can be owed")

    def _read(self, namespace: str, run_id: str, attempt: int | None, birth: str | None) -> Settled | None:
        settled = self._context.runs.settled(namespace, run_id, attempt)
        if settled is None or settled.run.expired(self._context.clock.now()):
            return None
        return settled if birth in (None, settled.run.birth) else None

    def _again(self, before: Settled) -> Settled | None:
        """The same ending as it stands now; None where its run is gone, also when the id has begun another
        life since: what that one's ending owes has not been tried here."""
        return self._read(before.namespace, before.run.id, before.attempt, before.run.birth)

    def _lease(self, settled: Settled) -> Settled | None:
        """The settlement once the publish lease is ours. Raises Busy."""
        context, owner = self._context, self._context.nonce()
        for pause in (*LEASE_PAUSES, None):
            lease = settled.settlement.lease
            if lease is None or lease.until <= context.clock.now():
                until = context.clock.now() + millis(context.settings.publish_lease_seconds)
                step = settled.leased(PublishLease(owner, until), rev=context.nonce())
                if context.runs.change(settled.run, step) is Changed.APPLIED:
                    return settled.after(step)
            if pause is not None:
                context.clock.sleep(pause)
                read = self._again(settled)
                if read is None:
                    return None
                settled = read
        raise Busy(f"somebody else publishes run {settled.run.id!r} now")

    def _payload(self, settled: Settled) -> Payload:
        output, error = self._details.ending(settled.run, settled.ending)
        return Payload.of(ending_payload(settled, output, error))

    def _resolved(self, settled: Settled, *, awake: bool) -> Settlement:
        """The settlement with whom it owes, where settling could not read that; ``awake``: nobody waits for
        it any more."""
        settlement = settled.settlement if not awake else replace(settled.settlement, waiters=0)
        if not settlement.unresolved:
            return settlement
        snapshot = self._catalog.snapshot(settled.namespace)
        return replace(settlement, unresolved=False).owing(snapshot.subscribers_of(settled.event))

    def _recorded(
        self, settled: Settled, before: Settlement, snapshot: Snapshot, outcomes: tuple[Outcome, ...]
    ) -> Step:
        """The write that moves the delivered from what is owed; who could not be delivered to is owed."""
        context = self._context
        fired = self._deliverer.fired(settled.namespace, before)
        made = [outcome.delivery for outcome in outcomes if outcome.delivery is not None]
        left = [outcome for outcome in outcomes if outcome.delivery is None]
        after = before.delivered([*fired, *made])
        after = after.owing(outcome.subscriber for outcome in left)
        grace = millis(context.settings.publish_grace_seconds)
        later = after.look_at(context.clock.now(), grace)
        return settled.recorded(
            after,
            rev=context.nonce(),
            look_at=min((outcome.look_at for outcome in left), default=later),
            retention_seconds=context.retention_seconds(snapshot, settled.run.workflow),
        )


def _anything(settled: Settled, wish: Wish) -> bool:
    return settled.settlement.holding or wish.also != () or wish.again


def _recorded_otherwise(settlement: Settlement, tried: Mapping[str, Outcome]) -> frozenset[str]:
    """Those that have got it here while another publisher, by another catalog, recorded that they have
    not."""
    reached = {name for name, outcome in tried.items() if outcome.delivery and outcome.delivery.reached}
    return frozenset(name for name in reached if not settlement.reached(name))


def _wanted(settlement: Settlement, wish: Wish) -> set[str]:
    """Whom to deliver to now."""
    names = {*settlement.owed}
    names.update(name for name in wish.also if settlement.delivery(name) is None)
    if wish.again:
        names.update(each.subscriber for each in settlement.deliveries if each.state in AGAIN)
    return names if wish.only is None else names & wish.only
