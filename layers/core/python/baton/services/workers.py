"""Workers that are heard: what they announce is taken into the catalog, and who lives is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from baton.domain.clock import Millis, millis
from baton.domain.registering import Loc, check_subscriptions
from baton.domain.workers import Heartbeat, Lasting, Worker, announce, is_news
from baton.errors import Unavailable
from baton.services.catalog import Catalog
from baton.services.context import Context
from baton.services.registering import ROUNDS, change_of
from baton.store.catalog import Change

EXAMINED = 1_000
"""Workers that one page of the list looks at: those that are long gone are in its way for a day."""


class WorkersPage(NamedTuple):
    """Some live workers, by id; ``after`` is where the next page goes on, None at the end."""

    workers: list[Worker]
    after: str | None


class Workers:
    """Where workers are heard and seen."""

    def __init__(self, context: Context, catalog: Catalog) -> None:
        self._context = context
        self._catalog = catalog
        self._lasting = Lasting(
            millis(context.settings.announced_seconds), millis(context.settings.announced_again_seconds)
        )

    def hear(
        self, heartbeat: Heartbeat, *, replacing: Callable[[str], None] = lambda _workflow: None
    ) -> None:
        """Take in a heartbeat, and what it announces, once. Before it takes the place of another word of the
        worker's, ``replacing`` is asked of each workflow that was served by that, and may raise.

        One that says what the worker said before is one write, and changes no catalog. What is new is written
        into the workflows one by one, and only then remembered: who dies between finds out by the worker's
        next heartbeat, which does the rest. Raises InvalidRequest, PayloadTooLarge, and Unavailable when
        others keep changing the catalog.
        """
        context, store = self._context, self._context.workers
        rev = context.nonce()
        for round_ in range(ROUNDS):
            now = context.clock.now()
            beat = store.beat(heartbeat, now, applied_since=now - self._lasting.renewed_every)
            if beat.noted:
                return
            if beat.standing is not None and self._remembered(beat.standing, now):
                for workflow in beat.standing.said:
                    replacing(workflow)
            self._take(heartbeat, beat.standing, rev)
            if store.keep(beat.standing, _heard(heartbeat, rev, now)):
                return
            context.stand_back(round_)
        raise Unavailable("the worker says something else faster than it can be written")

    def list(self, namespace: str, *, limit: int, after: str | None) -> WorkersPage:
        """One page of those alive, by id. It may be short, even empty, with more to come."""
        found, more = self._context.workers.page(namespace, after=after, limit=EXAMINED)
        now = self._context.clock.now()
        live = [each for each in found if self.dead_at(each) > now]
        if len(live) > limit:
            return WorkersPage(live[:limit], live[limit - 1].id)
        return WorkersPage(live, found[-1].id if more and found else None)

    def dead_at(self, worker: Worker) -> Millis:
        """From when on the worker counts as dead unless it is heard again."""
        return worker.seen_at + millis(self._context.settings.worker_seconds)

    def _take(self, heartbeat: Heartbeat, before: Worker | None, rev: str) -> None:
        """Have all that the heartbeat announces stand in the catalog."""
        for at, served in enumerate(heartbeat.serves):
            check_subscriptions(served.subscribes or (), _subscribes(at))
        context = self._context
        for round_ in range(ROUNDS):
            changes = list(self._changes(heartbeat, before, rev))
            if all(map(self._write, changes)):
                return
            context.stand_back(round_)
        raise Unavailable("the catalog changes faster than it can be written")

    def _write(self, change: Change) -> bool:
        if not self._context.catalog.register(change):
            return False
        self._catalog.forget(change.after.namespace)
        return True

    def _changes(self, heartbeat: Heartbeat, before: Worker | None, rev: str) -> Iterator[Change]:
        """What is to be written, one after the other, each as if those before it had been."""
        context, namespace = self._context, heartbeat.namespace
        revision, rows = context.catalog.read(namespace)
        now = context.clock.now()
        known = before if before is not None and self._remembered(before, now) else None
        standing = {row.name: row for row in rows}
        for at, served in enumerate(heartbeat.serves):
            row = standing.get(served.name)
            after = announce(
                row,
                namespace,
                served,
                news=is_news(served, heartbeat, known),
                lasting=self._lasting,
                rev=rev,
                now=now,
            )
            if after is None or after is row:
                continue
            yield change_of(
                standing,
                after,
                revision=revision,
                loc=_subscribes(at),
                now=now,
                settings=context.settings,
            )
            revision, standing[after.name] = revision + 1, after

    def _remembered(self, worker: Worker, now: Millis) -> bool:
        return worker.seen_at + millis(self._context.settings.worker_memory_seconds) > now


def _heard(heartbeat: Heartbeat, rev: str, now: Millis) -> Worker:
    """The worker that is remembered, taken at what it says."""
    return Worker(
        namespace=heartbeat.namespace,
        id=heartbeat.worker_id,
        runtime=heartbeat.runtime,
        said=heartbeat.said,
        digest=heartbeat.digest,
        seen_at=now,
        applied_at=now,
        rev=rev,
    )


def _subscribes(at: int) -> Loc:
    """Where a heartbeat says what starts the workflow at that place."""
    return ["body", "workflows", at, "subscribes"]
