"""The queue in DynamoDB: the index of runs that wait to be claimed, and what is remembered of a claim that
came with a key."""

from __future__ import annotations

import msgspec
from pynamodb.expressions.condition import Condition

from baton.domain.clock import Millis
from baton.domain.queueing import Place
from baton.domain.run import MAX_PRIORITY
from baton.store.dynamo import Dynamo, Raw, Table
from baton.store.rows import PLACES, RunsItem, queue_place, queue_shard
from baton.store.schema import QUEUE, RUNS

CLAIM = "claim"
REMEMBERED_SECONDS = 24 * 3600
"""How long a claim's key is remembered at the most: twice the longest lease."""


class ClaimRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a claim with a key went for: runs that it holds, or tried to, by id as it saw them (``revs``).
    ``body`` is the digest of the whole request's."""

    namespace: str
    key: str
    body: str
    revs: dict[str, str]
    rev: str


class QueueStore:
    """The queue index and the claims' records, in the runs table."""

    def __init__(self, dynamo: Dynamo, table_name: str) -> None:
        self._dynamo = dynamo
        self._table = Table(dynamo, RUNS, table_name)

    def available(self, namespace: str, workflow: str, shard: int, now: Millis, limit: int) -> list[Place]:
        """The first ``limit`` or fewer places of one shard that may be claimed ``now``, first come first.

        One query, unless those that are to wait longer fill a page: then the next lower priority is looked
        at. Eventually consistent: a place may be claimed already, and a new one not be there yet.
        """
        found: list[Place] = []
        first, start = queue_place(MAX_PRIORITY, 0), None
        while True:
            page = self._table.query(
                queue_shard(namespace, workflow, shard),
                RunsItem.queue_place >= first,
                index=QUEUE.name,
                start=start,
                limit=limit,
            )
            places = [_place(workflow, raw) for raw in page.items]
            found += [place for place in places if place.available_at <= now]
            if page.more is None or len(found) >= limit:
                return found[:limit]
            start = page.more
            if places and places[-1].available_at > now:
                first, start = queue_place(places[-1].priority - 1, 0), None

    def record(self, namespace: str, key: str) -> ClaimRecord | None:
        """What the claim with this key went for, consistently."""
        raw = self._table.get(_claim_key(namespace, key), CLAIM, consistent=True)
        return None if raw is None else _record(namespace, key, raw)

    def remember(self, record: ClaimRecord, over: ClaimRecord | None, now: Millis) -> bool:
        """Keep a claim's record, over the one that was read or over none; False when another came between.
        Our own ``rev`` found standing is this very write, its reply lost (I9)."""
        item = RunsItem(
            k=_claim_key(record.namespace, record.key),
            s=CLAIM,
            rev=record.rev,
            start_body=record.body,
            tags=tuple(f"{rev} {run_id}" for run_id, rev in record.revs.items()),
            ttl=now // 1000 + REMEMBERED_SECONDS,
        )
        standing: Condition = RunsItem.k.does_not_exist() if over is None else RunsItem.rev == over.rev
        clash = self._dynamo.write(self._table.put(item, standing))
        if clash is None:
            return True
        existing = clash.existing[0]
        return existing is not None and existing["rv"]["S"] == record.rev


def _claim_key(namespace: str, key: str) -> str:
    # Two marks: no run's key holds them.
    return f"{namespace}##claim#{key}"


def _record(namespace: str, key: str, raw: Raw) -> ClaimRecord:
    item = RunsItem.from_raw_data(raw)
    named = [text.split(" ") for text in item.tags or ()]
    revs = {run_id: rev for rev, run_id in named}
    return ClaimRecord(namespace=namespace, key=key, body=item.start_body, revs=revs, rev=item.rev)


def _place(workflow: str, raw: Raw) -> Place:
    priority, available_at = divmod(int(raw["qp"]["N"]), PLACES)
    return Place(workflow, MAX_PRIORITY - priority, available_at, raw["k"]["S"].split("#", 1)[1])
