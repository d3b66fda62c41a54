"""Who did what: what is told beside a run's log, kept with what was done."""

from __future__ import annotations

from typing import NamedTuple

from baton.domain.audit import Action, Audited
from baton.services.context import Context
from baton.store.dynamo import Write


class AuditPage(NamedTuple):
    """Some of what was done, the newest first; ``after`` is where the next page goes on, None at the end."""

    done: list[Audited]
    after: str | None


def audited(
    context: Context, namespace: str, action: Action, subject: str, *, by: str | None
) -> tuple[Write, ...]:
    """What keeps that somebody does something, for the transaction that does it: neither is there without
    the other. Of nobody nothing is kept."""
    if by is None:
        return ()
    now, rev = context.clock.now(), context.nonce()
    done = Audited(namespace=namespace, at=now, action=action, subject=subject, by=by, rev=rev)
    return (context.audit.put(done),)


class Audit:
    """Where it is kept and told who did what."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def note(self, namespace: str, action: Action, subject: str, *, by: str | None) -> None:
        """Keep that somebody is about to do what takes more than one transaction: before it, so that nothing
        is done unseen. It is kept also where that then fails, and again when it is repeated. Of nobody
        nothing is kept. Raises Unavailable."""
        if writes := audited(self._context, namespace, action, subject, by=by):
            self._context.dynamo.write(*writes)

    def list(self, namespace: str, *, limit: int, after: str | None) -> AuditPage:
        """One page, the newest first."""
        found, more = self._context.audit.page(namespace, after=after, limit=limit)
        return AuditPage([done for _, done in found], found[-1][0] if more and found else None)
