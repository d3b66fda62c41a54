"""The two lives of a run that the model is about, and what is assumed of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from baton.config import Settings
from infra.model.operations import (
    APPEND,
    BEAT,
    CLAIM,
    FINISH,
    HAND_OFF,
    PURGE,
    PURGE_APPEND,
    PUT_OFF,
    RENEW,
    START,
    Operation,
)

BEAT_SECONDS = 15
"""Between a worker's heartbeats."""
RENEW_SECONDS = 20
"""Between a worker's renewals of a lease of a minute or more; of a shorter one a third of it."""


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """All that is assumed and not read from Baton itself."""

    batches: int = 4
    """Appends of a run, of 5 KB each."""
    work_seconds: float = 300
    """How long a worker is at a run."""
    runs_a_worker: int = 10
    """Runs that a worker has at once."""
    trip_seconds: float = 0.004
    """A call of DynamoDB, there and back."""
    own_seconds: float = 0.003
    """What an invocation takes beside those."""
    records_a_batch: float = 10
    """Records that an invocation of publish gets. Under load there are more of them in each."""


@dataclass(frozen=True)
class Life:
    """A run from its start to its purge: how often each operation is performed for it.

    ``handed_on``: the hand-off that it ends with stands for the one by which it was started itself. Else what
    that writes is another workflow's.
    """

    name: str
    handed_on: bool
    times: Callable[[Assumptions, Settings], Mapping[str, float]]
    operations: tuple[Operation, ...]

    def each(self, assumed: Assumptions, settings: Settings) -> Iterator[tuple[Operation, float]]:
        """Its operations, and how often."""
        times = self.times(assumed, settings)
        for operation in self.operations:
            yield operation, times.get(operation.name, 1)


def _attached(assumed: Assumptions, _: Settings) -> Mapping[str, float]:
    return {APPEND.name: assumed.batches, PURGE_APPEND.name: assumed.batches}


def _claimed(assumed: Assumptions, settings: Settings) -> Mapping[str, float]:
    leases = assumed.work_seconds / settings.lease_seconds
    return {
        APPEND.name: assumed.batches,
        PURGE_APPEND.name: assumed.batches,
        RENEW.name: assumed.work_seconds / min(settings.lease_seconds / 3, RENEW_SECONDS),
        BEAT.name: assumed.work_seconds / BEAT_SECONDS / assumed.runs_a_worker,
        PUT_OFF.name: leases,
    }


ATTACHED = Life(
    "driven by its caller", False, _attached, (START, APPEND, FINISH, HAND_OFF, PURGE, PURGE_APPEND)
)
CLAIMED = Life(
    "started by a hand-off and claimed by a worker",
    True,
    _claimed,
    (CLAIM, RENEW, BEAT, PUT_OFF, APPEND, FINISH, HAND_OFF, PURGE, PURGE_APPEND),
)
LIVES = (ATTACHED, CLAIMED)
