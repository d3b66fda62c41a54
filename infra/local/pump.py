"""Reads a table's stream and hands its records to the functions that asked for them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from infra.local.carrier import Carrier
from infra.local.delivery import Delivery
from infra.local.lanes import Lanes
from infra.local.records import Filter, Record

logger = logging.getLogger("infra.local")

BACKLOG = 5_000
"""Records that wait to be handed over before no more are read."""

BUSY_ROUNDS = 40
"""Rounds without a record before the pump takes its time."""

TROUBLE_PAUSE = 1.0
"""Seconds before a stream that can't be read is tried again."""


class Reader(Protocol):
    """What a pump reads."""

    def read(self) -> Iterator[list[Record]]:
        """One round over the stream: what is new in it, and never twice."""
        ...


class Pace(NamedTuple):
    """Seconds between two rounds: while there is traffic, and when there has been none for a while."""

    busy: float
    idle: float


class _Outlet(NamedTuple):
    filter: Filter
    lanes: Lanes[Record]


class Pump(Carrier):
    """One table's stream to the functions of ``deliveries``; it reads in a thread of its own until stopped.

    ``stopping`` is set then: also deliveries that wait to try again should look at it.
    """

    def __init__(
        self,
        reader: Reader,
        deliveries: Sequence[Delivery],
        *,
        hash_key: str,
        pace: Pace,
        name: str,
        stopping: threading.Event,
    ) -> None:
        super().__init__(f"pump-{name}", stopping=stopping)
        self._reader = reader
        self._hash_key = hash_key
        self._pace = pace
        self._quiet = 0
        self._threads = ThreadPoolExecutor(
            sum(each.source.parallel for each in deliveries), thread_name_prefix=f"stream-{name}"
        )
        self._outlets = [self._outlet(each) for each in deliveries]

    def stop(self, timeout: float) -> bool:
        """Read no more, and let what was read be handed over. False when that did not end within ``timeout``
        seconds."""
        super().stop(timeout)
        done = self.settled(timeout)
        self._threads.shutdown(wait=done, cancel_futures=True)
        return done and not self._thread.is_alive()

    def round(self) -> int:
        """Read what is new, once, and have it handed over; how many records were read."""
        if any(outlet.lanes.waiting() > BACKLOG for outlet in self._outlets):
            return 0
        count = 0
        for records in self._reader.read():
            count += len(records)
            for outlet in self._outlets:
                lanes = outlet.lanes
                lanes.add(
                    (record.lane(lanes.count, self._hash_key), record)
                    for record in records
                    if outlet.filter.lets(record)
                )
        return count

    def settled(self, timeout: float) -> bool:
        """Whether all that was read is handed over, within ``timeout`` seconds."""
        return all(outlet.lanes.idle(timeout) for outlet in self._outlets)

    def _turn(self) -> float:
        try:
            read = self.round()
        except (BotoCoreError, ClientError) as trouble:
            logger.warning("the stream can't be read now: %s", trouble)
            return TROUBLE_PAUSE
        except Exception:  # a thread of its own: it must live on
            logger.exception("the stream can't be read")
            return TROUBLE_PAUSE
        self._quiet = 0 if read else self._quiet + 1
        return self._pace.busy if self._quiet < BUSY_ROUNDS else self._pace.idle

    def _outlet(self, delivery: Delivery) -> _Outlet:
        source = delivery.source
        lanes = Lanes(source.parallel, source.batch_size, delivery.hand_over, self._threads)
        return _Outlet(Filter(source.filters), lanes)
