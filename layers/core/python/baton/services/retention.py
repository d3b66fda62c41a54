"""What is left of a life of a run id once it is over: its log, its settlements, the alias that led to it."""

from __future__ import annotations

from baton.domain.clock import millis
from baton.domain.run import Run
from baton.services.context import Context
from baton.store.rows import Purge

PURGE_BATCHES = 40
"""Batches of log items that one purge removes before it goes to the back of the queue."""


class Retention:
    """Removes what is left, a bounded piece at a time. All of it may be done again, and by several at once: a
    life is known by its birth, so that a later one of the same id loses nothing."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def removed(self, run: Run) -> None:
        """Purge the life of a run whose row was removed: at once, as its time to live leaves nobody who still
        remembers a tail of its log; but one that was removed before that is put down to be purged later, and
        so is what is more than one piece."""
        context = self._context
        now = context.clock.now()
        over = now if run.expires_at is None else max(run.expires_at, run.updated_at)
        purge = Purge(
            namespace=run.namespace,
            run_id=run.id,
            birth=run.birth,
            rev=context.nonce(),
            due_at=over + millis(context.settings.purge_delay_seconds),
            alias=run.alias_id,
        )
        if purge.due_at > now:
            context.due.put_back(purge, purge.due_at)
        elif self._clear_log(purge):
            context.due.cleared(purge)
        else:
            context.due.put_back(purge, now)

    def purge(self, purge: Purge) -> bool:
        """Go on with a purge that was put down; whether nothing is left."""
        if not self._clear_log(purge):
            self._context.due.put_back(purge, self._context.clock.now())
            return False
        self._context.due.purged(purge)
        return True

    def _clear_log(self, purge: Purge) -> bool:
        log = self._context.log
        return any(not log.purge(purge.namespace, purge.run_id, purge.birth) for _ in range(PURGE_BATCHES))
