"""Republishing: an operator's word that endings be delivered again, one run's or a stretch of time's."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from baton.domain.audit import Action
from baton.domain.catalog import Snapshot, ending
from baton.domain.clock import Millis, millis
from baton.domain.handoff import Settled
from baton.domain.settlement import Delivery, DeliveryState
from baton.domain.states import State
from baton.errors import Busy, NotFound, Unavailable
from baton.services.audit import Audit
from baton.services.catalog import Catalog
from baton.services.context import Context
from baton.services.delivering import Outcome
from baton.services.endings import PAGE, Cursor, Endings, Stretch
from baton.services.publishing import Published, Publisher, Wish

END_OF_TIME: Millis = 10**14


UNREADABLE = "the run's record can't be read"


class Republish(msgspec.Struct, frozen=True, kw_only=True):
    """A wish that endings be delivered again: to ``subscriber``, or to all that subscribe to them now.
    ``dry_run``: only count what would come of it. ``by`` is who wishes it, where somebody is known."""

    namespace: str
    subscriber: str | None = None
    dry_run: bool = False
    by: str | None = None


class RepublishRange(Republish, frozen=True, kw_only=True):
    """The endings of a workflow's runs, completed ones first. ``since`` and ``until`` are settle times, both
    included; ``limit`` is how many runs one call goes over; ``place`` is where the call before stopped."""

    workflow: str
    endings: tuple[State, ...] = (State.COMPLETED, State.FAILED)
    since: Millis = 0
    until: Millis = END_OF_TIME
    limit: int = PAGE
    place: str | None = None


class Refusal(NamedTuple):
    """A subscriber that was not started, and why."""

    run_id: str
    subscriber: str
    error: str


class Republished(msgspec.Struct, kw_only=True):
    """What one call came to. ``runs`` are the settled runs gone over, subscribed to or not; ``created`` and
    ``existing`` count subscribers' runs, an input that joined a window among the first; ``re_owed`` what is
    owed again as it could not be started now; ``skipped`` what was coalesced already. ``busy`` are runs that
    somebody else publishes. ``place`` is where the next call goes on."""

    runs: int = 0
    created: int = 0
    existing: int = 0
    re_owed: int = 0
    skipped: int = 0
    refused: list[Refusal] = []
    busy: list[str] = []
    place: str | None = None


class Republisher:
    """Where endings are delivered again, by the same path as the first time. ``rehearsal`` publishes dry
    runs. Of every other call the audit keeps who began it, before anything is delivered."""

    def __init__(
        self,
        context: Context,
        catalog: Catalog,
        endings: Endings,
        publisher: Publisher,
        rehearsal: Publisher,
        audit: Audit,
    ) -> None:
        self._context = context
        self._catalog = catalog
        self._endings = endings
        self._publisher = publisher
        self._rehearsal = rehearsal
        self._audit = audit

    def run(self, wish: Republish, run_id: str) -> Republished:
        """Deliver the endings of all attempts of one run. One that has not settled, or was continued as new,
        has none. It may be repeated. Raises NotFound and Unavailable."""
        settled = self._endings.of_run(wish.namespace, run_id)
        if settled is None:
            raise NotFound(f"no run {run_id!r} here")
        call = self._call(wish, {each.event for each in settled})
        self._note(wish, Action.RUN_REPUBLISHED, run_id)
        for each in settled:
            call.deliver(each)
        return call.told

    def range(self, wish: RepublishRange) -> Republished:
        """Deliver the endings of a stretch of time, for as long as a call may work and until it has gone over
        ``limit`` runs; the answer's ``place`` goes on.

        It may be repeated. Raises Unavailable where nothing could be done.
        """
        clock, settings = self._context.clock, self._context.settings
        deadline = clock.now() + millis(settings.republish_seconds)
        events = [ending(state, wish.workflow) for state in wish.endings]
        cells = [(event, shard) for event in events for shard in range(settings.settled_shards)]
        if wish.since > wish.until:
            return Republished()  # the store refuses a range that ends before it begins
        call = self._call(wish, set(events))
        self._note(wish, Action.RUNS_REPUBLISHED, wish.workflow)
        cell, start = Cursor.of(wish.place)
        while cell < len(cells) and call.told.runs < wish.limit:
            event, shard = cells[cell]
            stretch = Stretch(namespace=wish.namespace, event=event, since=wish.since, until=wish.until)
            limit = min(PAGE, wish.limit - call.told.runs)
            page = self._endings.page(stretch, shard, start=start, limit=limit)
            for passed in page.passed:
                if call.told.runs and clock.now() >= deadline:
                    return call.until(cell, start)
                try:
                    for each in passed.endings:
                        call.deliver(each)
                    call.refuse_unreadable(passed.unreadable)
                except Unavailable:
                    if not call.told.runs:
                        raise
                    return call.until(cell, start)
                start = passed.place
            cell, start = (cell + 1, None) if page.more is None else (cell, page.more)
        return call.until(cell, start) if cell < len(cells) else call.told

    def _call(self, wish: Republish, events: set[str]) -> _Call:
        snapshot = self._catalog.snapshot(wish.namespace, fresh=True)
        return _Call(self._rehearsal if wish.dry_run else self._publisher, snapshot, wish, events)

    def _note(self, wish: Republish, action: Action, subject: str) -> None:
        if not wish.dry_run:
            self._audit.note(wish.namespace, action, subject, by=wish.by)


class _Call:
    """One call under way: what it has done so far."""

    def __init__(self, publisher: Publisher, snapshot: Snapshot, wish: Republish, events: set[str]) -> None:
        self.told = Republished()
        self._publisher = publisher
        self._snapshot = snapshot
        self._wish = wish
        self._unknown = wish.subscriber is not None and not any(
            snapshot.links(event, wish.subscriber) for event in events
        )
        self._runs: set[str] = set()
        self._seen: set[tuple[str, int]] = set()

    def until(self, cell: int, start: str | None) -> Republished:
        """What it came to, and where the next one goes on."""
        return replace(self.told, place=str(Cursor(cell, start)))

    def deliver(self, settled: Settled) -> None:
        """Deliver one ending, unless it was gone over before. Raises Unavailable: then it counts in
        nothing."""
        run_id, told = settled.run.id, self.told
        if (run_id, settled.attempt) in self._seen:
            return
        targets = self._targets(settled.event)
        if targets:
            self._publish(settled, targets)
        self._seen.add((run_id, settled.attempt))
        if run_id in self._runs:
            return
        self._runs.add(run_id)
        told.runs += 1
        if self._unknown:
            told.refused.append(
                Refusal(run_id, self._wish.subscriber or "", self._why_unknown(settled.event))
            )

    def refuse_unreadable(self, run_id: str | None) -> None:
        """Tell of a run that can't be read."""
        if run_id is not None:
            self.told.refused.append(Refusal(run_id, self._wish.subscriber or "", UNREADABLE))

    def _targets(self, event: str) -> tuple[str, ...]:
        subscribed = self._snapshot.subscribers_of(event)
        wanted = self._wish.subscriber
        return subscribed if wanted is None else tuple(name for name in subscribed if name == wanted)

    def _publish(self, settled: Settled, targets: tuple[str, ...]) -> None:
        standing = settled.settlement
        deliveries: tuple[Delivery, ...] = standing.deliveries
        outcomes: tuple[Outcome, ...] = ()
        if standing.unresolved or not all(map(standing.reached, targets)):
            try:
                published = self._published(settled, targets)
            except Busy:
                if settled.run.id not in self.told.busy:
                    self.told.busy.append(settled.run.id)
                return
            deliveries, outcomes = published.standing, published.outcomes
        tried = {outcome.subscriber for outcome in outcomes}
        for outcome in outcomes:
            self._count(settled.run.id, outcome)
        for each in deliveries:
            if each.subscriber in targets and each.subscriber not in tried:
                self.told.existing += each.state is DeliveryState.STARTED
                self.told.skipped += each.state is DeliveryState.COALESCED

    def _published(self, settled: Settled, targets: tuple[str, ...]) -> Published:
        where, birth = (settled.namespace, settled.run.id, settled.attempt), settled.run.birth
        wish = Wish(also=targets, only=frozenset(targets), again=True, lease=True)
        try:
            return self._publisher.publish(*where, wish, birth=birth)
        except Unavailable:
            if self._wish.dry_run:
                raise
            # What could not be told may have been done: it is counted as it stands.
            owing = self._publisher.owe(*where, targets, birth=birth)
            left = [name for name in targets if name in owing.owed or owing.unresolved]
            return Published(tuple(Outcome(subscriber=name) for name in left), owing.deliveries)

    def _count(self, run_id: str, outcome: Outcome) -> None:
        told, delivery = self.told, outcome.delivery
        if delivery is None:
            told.re_owed += 1
        elif delivery.state is DeliveryState.STARTED:
            told.created += outcome.created
            told.existing += not outcome.created
        elif delivery.state is DeliveryState.COALESCED:
            told.created += 1
        elif delivery.state is DeliveryState.FAILED:
            told.refused.append(Refusal(run_id, outcome.subscriber, delivery.error or "it failed"))

    def _why_unknown(self, event: str) -> str:
        if self._snapshot.workflow(self._wish.subscriber or "") is None:
            return "it is not in the catalog"
        return f"it does not subscribe to {event}"
