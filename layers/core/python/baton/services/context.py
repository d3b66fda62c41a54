"""What every service works with: stores, clock, chance, settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from baton.config import Settings
from baton.domain.catalog import Snapshot
from baton.domain.clock import Clock
from baton.domain.names import birth_mark
from baton.outbound.bus import Bus
from baton.outbound.invoke import Onward
from baton.outbound.timers import Timers
from baton.store.catalog import CatalogStore
from baton.store.due import DueStore
from baton.store.dynamo import Dynamo
from baton.store.events import EventStore
from baton.store.log import LogStore
from baton.store.runs import RunStore
from baton.store.waiters import WaiterStore
from baton.store.windows import WindowStore


@dataclass(frozen=True, kw_only=True)
class Context:
    """One container's tools. ``entropy(n)`` gives n random bytes; ``jitter()`` a number in [0, 1).

    ``bus`` and ``timers`` are there also where nothing is behind them. ``onward`` None: what an invocation
    can't finish is left to the next.
    """

    settings: Settings
    clock: Clock
    dynamo: Dynamo
    runs: RunStore
    due: DueStore
    log: LogStore
    catalog: CatalogStore
    windows: WindowStore
    waiters: WaiterStore
    events: EventStore
    entropy: Callable[[int], bytes]
    jitter: Callable[[], float]
    bus: Bus
    timers: Timers
    onward: Onward | None = None

    def retention_seconds(self, snapshot: Snapshot | None, workflow: str) -> float:
        """How long a settled run of ``workflow`` is kept."""
        registered = None if snapshot is None else snapshot.workflow(workflow)
        given = None if registered is None else registered.retention_seconds
        return self.settings.retention_seconds if given is None else given

    def birth(self) -> str:
        """A new life's mark."""
        return birth_mark(self.clock.now(), self.entropy(8))

    def nonce(self) -> str:
        """A new write's mark."""
        return self.entropy(8).hex()

    def stand_back(self, round_: int) -> None:
        """Let others by after the ``round_``-th lost race: up to 20 ms more each time, at most 200, at
        random."""
        self.clock.sleep(min(0.02 * round_, 0.2) * self.jitter())
