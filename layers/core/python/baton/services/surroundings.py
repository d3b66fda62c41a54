"""A run and all around it: what became of its endings, and who waits for whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from baton.domain.catalog import endings
from baton.domain.clock import Millis
from baton.domain.handoff import Settled
from baton.domain.settlement import Delivery, DeliveryState
from baton.domain.states import State
from baton.errors import NotFound
from baton.services.catalog import Catalog
from baton.services.context import Context
from baton.services.details import Details, RunDetail
from baton.services.lookup import Lookup
from baton.store.runs import Around

MAX_LOOKED_UP = 100
"""Other runs whose state one answer tells: the one it waits for, then of the started ones the newest, then
those that wait for it."""


class Delivered(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one subscriber of one ending. ``run_id`` is that of the run it was started as, and
    ``run_state`` how that stands now."""

    subscriber: str
    event: str
    attempt: int
    state: DeliveryState
    run_id: str | None
    run_state: State | None
    error: str | None
    at: Millis


class Awaiting(msgspec.Struct, frozen=True):
    """A run that waits for this one, and how it stands now."""

    run_id: str
    run_state: State


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """A run and all around it. ``subscribers`` are those of both its endings, as registered now. What it
    waits for is its row's to say; ``target`` is how the run stands that it waits for, where it does.
    ``awaited_by`` are those whose state could be looked up and that are not over."""

    detail: RunDetail
    deliveries: tuple[Delivered, ...]
    subscribers: tuple[str, ...]
    target: State | None = None
    awaited_by: tuple[Awaiting, ...] = ()


class Views:
    """Where a run is seen with all around it."""

    def __init__(self, context: Context, lookup: Lookup, details: Details, catalog: Catalog) -> None:
        self._context = context
        self._lookup = lookup
        self._details = details
        self._catalog = catalog

    def load(self, namespace: str, run_id: str) -> Surroundings:
        """The run now. One round trip, and a second where payloads stand elsewhere in the log or runs were
        started. The row and its settlements are read consistently; the state of other runs, and a running
        run's tail, may lag by the store's replication. Raises NotFound."""
        context = self._context
        self._catalog.prepare(namespace)
        around, newest = context.dynamo.together(
            lambda: context.runs.around(namespace, run_id),
            lambda: context.log.newest(namespace, run_id, consistent=False),
        )
        if around is None or around.run.expired(context.clock.now()):
            raise NotFound(f"no run {run_id!r} here")
        settled = around.endings
        detail, states = context.dynamo.together(
            lambda: self._details.of(around.run, newest), lambda: self._states(around, settled)
        )
        wait = around.run.wait
        return Surroundings(
            detail=detail,
            deliveries=tuple(seen for each in settled for seen in _seen(each, states)),
            subscribers=self._subscribers(namespace, around.run.workflow),
            target=None if wait is None or wait.run_id is None else states.get(wait.run_id),
            awaited_by=tuple(_awaiting(around, states)),
        )

    def _states(self, around: Around, settled: Sequence[Settled]) -> dict[str, State]:
        """How the runs stand that it waits for, that its deliveries led to, and that wait for it."""
        run = around.run
        awaited = [] if run.wait is None or run.wait.run_id is None else [run.wait.run_id]
        started = [
            id_
            for each in settled
            for delivery in each.settlement.deliveries
            if (id_ := each.delivered_run(delivery))
        ]
        ids = dict.fromkeys([*awaited, *reversed(started), *(waiter.run_id for waiter in around.waiters)])
        found = self._context.runs.get_many(run.namespace, list(ids)[:MAX_LOOKED_UP])
        now = self._context.clock.now()
        return {run.id: run.state for run in found.values() if not run.expired(now)}

    def _subscribers(self, namespace: str, workflow: str) -> tuple[str, ...]:
        snapshot = self._catalog.at_hand(namespace)
        if snapshot is None:
            return ()
        return tuple(sorted({name for event in endings(workflow) for name in snapshot.subscribers_of(event)}))


def _awaiting(around: Around, states: dict[str, State]) -> Iterable[Awaiting]:
    """Who waits for the run. A waiter that is over is a left-over."""
    for waiter in around.waiters:
        state = states.get(waiter.run_id)
        if waiter.birth == around.run.birth and state is not None and not state.terminal:
            yield Awaiting(waiter.run_id, state)


def _seen(settled: Settled, states: dict[str, State]) -> Iterable[Delivered]:
    settlement = settled.settlement
    owed = [Delivery(name, DeliveryState.OWED, settled.at) for name in settlement.owed]
    made = [each for each in settlement.deliveries if each.subscriber not in settlement.owed]
    for each in sorted([*owed, *made], key=lambda delivery: delivery.subscriber):
        run_id = settled.delivered_run(each)
        yield Delivered(
            subscriber=each.subscriber,
            event=settled.event,
            attempt=settled.attempt,
            state=each.state,
            run_id=run_id,
            run_state=None if run_id is None else states.get(run_id),
            error=each.error,
            at=each.at,
        )
