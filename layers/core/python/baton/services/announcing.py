"""Telling everyone outside, on the event bus, what became of an ending: best effort."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from baton.domain import lifecycle
from baton.domain.choosing import Payload
from baton.domain.handoff import Settled
from baton.domain.lifecycle import LifecycleEvent
from baton.domain.run import Run
from baton.domain.settlement import DeliveryState
from baton.errors import BatonError
from baton.observability import logger
from baton.outbound.bus import Bus
from baton.services.delivering import Outcome


class Announcer:
    """Where lifecycle events are made. Nothing is raised, and nothing is read where there is no bus."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def started(self, runs: Iterable[Run]) -> None:
        """Runs have begun."""
        if self._bus.on:
            self._bus.put(map(lifecycle.started, runs))

    def ended(self, settled: Settled, payload: Callable[[], Payload]) -> None:
        """An attempt has settled, if that is anybody's business. ``payload`` reads what its subscribers
        get."""
        if not self._bus.on or not settled.public:
            return
        try:
            told = payload().canonical
        except BatonError as trouble:  # what was delivered stays so, told or not
            logger.warning(
                "an ending can't be told",
                namespace=settled.namespace,
                run=settled.run.id,
                reason=trouble.detail,
            )
            return
        self._bus.put(
            [lifecycle.ended(settled.run, told, attempt=settled.attempt, state=settled.state, at=settled.at)]
        )

    def delivered(self, settled: Settled, outcomes: Iterable[Outcome]) -> None:
        """Deliveries have been recorded, by the one whose write it was: once each, but for a death."""
        if self._bus.on:
            self._bus.put([event for each in outcomes if (event := _of_delivery(settled, each)) is not None])


def _of_delivery(settled: Settled, outcome: Outcome) -> LifecycleEvent | None:
    delivery = outcome.delivery
    if delivery is None:
        return None
    started_run_id = settled.delivered_run(delivery)
    if delivery.state is DeliveryState.FAILED:
        return lifecycle.trigger_failed(
            settled.run,
            attempt=settled.attempt,
            event=settled.event,
            subscriber=delivery.subscriber,
            error=delivery.error or "",
            at=delivery.at,
        )
    if delivery.state is DeliveryState.STARTED and started_run_id is not None:
        return lifecycle.triggered(
            settled.run,
            attempt=settled.attempt,
            event=settled.event,
            subscriber=delivery.subscriber,
            started_run_id=started_run_id,
            at=delivery.at,
        )
    return None
