"""Hands a function the records of a stream, as an event source mapping does: in batches, again where they
fail, aside where they keep failing.

A batch that fails in part is tried again from its first failed record on; one that fails as a whole is split.
Where the tries are used up, the first failed record alone is parked and the rest goes on. AWS would park what
is left of the batch: here as there, what the function had done by then stays done.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from baton.domain.clock import Clock
from infra.local.partial import failures
from infra.local.records import Record
from infra.manifest import Function
from infra.signals import StreamSource

logger = logging.getLogger("infra.local")

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
"""Seconds between tries of the same record: twice as long each time."""

Call = Callable[[Function, dict[str, Any], str], Any]


class Parked(NamedTuple):
    """A record that is given up, after how many calls, and why."""

    function: Function
    record: Record
    calls: int
    condition: str


class _Try(NamedTuple):
    """Records to hand over, after ``failed`` calls in a row in which the first of them failed."""

    records: Sequence[Record]
    failed: int = 0


class Delivery:
    """One function's mapping of one stream. Batches that share no partition key may be handed over at once.

    ``call`` carries out an invocation, ``park`` takes what is given up. ``wait(seconds)`` passes the time
    between tries and says whether to stop.
    """

    def __init__(
        self,
        function: Function,
        source: StreamSource,
        *,
        call: Call,
        park: Callable[[Parked], None],
        wait: Callable[[float], bool],
        clock: Clock,
    ) -> None:
        self.function = function
        self.source = source
        self._call = call
        self._park = park
        self._wait = wait
        self._clock = clock

    def hand_over(self, records: Sequence[Record]) -> None:
        """Have the function do all of them, or park them. Told to stop it leaves what is not done."""
        tries = [_Try(records)]
        while tries:
            batch, failed = tries.pop()
            done, whole = self._try(batch)
            rest = batch[done:]
            if not rest:
                continue
            if whole and self.source.bisect and len(rest) > 1:
                half = len(rest) // 2
                tries += [_Try(rest[half:]), _Try(rest[:half])]
                continue
            failed = 1 if done else failed + 1
            condition = self._given_up(rest[0], failed)
            if condition is not None:
                self._give_up(Parked(self.function, rest[0], failed, condition))
                if rest[1:]:
                    tries.append(_Try(rest[1:]))
            elif self._wait(min(FIRST_PAUSE * 2 ** (failed - 1), LONGEST_PAUSE)):
                return
            else:
                tries.append(_Try(rest, failed))

    def _try(self, batch: Sequence[Record]) -> tuple[int, bool]:
        """How many records are done before the first that failed, and whether all failed as one."""
        names = [record.sequence for record in batch]
        event = {"Records": [record.body for record in batch]}
        try:
            failed = failures(self._call(self.function, event, str(uuid.uuid4())), names)
        except Exception:  # what a function raises fails its batch
            logger.exception("%s failed on %d records", self.function.name, len(batch))
            return 0, True
        if failed is None:
            logger.error("%s: what it says of its batch makes no sense", self.function.name)
            return 0, True
        return next((at for at, name in enumerate(names) if name in failed), len(names)), False

    def _given_up(self, record: Record, failed: int) -> str | None:
        if failed > self.source.retries:
            return "RetryAttemptsExhausted"
        if self._clock.now() / 1000 - record.at > self.source.max_age_seconds:
            return "RecordAgeExceeded"
        return None

    def _give_up(self, parked: Parked) -> None:
        keys = parked.record.body["dynamodb"]["Keys"]
        logger.error("%s: parked after %d calls: %s", self.function.name, parked.calls, keys)
        try:
            self._park(parked)
        except Exception:  # the others go on
            logger.exception("%s: a record could not be parked", self.function.name)
