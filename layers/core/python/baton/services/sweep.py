"""The sweep: what nobody did in time. It reads the due index and nothing else, so its cost follows the
work."""

from __future__ import annotations

import msgspec

from baton.domain.clock import Millis, millis
from baton.domain.log import Tail
from baton.domain.run import Run, Step
from baton.domain.settling import Outcome
from baton.domain.sweeping import decide_due
from baton.errors import Conflict, NotFound, TryAgain
from baton.observability import logger
from baton.services.context import Context
from baton.services.performing import Performer
from baton.store.dynamo import Raw
from baton.store.rows import DuePurge, DueRun, due_of

PURGE_BATCHES = 40
"""Batches of log items that one purge removes before it goes to the back of the queue."""


class Swept(msgspec.Struct, kw_only=True):
    """What one sweep did: runs settled, put off, log lives purged, entries that were not due any more, and
    items that failed and wait for the next sweep. ``more``: time ran out before the index did."""

    settled: int = 0
    postponed: int = 0
    purged: int = 0
    stale: int = 0
    failed: int = 0
    more: bool = False


class Sweep:
    """Settles the silent, forces the cancelled, purges past lives."""

    def __init__(self, context: Context, performer: Performer) -> None:
        self._context = context
        self._performer = performer

    def run(self) -> Swept:
        """Go over every shard once, beginning at any: time that runs out must not fall on the same ones
        always.

        An item in trouble is logged and left to the next sweep; it never stops the rest. Sweeps may overlap:
        each change is conditional.
        """
        context = self._context
        shards = context.settings.due_shards
        deadline = context.clock.now() + millis(context.settings.sweep_seconds)
        first = int(context.jitter() * shards)
        swept = Swept()
        for step in range(shards):
            shard = (first + step) % shards
            try:
                self._shard(shard, deadline, swept)
            except TryAgain as trouble:
                swept.failed += 1
                logger.warning("a shard was left to the next sweep", shard=shard, reason=trouble.detail)
            if swept.more:
                break
        return swept

    def _shard(self, shard: int, deadline: Millis, swept: Swept) -> None:
        context = self._context
        start: Raw | None = None
        while True:
            page = context.runs.due(shard, context.clock.now(), start=start)
            for entry in page.items:
                if context.clock.now() >= deadline:
                    swept.more = True
                    return
                self._item(entry, swept)
            if page.more is None:
                return
            start = page.more

    def _item(self, entry: Raw, swept: Swept) -> None:
        try:
            due = due_of(entry)
            if isinstance(due, DueRun):
                self._due_run(due, swept)
            else:
                self._purge(due, swept)
        except NotFound:
            swept.stale += 1
        except (Conflict, TryAgain) as trouble:
            swept.failed += 1
            logger.warning(
                "a due item was left to the next sweep", key=entry["k"]["S"], reason=trouble.detail
            )
        except Exception:  # noqa: BLE001 - an edge of its own: one item's fault must not stop the rest
            swept.failed += 1
            logger.exception("a due item can't be swept", key=entry["k"]["S"])

    def _due_run(self, due: DueRun, swept: Swept) -> None:
        context = self._context

        def decide(now_run: Run, tail: Tail) -> Step | Outcome | None:
            return decide_due(
                now_run,
                tail,
                rev=context.nonce(),
                now=context.clock.now(),
                grace_seconds=context.settings.cancel_grace_seconds,
            )

        done = self._performer.perform(due.namespace, due.run_id, decide)
        if done.outcome is not None:
            swept.settled += 1
        elif done.changed:
            swept.postponed += 1
        else:
            swept.stale += 1

    def _purge(self, due: DuePurge, swept: Swept) -> None:
        context = self._context
        purge = context.runs.purge(due)
        if purge is None or purge.due_at > context.clock.now():
            swept.stale += 1
            return
        for _ in range(PURGE_BATCHES):
            if not context.log.purge(purge.namespace, purge.run_id, purge.birth):
                context.runs.purged(purge)
                swept.purged += 1
                return
        context.runs.put_off(purge, context.clock.now())
        swept.postponed += 1
