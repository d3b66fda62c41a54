"""What both who registers a workflow and who announces one have written: it, and all that belongs to it."""

from __future__ import annotations

from collections.abc import Mapping

from baton.config import Settings
from baton.domain.catalog import Workflow
from baton.domain.clock import Millis, millis
from baton.domain.registering import Loc, check_crowd, newly_subscribed
from baton.store.catalog import Change

ROUNDS = 30
"""Of changing a catalog that others change too."""


def change_of(
    rows: Mapping[str, Workflow],
    after: Workflow,
    *,
    revision: int,
    loc: Loc,
    now: Millis,
    settings: Settings,
) -> Change:
    """The write that has ``after`` stand among ``rows``, which are the catalog as it is written, by name, at
    that revision.

    It is judged by what counts now of what was announced: that makes the crowd at an event, and what begins
    to count is healed like any new subscription. Raises InvalidRequest below ``loc`` where it would be one
    subscriber too many.
    """
    before = rows.get(after.name)
    counts = after.at(now) or after
    others = (row.at(now) for row in rows.values())
    check_crowd((other for other in others if other is not None), counts, loc)
    return Change(
        before=before,
        after=after,
        revision=revision,
        healing=newly_subscribed(None if before is None else before.at(now), counts),
        heal_since=now - millis(settings.heal_window_seconds),
    )
