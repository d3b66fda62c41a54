"""Delivering an event to one subscriber: started, joined into its window, declined, or failed with the
reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec
from msgspec.structs import replace

from baton.domain.catalog import Batch, Snapshot, Workflow
from baton.domain.choosing import Declined, Payload, Unclear, choose
from baton.domain.clock import Millis, millis
from baton.domain.expressions import ExpressionFailed, mapped
from baton.domain.queueing import pushed_to
from baton.domain.run import TriggeredBy
from baton.domain.settlement import Delivery, DeliveryState, Settlement
from baton.domain.starting import HandOff
from baton.errors import PayloadTooLarge, TryAgain, Unavailable
from baton.observability import logger
from baton.services.catalog import Catalog
from baton.services.coalescing import Coalescer, Joined, Standing
from baton.services.context import Context
from baton.services.handing import Handed, hand_off, handed
from baton.store.windows import StartedAlone

MAX_DEPTH = 64
MAX_REASON = 300
"""Characters of a delivery's reason: it stands in the run's row."""

TOO_DEEP = f"the hand-off is more than {MAX_DEPTH} deep: a cycle of subscriptions ends here"
ABSENT = "it is not in the catalog, or not subscribed to this now"
ORPHANED = "orphaned: it is not in the catalog, or not subscribed to this any more"


class Source(Protocol):
    """What is handed off: an ending, or a custom event. ``at`` is since when it is owed, ``trigger`` what the
    started run remembers of it."""

    @property
    def namespace(self) -> str: ...
    @property
    def event(self) -> str: ...
    @property
    def at(self) -> Millis: ...
    @property
    def depth(self) -> int: ...
    @property
    def traceparent(self) -> str | None: ...
    @property
    def trigger(self) -> TriggeredBy | None: ...
    def started_id(self, subscriber: str) -> str:
        """The id of the run that this starts of ``subscriber``, always the same (I3)."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one attempt at one subscriber led to: its delivery, or (None) why it stays owed. ``created``: it
    started a run. ``look_at``: when there is a point in trying again."""

    subscriber: str
    delivery: Delivery | None = None
    created: bool = False
    why: str | None = None
    look_at: Millis = 0


class Deliverer:
    """Where one subscriber gets what it is owed."""

    def __init__(self, context: Context, catalog: Catalog, coalescer: Coalescer) -> None:
        self._context = context
        self._catalog = catalog
        self._coalescer = coalescer

    def snapshot(self, namespace: str, event: str, subscribers: Iterable[str]) -> Snapshot:
        """The catalog to deliver by. It is read anew when it does not know one of the subscribers: whoever
        settled may have seen a newer one. Raises Unavailable."""
        at_hand = self._catalog.snapshot(namespace)
        if all(at_hand.links(event, name) for name in subscribers):
            return at_hand
        return self._catalog.snapshot(namespace, fresh=True)

    def deliver(
        self, source: Source, snapshot: Snapshot, subscriber: str, payload: Callable[[], Payload]
    ) -> Outcome:
        """Try to deliver ``source`` to ``subscriber``. ``payload`` reads what it gets.

        Nothing is raised: one subscriber's trouble is never another's. What can't be told apart from a start
        that came through stays owed.
        """
        try:
            return self._deliver(source, snapshot, subscriber, payload)
        except TryAgain as trouble:
            return self._owed(subscriber, trouble.detail)
        except Exception:  # noqa: BLE001 - an edge of its own: the other subscribers get theirs
            logger.exception(
                "a delivery failed",
                namespace=source.namespace,
                event=source.event,
                subscriber=subscriber,
            )
            return self._owed(subscriber, "an internal fault; see the logs")

    def fired(self, namespace: str, settlement: Settlement) -> list[Delivery]:
        """The coalesced deliveries whose window has fired since: nothing is buffered for them any more."""
        return [
            replace(each, buffered=False)
            for each in settlement.deliveries
            if each.buffered
            and each.run_id
            and self._coalescer.state_of(namespace, each.run_id) is Standing.FIRED
        ]

    def _deliver(
        self, source: Source, snapshot: Snapshot, subscriber: str, payload: Callable[[], Payload]
    ) -> Outcome:
        workflow = snapshot.workflow(subscriber)
        links = snapshot.links(source.event, subscriber)
        if workflow is None or not links:
            return self._orphan(source, subscriber, workflow)
        if source.depth >= MAX_DEPTH:
            return self._not_started(source, subscriber, DeliveryState.FAILED, TOO_DEEP)
        got = payload()
        chosen = choose(links, got)
        if isinstance(chosen, Declined):
            return self._not_started(source, subscriber, DeliveryState.DECLINED, None)
        if isinstance(chosen, Unclear):
            return self._not_started(source, subscriber, DeliveryState.FAILED, chosen.reason)
        try:
            if workflow.batch is not None:
                return self._join(source, workflow, workflow.batch, chosen.input, got)
            return self._start(source, workflow, chosen.input)
        except (PayloadTooLarge, ExpressionFailed) as refused:
            return self._not_started(source, subscriber, DeliveryState.FAILED, str(refused))

    def _start(self, source: Source, workflow: Workflow, input_: bytes) -> Outcome:
        done = hand_off(self._context, self._wish(source, workflow.name, input_, workflow))
        return self._found(source, workflow.name, done)

    def _join(
        self, source: Source, workflow: Workflow, batch: Batch, input_: bytes, payload: Payload
    ) -> Outcome:
        try:
            key = None if batch.key is None else mapped(batch.key, payload.value)
            joined = self._coalescer.join(self._wish(source, workflow.name, input_, workflow), batch, key)
        except StartedAlone:  # by a publisher to whom the subscriber was registered otherwise
            return self._found(source, workflow.name, self._standing(source, workflow.name))
        return self._coalesced(workflow.name, joined)

    def _orphan(self, source: Source, subscriber: str, workflow: Workflow | None) -> Outcome:
        """Owed for an hour more from when it left, or was last registered otherwise; then given up, unless it
        has come back just now, which leaves no trace of when it was gone."""
        if workflow is None:
            gone_since = self._catalog.gone_since(source.namespace, subscriber)
        else:
            gone_since = workflow.updated_at
        since = source.at if gone_since is None else max(source.at, gone_since)
        over_at = since + millis(self._context.settings.orphan_seconds)
        if over_at <= self._context.clock.now():
            if self._catalog.snapshot(source.namespace, fresh=True).links(source.event, subscriber):
                return self._owed(subscriber, ABSENT)
            return self._not_started(source, subscriber, DeliveryState.FAILED, ORPHANED)
        return self._owed(subscriber, ABSENT, min(over_at, self._context.clock.now() + millis(60)))

    def _not_started(
        self, source: Source, subscriber: str, state: DeliveryState, reason: str | None
    ) -> Outcome:
        """Declined or failed, unless a publisher before us has started it or taken it into a window."""
        standing = self._standing(source, subscriber)
        if standing in (Handed.EXISTING, Handed.JOINED):
            return self._found(source, subscriber, standing)
        return self._record(subscriber, state, reason)

    def _standing(self, source: Source, subscriber: str) -> Handed | None:
        return handed(self._context, self._wish(source, subscriber, b"null"))

    def _found(self, source: Source, subscriber: str, done: Handed | None) -> Outcome:
        """The delivery that what stands at the derived id makes. Raises Unavailable when it is gone again."""
        if done is Handed.TAKEN:
            return self._record(subscriber, DeliveryState.FAILED, "another run stands at the derived id")
        if done in (Handed.CREATED, Handed.EXISTING):
            return self._record(subscriber, DeliveryState.STARTED, created=done is Handed.CREATED)
        joined = self._coalescer.joined(source.namespace, source.started_id(subscriber))
        if joined is None:
            raise Unavailable("what stood at the derived id is gone again")
        return self._coalesced(subscriber, joined)

    def _wish(
        self, source: Source, subscriber: str, input_: bytes, workflow: Workflow | None = None
    ) -> HandOff:
        return HandOff(
            namespace=source.namespace,
            workflow=subscriber,
            run_id=source.started_id(subscriber),
            input=input_,
            triggered_by=source.trigger,
            depth=source.depth + 1,
            traceparent=source.traceparent,
            inactivity_timeout_seconds=None if workflow is None else workflow.inactivity_timeout_seconds,
            max_attempts=None if workflow is None else workflow.max_attempts,
            pushed=pushed_to(workflow) is not None,
        )

    def _coalesced(self, subscriber: str, joined: Joined) -> Outcome:
        delivery = Delivery(
            subscriber,
            DeliveryState.COALESCED,
            self._context.clock.now(),
            run_id=joined.run_id,
            buffered=not joined.fired,
        )
        return Outcome(subscriber=subscriber, delivery=delivery)

    def _record(
        self, subscriber: str, state: DeliveryState, reason: str | None = None, *, created: bool = False
    ) -> Outcome:
        error = None if reason is None else reason[:MAX_REASON]
        delivery = Delivery(subscriber, state, self._context.clock.now(), error=error)
        return Outcome(subscriber=subscriber, delivery=delivery, created=created)

    def _owed(self, subscriber: str, why: str, look_at: Millis | None = None) -> Outcome:
        later = self._context.clock.now() + millis(self._context.settings.publish_grace_seconds)
        return Outcome(subscriber=subscriber, why=why[:MAX_REASON], look_at=look_at or later)
