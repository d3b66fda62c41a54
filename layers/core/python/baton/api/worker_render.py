"""Workers as the contract spells them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET

from baton.api import worker_answers
from baton.domain.clock import Millis, rfc3339
from baton.domain.workers import Worker
from baton.services.workers import WorkersPage


def page(
    found: WorkersPage, token: Callable[[str], str], dead_at: Callable[[Worker], Millis]
) -> worker_answers.WorkersPage:
    """A page of the list; ``token`` makes one of the place where the list goes on, ``dead_at`` says when a
    worker is taken for dead."""
    workers = [
        worker_answers.Worker(
            worker_id=each.id,
            runtime=each.runtime,
            workflows=tuple(each.said),
            seen_at=rfc3339(each.seen_at),
            expires_at=rfc3339(dead_at(each)),
        )
        for each in found.workers
    ]
    return worker_answers.WorkersPage(workers, UNSET if found.after is None else token(found.after))
