"""What every service works with: stores, clock, chance, settings."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING

from baton.config import Settings, keys_of
from baton.domain.clock import Clock
from baton.domain.names import birth_mark
from baton.services.made_once import MadeOnce
from baton.store.dynamo import Dynamo

if TYPE_CHECKING:
    from baton.domain.catalog import Snapshot
    from baton.outbound.bus import Bus
    from baton.outbound.invoke import Onward
    from baton.outbound.targets import Targets
    from baton.outbound.timers import Timers
    from baton.store.audit import AuditStore
    from baton.store.catalog import CatalogStore
    from baton.store.due import DueStore
    from baton.store.events import EventStore
    from baton.store.limits import LimitStore
    from baton.store.log import LogStore
    from baton.store.queue import QueueStore
    from baton.store.rows import Shards
    from baton.store.runs import RunStore
    from baton.store.tokens import TokenStore
    from baton.store.waiters import WaiterStore
    from baton.store.windows import WindowStore
    from baton.store.workers import WorkerStore


class Context:
    """One container's tools. ``entropy(n)`` gives n random bytes; ``jitter()`` a number in [0, 1).

    Each is imported and made when a service first asks for it: a container pays for what its function uses.
    ``bus`` and ``timers`` are there also where nothing is behind them. ``onward`` None: what an invocation
    can't finish is left to the next.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        clock: Clock,
        dynamo: Dynamo,
        entropy: Callable[[int], bytes],
        jitter: Callable[[], float],
        onward: Onward | None,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.dynamo = dynamo
        self.entropy = entropy
        self.jitter = jitter
        self.onward = onward

    @MadeOnce
    def signing_keys(self) -> tuple[bytes, ...]:
        """The newest last; none where the settings name none. Raises Unavailable where they can't be read,
        ValueError where what is read is none."""
        settings = self.settings
        if settings.signing_keys or settings.signing_keys_secret is None:
            return settings.signing_keys
        from baton.outbound.secrets import read

        client = self.dynamo.client("secretsmanager", settings.region)
        return keys_of(read(client, settings.signing_keys_secret))

    @MadeOnce
    def runs(self) -> RunStore:
        """Runs, and their settlements."""
        from baton.store.runs import RunStore

        return RunStore(self.dynamo, self.settings.runs_table, shards=self.shards)

    @MadeOnce
    def due(self) -> DueStore:
        """What is due."""
        from baton.store.due import DueStore

        return DueStore(self.dynamo, self.settings.runs_table, shards=self.shards)

    @MadeOnce
    def log(self) -> LogStore:
        """The runs' logs."""
        from baton.store.log import LogStore

        return LogStore(self.dynamo, self.settings.log_table)

    @MadeOnce
    def catalog(self) -> CatalogStore:
        """The registered workflows."""
        from baton.store.catalog import CatalogStore

        return CatalogStore(self.dynamo, self.settings.catalog_table)

    @MadeOnce
    def windows(self) -> WindowStore:
        """Windows of inputs."""
        from baton.store.windows import WindowStore

        return WindowStore(self.dynamo, self.settings.runs_table, due_shards=self.settings.due_shards)

    @MadeOnce
    def waiters(self) -> WaiterStore:
        """Who waits for whom."""
        from baton.store.waiters import WaiterStore

        return WaiterStore(self.dynamo, self.settings.runs_table)

    @MadeOnce
    def events(self) -> EventStore:
        """Custom events."""
        from baton.store.events import EventStore

        return EventStore(
            self.dynamo,
            self.settings.runs_table,
            due_shards=self.settings.due_shards,
            retention_seconds=self.settings.retention_seconds,
        )

    @MadeOnce
    def queue(self) -> QueueStore:
        """The queue."""
        from baton.store.queue import QueueStore

        return QueueStore(self.dynamo, self.settings.runs_table)

    @MadeOnce
    def workers(self) -> WorkerStore:
        """The workers that were heard."""
        from baton.store.workers import WorkerStore

        settings = self.settings
        return WorkerStore(self.dynamo, settings.catalog_table, memory_seconds=settings.worker_memory_seconds)

    @MadeOnce
    def audit(self) -> AuditStore:
        """Who did what."""
        from baton.store.audit import AuditStore

        settings = self.settings
        return AuditStore(self.dynamo, settings.catalog_table, memory_seconds=settings.audit_seconds)

    @MadeOnce
    def tokens(self) -> TokenStore:
        """What callers show."""
        from baton.store.tokens import TokenStore

        return TokenStore(self.dynamo, self.settings.catalog_table)

    @MadeOnce
    def limits(self) -> LimitStore:
        """How often tokens asked."""
        from baton.store.limits import LimitStore

        return LimitStore(self.dynamo, self.settings.catalog_table)

    @MadeOnce
    def bus(self) -> Bus:
        """The event bus."""
        from baton.outbound.bus import Bus

        settings = self.settings
        return Bus(settings.events_bus, region=settings.region, clock=self.clock, jitter=self.jitter)

    @MadeOnce
    def timers(self) -> Timers:
        """Hints at timers."""
        from baton.outbound.timers import Timers

        return Timers(self.settings.timers_queue_url, region=self.settings.region, clock=self.clock)

    @MadeOnce
    def targets(self) -> Targets:
        """Targets of runs."""
        from baton.outbound.targets import Targets

        return Targets(self.clock)

    def instead(self, *, runs: RunStore, bus: Bus) -> Context:
        """The same tools but for these two."""
        other = copy(self)
        vars(other).update(runs=runs, bus=bus)
        return other

    @property
    def shards(self) -> Shards:
        """How many partitions indexes have."""
        from baton.store.rows import Shards

        return Shards(self.settings.due_shards, self.settings.settled_shards, self.settings.queue_shards)

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
