"""Starting a run that Baton owes somebody: once, whoever tries."""

from __future__ import annotations

from enum import Enum

from baton.domain.starting import Alias, HandOff, bear_handed
from baton.errors import Unavailable
from baton.services.context import Context
from baton.services.starts import first_item
from baton.store.runs import Creation


class Handed(Enum):
    """What became of a hand-off."""

    CREATED = "created"
    EXISTING = "existing"
    JOINED = "joined"
    """It is to be part of a window's run."""
    TAKEN = "taken"
    """A stranger's run stands at the derived id."""


def hand_off(context: Context, wish: HandOff) -> Handed:
    """Start the run, or find that it was started before: by a publisher that died, or one beside us (I3).

    Raises PayloadTooLarge, and Unavailable when it is not known whether it was started.
    """
    born = bear_handed(wish, birth=context.birth(), rev=context.nonce(), now=context.clock.now())
    if context.runs.create(Creation(run=born.run, first_item=first_item(context, born))):
        return Handed.CREATED
    found = handed(context, wish)
    if found is None:
        raise Unavailable("a run stood at the derived id and is gone again")
    return found


def handed(context: Context, wish: HandOff) -> Handed | None:
    """What stands at the id of a hand-off's run, also when that is over; None when nothing does."""
    standing = context.runs.get(wish.namespace, wish.run_id)
    if standing is None:
        return None
    if isinstance(standing, Alias):
        return Handed.JOINED
    ours = standing.workflow == wish.workflow and standing.triggered_by == wish.triggered_by
    return Handed.EXISTING if ours else Handed.TAKEN
