"""Publishing without doing it: the same path over a store that is never written, so that the same decisions
tell what would come of it."""

from __future__ import annotations

from baton.domain.catalog import Batch, Workflow
from baton.domain.coalescing import Member, check_member
from baton.domain.handoff import Settled
from baton.domain.run import TriggeredBy
from baton.outbound.bus import Bus
from baton.services.announcing import Announcer
from baton.services.catalog import Catalog
from baton.services.coalescing import Coalescer, Joined
from baton.services.context import Context
from baton.services.delivering import Deliverer
from baton.services.details import Details
from baton.services.publishing import Publisher
from baton.store.rehearsal import Rehearsal
from baton.store.rows import Shards


class Onlooker(Coalescer):
    """Takes no input into any window."""

    def join(
        self,
        namespace: str,
        workflow: Workflow,
        batch: Batch,
        *,
        key: bytes | None,
        event_id: str,
        input_: bytes,
        depth: int,
        triggered_by: TriggeredBy | None,
        traceparent: str | None,
    ) -> Joined:
        """As if it had joined. Raises PayloadTooLarge, and StartedAlone as joining would."""
        member = Member(
            namespace=namespace,
            subscriber=workflow.name,
            key=key,
            event_id=event_id,
            input=input_,
            depth=depth,
        )
        check_member(member, batch)
        return self.joined(namespace, event_id) or Joined("", "", fired=False)


class Sleepers:
    """Wakes nobody."""

    def wake_all(self, settled: Settled) -> bool:
        """Whoever waits goes on waiting."""
        return settled.settlement.waiters == 0


def rehearsing(context: Context, catalog: Catalog, details: Details) -> Publisher:
    """A publisher that writes nothing and tells nobody."""
    settings = context.settings
    silent = Bus(None, region=settings.region, clock=context.clock, jitter=context.jitter)
    shards = Shards(settings.due_shards, settings.settled_shards)
    unwritten = Rehearsal(context.dynamo, settings.runs_table, shards=shards)
    rehearsed = context.instead(runs=unwritten, bus=silent)
    deliverer = Deliverer(rehearsed, catalog, Onlooker(rehearsed))
    return Publisher(rehearsed, catalog, details, deliverer, Announcer(silent), Sleepers())
