"""Healing: a subscription that came a moment late still gets the runs that settled meanwhile.

A container may settle runs by a catalog that it read seconds ago, so what a run owes may lack a subscriber
that was registered by then. After each change of a subscription the endings it may have missed are gone over,
again and again until no container can have settled by the older catalog any more.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from baton.domain.catalog import HealWork, Snapshot, workflow_of
from baton.domain.clock import Millis, millis
from baton.domain.handoff import Settled
from baton.errors import TryAgain
from baton.observability import logger, told
from baton.services.catalog import Catalog
from baton.services.context import Context
from baton.services.endings import PAGE, Cursor, Endings, Stretch
from baton.services.publishing import Publisher, Wish

FAULTS_FORGIVEN_AFTER_SECONDS = 3600
"""After so long an ending that only ever fails keeps its work from being finished no more."""


class Healed(msgspec.Struct, kw_only=True):
    """What one healing did: changes of the catalog worked at and done with, endings gone over, endings
    delivered to whom they had missed, endings that owe them now, and what failed. ``more``: time ran out."""

    works: int = 0
    done: int = 0
    endings: int = 0
    delivered: int = 0
    re_owed: int = 0
    failed: int = 0
    more: bool = False


class Heal:
    """Delivers what no marker ever named."""

    def __init__(
        self, context: Context, catalog: Catalog, endings: Endings, publisher: Publisher, *, page: int = PAGE
    ) -> None:
        self._context = context
        self._page = page
        self._catalog = catalog
        self._endings = endings
        self._publisher = publisher

    def run(self) -> Healed:
        """Go on with what the catalog's young changes left to do: one query and nothing else where there are
        none.

        It may die or run out of time anywhere, and two may overlap: the place of each pass is kept, and each
        change of it is conditional. A pass counts only when all it found was delivered or is owed.
        """
        context, healed = self._context, Healed()
        works = context.catalog.heals()
        deadline = context.clock.now() + millis(context.settings.sweep_seconds)
        first = int(context.jitter() * len(works))
        snapshots: dict[str, Snapshot] = {}
        for work in works[first:] + works[:first]:
            if context.clock.now() >= deadline:
                healed.more = True
                break
            healed.works += 1
            try:
                if work.namespace not in snapshots:
                    snapshots[work.namespace] = self._catalog.snapshot(work.namespace, fresh=True)
                self._work(work, snapshots[work.namespace], deadline, healed)
            except Exception as trouble:  # noqa: BLE001 - an edge of its own: the other works get their turn
                _tell("healing was left to the next time", trouble, healed, work.namespace, work.event)
        return healed

    def _work(self, kept: HealWork, snapshot: Snapshot, deadline: Millis, healed: Healed) -> None:
        """Go on with a pass, or begin one: shard by shard, page by page. Its place is kept where another page
        follows, so that what dies here does not begin anew."""
        clock, shards = self._context.clock, self._context.settings.settled_shards
        work = kept if kept.pass_began is not None else replace(kept, pass_began=clock.now(), cursor=None)
        shard, start = Cursor.of(work.cursor)
        subscribers = () if workflow_of(work.event) is None else snapshot.subscribers_of(work.event)
        while subscribers and shard < shards:
            page = self._endings.page(self._stretch(work), shard, start=start, limit=self._page)
            for passed in page.passed:
                if clock.now() >= deadline:
                    healed.more = True
                    self._keep(kept, replace(work, cursor=str(Cursor(shard, start))))
                    return
                for settled in passed.endings:
                    work = self._ending(settled, subscribers, work, healed)
                if passed.unreadable is not None:
                    healed.failed += 1
                    work = self._without_counting(work)
                start = passed.place
            if page.more is None:
                shard, start = shard + 1, None
                continue
            start = page.more
            saved = self._keep(kept, replace(work, cursor=str(Cursor(shard, start))))
            if saved is None:
                return  # the catalog has changed again: the work begins anew, with what it says now
            kept = work = saved
        if work.pass_began is not None and work.pass_began >= self._until(work):
            healed.done += self._context.catalog.heal_done(kept)
        else:
            self._keep(kept, replace(work, pass_began=None, cursor=None))

    def _ending(
        self, settled: Settled, subscribers: tuple[str, ...], work: HealWork, healed: Healed
    ) -> HealWork:
        """Deliver one ending to those of its subscribers that it does not know of. Gives the work, its pass
        marked as one that does not count where even owing was not possible."""
        healed.endings += 1
        settlement = settled.settlement
        missing = [
            name for name in subscribers if name not in settlement.owed and settlement.delivery(name) is None
        ]
        if settlement.unresolved or not missing:
            return work  # whoever resolves it reads the catalog then
        try:
            self._deliver(settled, tuple(missing), healed)
        except Exception as trouble:  # noqa: BLE001 - an edge of its own: the other endings are healed
            _tell("an ending could not be healed", trouble, healed, settled.namespace, settled.run.id)
            if isinstance(trouble, TryAgain):
                return replace(work, pass_began=work.changed_at)
            return self._without_counting(work)
        return work

    def _without_counting(self, work: HealWork) -> HealWork:
        """The work, its pass marked as one that does not count, as a fault left something out of it: unless
        that has been so for long."""
        return work if self._hopeless(work) else replace(work, pass_began=work.changed_at)

    def _deliver(self, settled: Settled, missing: tuple[str, ...], healed: Healed) -> None:
        where, birth = (settled.namespace, settled.run.id, settled.attempt), settled.run.birth
        try:
            self._publisher.publish(*where, Wish(also=missing, lease=True), birth=birth)
            healed.delivered += 1
        except TryAgain:
            self._publisher.owe(*where, missing, birth=birth)
            healed.re_owed += 1

    def _keep(self, before: HealWork, after: HealWork) -> HealWork | None:
        """Keep where a pass stands; None when the work was changed or done with meanwhile."""
        if (before.pass_began, before.cursor) == (after.pass_began, after.cursor):
            return before
        after = replace(after, rev=self._context.nonce())
        return after if self._context.catalog.heal_saved(before, after) else None

    def _stretch(self, work: HealWork) -> Stretch:
        return Stretch(namespace=work.namespace, event=work.event, since=work.since, until=self._until(work))

    def _until(self, work: HealWork) -> Millis:
        """From when on no container settles by an older catalog."""
        return work.changed_at + millis(self._context.settings.heal_grace_seconds)

    def _hopeless(self, work: HealWork) -> bool:
        waited = self._context.clock.now() - work.changed_at
        return waited >= millis(FAULTS_FORGIVEN_AFTER_SECONDS)


def _tell(said: str, trouble: Exception, healed: Healed, namespace: str, about: str) -> None:
    healed.failed += 1
    tell = logger.warning if isinstance(trouble, TryAgain) else logger.exception
    tell(said, namespace=namespace, about=about, reason=told(trouble))
