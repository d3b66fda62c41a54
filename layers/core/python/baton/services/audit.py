"""Who did what: what is told beside a run's log, kept with what was done."""

from __future__ import annotations

from typing import NamedTuple

from baton.domain.audit import Action, Audited
from baton.services.context import Context


class AuditPage(NamedTuple):
    """Some of what was done, the newest first; ``after`` is where the next page goes on, None at the end."""

    done: list[Audited]
    after: str | None


class Audit:
    """Where it is kept and told who did what."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def note(self, namespace: str, action: Action, subject: str, *, by: str | None) -> None:
        """Keep that somebody is about to do something: before it, so that nothing is done unseen. Of nobody
        nothing is kept. Raises Unavailable."""
        context = self._context
        if by is not None:
            context.audit.write(
                Audited(
                    namespace=namespace,
                    at=context.clock.now(),
                    action=action,
                    subject=subject,
                    by=by,
                    rev=context.nonce(),
                )
            )

    def list(self, namespace: str, *, limit: int, after: str | None) -> AuditPage:
        """One page, the newest first."""
        found, more = self._context.audit.page(namespace, after=after, limit=limit)
        return AuditPage([done for _, done in found], found[-1][0] if more and found else None)
