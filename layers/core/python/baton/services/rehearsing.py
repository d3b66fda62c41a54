"""Publishing without doing it: the same path over a store that is never written, so that the same decisions
tell what would come of it."""

from __future__ import annotations

from baton.domain.catalog import Batch
from baton.domain.coalescing import check_alone
from baton.domain.handoff import Settled
from baton.domain.starting import HandOff
from baton.outbound.bus import Bus
from baton.services.announcing import Announcer
from baton.services.catalog import Catalog
from baton.services.coalescing import Coalescer, Joined
from baton.services.context import Context
from baton.services.delivering import Deliverer
from baton.services.details import Details
from baton.services.publishing import Publisher
from baton.store.rehearsal import Rehearsal


class Onlooker(Coalescer):
    """Takes no input into any window."""

    def join(self, wish: HandOff, batch: Batch, key: bytes | None) -> Joined:
        """As if it had joined. Raises PayloadTooLarge, and StartedAlone as joining would."""
        check_alone(wish, batch)
        return self.joined(wish.namespace, wish.run_id) or Joined("", "", fired=False)


class Sleepers:
    """Wakes nobody."""

    def wake_all(self, settled: Settled) -> bool:
        """Whoever waits goes on waiting."""
        return settled.settlement.waiters == 0


def rehearsing(context: Context, catalog: Catalog, details: Details) -> Publisher:
    """A publisher that writes nothing and tells nobody."""
    settings = context.settings
    silent = Bus(None, region=settings.region, clock=context.clock, jitter=context.jitter)
    unwritten = Rehearsal(context.dynamo, settings.runs_table, shards=context.shards)
    rehearsed = context.instead(runs=unwritten, bus=silent)
    deliverer = Deliverer(rehearsed, catalog, Onlooker(rehearsed))
    return Publisher(rehearsed, catalog, details, deliverer, Announcer(silent), Sleepers())
