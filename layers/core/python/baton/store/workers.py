"""The workers that were heard: one item each, in the catalog's table, beside what is read as the catalog."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.models import Model

from baton.domain.clock import Millis
from baton.domain.workers import Heartbeat, Worker
from baton.store.dynamo import Dynamo, Raw, Table
from baton.store.schema import CATALOG

_WORKER = "worker#"
"""Sorts after all that is read with the workflows: who beats costs the readers of the catalog nothing."""

_said = msgspec.json.Decoder(dict[str, str])


class WorkerRow(Model):
    """A worker's item."""

    k = UnicodeAttribute(hash_key=True)
    s = UnicodeAttribute(range_key=True)
    rev = UnicodeAttribute(attr_name="rv")
    said = UnicodeAttribute(attr_name="d")
    """The word about each workflow, as JSON."""
    digest = UnicodeAttribute(attr_name="g")
    runtime = UnicodeAttribute(attr_name="r", null=True)
    seen_at = NumberAttribute(attr_name="t")
    applied_at = NumberAttribute(attr_name="c")
    ttl = NumberAttribute()


class Beat(NamedTuple):
    """Whether a heartbeat is noted; where it is not, the worker that stands, which was taken at another
    word: also one that is forgotten, for as long as it is not removed."""

    noted: bool
    standing: Worker | None = None


class WorkerStore:
    """The workers in the catalog's table. One that was not heard for ``memory_seconds`` may be removed."""

    def __init__(self, dynamo: Dynamo, table_name: str, *, memory_seconds: float) -> None:
        self._dynamo = dynamo
        self._table = Table(dynamo, CATALOG, table_name)
        self._memory_seconds = memory_seconds

    def beat(self, heartbeat: Heartbeat, now: Millis, *, applied_since: Millis) -> Beat:
        """Note that a worker was heard, if it says what it said, and that was seen to count since then.

        Conditional on the word it was last taken at: a heartbeat that is sent while another one is worked at
        can't make that one's word pass for taken.
        """
        seen = [
            WorkerRow.seen_at.set(now),
            WorkerRow.ttl.set(self._removed_at(now)),
            WorkerRow.runtime.remove()
            if heartbeat.runtime is None
            else WorkerRow.runtime.set(heartbeat.runtime),
        ]
        same = (WorkerRow.digest == heartbeat.digest) & (WorkerRow.applied_at > applied_since)
        key = _WORKER + heartbeat.worker_id
        clash = self._dynamo.write(self._table.update(heartbeat.namespace, key, seen, same))
        if clash is None:
            return Beat(noted=True)
        standing = clash.existing[0]
        return Beat(noted=False, standing=None if standing is None else _worker(standing))

    def keep(self, before: Worker | None, after: Worker) -> bool:
        """Write what a worker was taken at; False when it was taken at another word since it stood as
        ``before``.

        Our own ``rev`` found standing is this very write, its reply lost (I9).
        """
        row = WorkerRow(
            k=after.namespace,
            s=_WORKER + after.id,
            rev=after.rev,
            said=msgspec.json.encode(after.said).decode(),
            digest=after.digest,
            runtime=after.runtime,
            seen_at=after.seen_at,
            applied_at=after.applied_at,
            ttl=self._removed_at(after.seen_at),
        )
        standing = WorkerRow.k.does_not_exist() if before is None else WorkerRow.rev == before.rev
        clash = self._dynamo.write(self._table.put(row, standing))
        found = None if clash is None else clash.existing[0]
        return clash is None or (found is not None and found["rv"]["S"] == after.rev)

    def page(self, namespace: str, *, after: str | None, limit: int) -> tuple[list[Worker], bool]:
        """Up to ``limit`` workers after an id, alive or not, fewer where they are large, and whether there
        may be more. Consistent."""
        start = None if after is None else {"k": {"S": namespace}, "s": {"S": _WORKER + after}}
        page = self._table.query(
            namespace, WorkerRow.s.startswith(_WORKER), consistent=True, start=start, limit=limit
        )
        return [_worker(raw) for raw in page.items], page.more is not None

    def _removed_at(self, seen_at: Millis) -> int:
        return int(seen_at // 1000 + self._memory_seconds)


def _worker(raw: Raw) -> Worker:
    return Worker(
        namespace=raw["k"]["S"],
        id=raw["s"]["S"].removeprefix(_WORKER),
        runtime=raw["r"]["S"] if "r" in raw else None,
        said=_said.decode(raw["d"]["S"]),
        digest=raw["g"]["S"],
        seen_at=int(raw["t"]["N"]),
        applied_at=int(raw["c"]["N"]),
        rev=raw["rv"]["S"],
    )
