"""Baton's events on an EventBridge bus, for everyone outside: best effort."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from baton.domain.clock import Clock
from baton.domain.payload import KB
from baton.observability import logger
from baton.outbound.clients import Client, LazyClient, Line

if TYPE_CHECKING:
    from baton.domain.lifecycle import LifecycleEvent

SOURCE = "baton"
MAX_ENTRIES = 10
MAX_BYTES = 256 * KB
"""Of one PutEvents call. Source: EventBridge's quotas."""

PAUSES = (0.1, 0.2, 0.4)
"""Seconds before entries that the bus refused are sent again, each with full jitter."""


class Bus:
    """The event bus; without a name, events go nowhere.

    Best effort: an event may be lost, which a log line says, and may come twice, under the same id.
    """

    def __init__(
        self,
        name: str | None,
        *,
        region: str,
        clock: Clock,
        jitter: Callable[[], float],
        client: Client | None = None,
    ) -> None:
        self._name = name or None
        self._clock = clock
        self._jitter = jitter
        self._line = Line(client or LazyClient("events", region=region), clock)

    @property
    def on(self) -> bool:
        """Whether there is a bus: without one, nobody need make events."""
        return self._name is not None

    def put(self, events: Iterable[LifecycleEvent]) -> None:
        """Send ``events``, those that the bus refused again. Never raises."""
        if self._name is None:
            return
        for batch in _batches(events):
            unsent = self._send(batch)
            if unsent:
                lost = [f"{event.type} of {event.namespace}#{event.subject}" for event in unsent]
                logger.warning("events could not be sent", events=lost)

    def _send(self, batch: list[LifecycleEvent]) -> list[LifecycleEvent]:
        """Those that could not be sent."""
        for pause in (*PAUSES, None):
            answer = self._line.call("put_events", Entries=[self._entry(event) for event in batch])
            if answer is None:
                break  # botocore has tried again by itself
            results = answer["Entries"]
            batch = [event for event, said in zip(batch, results, strict=True) if "ErrorCode" in said]
            if not batch or pause is None:
                break
            self._clock.sleep(pause * self._jitter())
        return batch

    def _entry(self, event: LifecycleEvent) -> dict[str, Any]:
        return {
            "EventBusName": self._name,
            "Source": SOURCE,
            "DetailType": event.type,
            "Detail": event.detail.decode(),
        }


def _batches(events: Iterable[LifecycleEvent]) -> Iterator[list[LifecycleEvent]]:
    batch: list[LifecycleEvent] = []
    size = 0
    for event in events:
        # Source: "Calculating EventBridge PutEvents event entry size".
        weight = len(SOURCE) + len(event.type) + len(event.detail)
        if batch and (len(batch) == MAX_ENTRIES or size + weight > MAX_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += weight
    if batch:
        yield batch
