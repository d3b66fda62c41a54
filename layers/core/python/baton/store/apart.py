"""Settlements in items of their own: an earlier attempt's, or one too large for the run's row."""

from __future__ import annotations

from baton.domain.catalog import ending
from baton.domain.handoff import RESERVED, Apart
from baton.domain.settlement import NOTHING
from baton.domain.states import State
from baton.store.rows import RunsItem, Shards, due_shard, run_key, settled_key, whole

SETTLEMENT = "settlement"


def settlement_sort(birth: str, attempt: int) -> str:
    """Where in a run's partition the settlement of one attempt stands."""
    return f"{SETTLEMENT}#{birth}#{attempt:06d}"


def attempt_of(sort: str) -> int | None:
    """The attempt whose settlement stands at a sort key of a run's partition; None: the row's own."""
    return int(sort.rsplit("#", 1)[1]) if sort.startswith(SETTLEMENT) else None


def apart_item(apart: Apart, shards: Shards) -> RunsItem:
    """A settlement's item."""
    published = not apart.workflow.startswith(RESERVED)
    event = ending(apart.state, apart.workflow)
    return RunsItem(
        k=run_key(apart.namespace, apart.run_id),
        s=settlement_sort(apart.birth, apart.attempt),
        rev=apart.rev,
        birth=apart.birth,
        attempt=apart.attempt,
        state=apart.state.value,
        workflow=apart.workflow,
        ending=apart.ending,
        settlement=apart.settlement,
        due_shard=None if apart.due_at is None else due_shard(apart.run_id, shards.due),
        due_at=apart.due_at,
        settled_key=settled_key(apart.namespace, apart.run_id, event, shards.settled) if published else None,
        settled_at=apart.ending.at if published else None,
        announce=1 if apart.announce else None,
        strikes=apart.strikes or None,
    )


def apart_of(item: RunsItem) -> Apart:
    """The settlement that an item holds."""
    namespace, run_id = item.k.split("#", 1)
    return Apart(
        namespace=namespace,
        run_id=run_id,
        workflow=item.workflow,
        birth=item.birth,
        attempt=int(item.attempt),
        rev=item.rev,
        state=State(item.state),
        ending=item.ending,
        settlement=NOTHING if item.settlement is None else item.settlement,
        due_at=whole(item.due_at),
        announce=bool(item.announce),
        strikes=int(item.strikes or 0),
    )
