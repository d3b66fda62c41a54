"""What is known of a namespace across its runs: the workflows registered and announced, the names of all ever
started, and what a late registration leaves to heal."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.models import Model

from baton.bounded import Bounded
from baton.domain.catalog import HealWork, Workflow
from baton.domain.clock import Millis
from baton.store.dynamo import Clash, Dynamo, Raw, Table, Write
from baton.store.schema import CATALOG

_NAME = "name#"
_WORKFLOW = "wf#"
_GONE = "gone#"
_REVISION = "revision"
_AFTER_WORKFLOWS = "wf$"
"""Sorts after every workflow. What else of a namespace sorts between the revision and this is read with
them."""
_HEAL = "#heal"
"""The partition of all heal items: no namespace begins so."""

MAX_REMEMBERED = 10_000
GONE_FOR_SECONDS = 7 * 24 * 3600
"""How long it is remembered when a workflow was deleted."""

_workflows = msgspec.json.Decoder(Workflow)


class CatalogRow(Model):
    """An item of the catalog table."""

    k = UnicodeAttribute(hash_key=True)
    s = UnicodeAttribute(range_key=True)
    since = NumberAttribute(attr_name="t", null=True)
    """When a name was first started or registered; when a workflow was deleted; from when on to heal."""
    rev = UnicodeAttribute(attr_name="rv", null=True)
    document = UnicodeAttribute(attr_name="d", null=True)
    """A workflow, as JSON."""
    revision = NumberAttribute(attr_name="n", null=True)
    """How often a namespace's catalog has changed."""
    changed_at = NumberAttribute(attr_name="c", null=True)
    pass_began = NumberAttribute(attr_name="p", null=True)
    cursor = UnicodeAttribute(attr_name="u", null=True)
    ttl = NumberAttribute(null=True)


class Change(NamedTuple):
    """A workflow to be written as it is registered or announced: over ``before``, or as a new one.

    ``revision`` is the catalog's, read before all else that the change was decided on. ``healing`` are the
    events that may have happened unnoticed since ``heal_since``.
    """

    before: Workflow | None
    after: Workflow
    revision: int
    healing: tuple[str, ...]
    heal_since: Millis


class CatalogStore:
    """The catalog table."""

    def __init__(self, dynamo: Dynamo, table_name: str) -> None:
        self._dynamo = dynamo
        self._table = Table(dynamo, CATALOG, table_name)
        self._noted = Bounded[tuple[str, str], None](MAX_REMEMBERED)

    def noted(self, namespace: str, workflow: str) -> bool:
        """Whether this container knows the name to be kept."""
        return (namespace, workflow) in self._noted

    def note(self, namespace: str, workflow: str, now: Millis) -> None:
        """Keep a workflow's name, once and for good; the first to start it writes, the others find it
        there."""
        row = CatalogRow(k=namespace, s=_NAME + workflow, since=now)
        self._dynamo.write(self._table.put(row, CatalogRow.k.does_not_exist()))
        self._noted[namespace, workflow] = None

    def read(self, namespace: str) -> tuple[int, list[Workflow]]:
        """The revision and the workflows as they are written, in one consistent query: they are no older than
        it."""
        between = CatalogRow.s.between(_REVISION, _AFTER_WORKFLOWS)
        revision, workflows = 0, []
        for raw in self._table.query_all(namespace, between, consistent=True):
            sort = raw["s"]["S"]
            if sort == _REVISION:
                revision = int(raw["n"]["N"])
            elif sort.startswith(_WORKFLOW):
                workflows.append(_workflow(raw))
        return revision, workflows

    def workflow(self, namespace: str, name: str) -> Workflow | None:
        """One workflow as it is written, consistently."""
        raw = self._table.get(namespace, _WORKFLOW + name, consistent=True)
        return None if raw is None else _workflow(raw)

    def page(self, namespace: str, *, after: str | None, limit: int) -> tuple[list[Workflow], bool]:
        """Up to ``limit`` of the workflows after a name, fewer where they are large, and whether there may be
        more. Consistent."""
        start = None if after is None else {"k": {"S": namespace}, "s": {"S": _WORKFLOW + after}}
        page = self._table.query(
            namespace, CatalogRow.s.startswith(_WORKFLOW), consistent=True, start=start, limit=limit
        )
        return [_workflow(raw) for raw in page.items], page.more is not None

    def revision(self, namespace: str, *, consistent: bool = True) -> int:
        """How often the catalog has changed."""
        raw = self._table.get(namespace, _REVISION, consistent=consistent)
        return 0 if raw is None else int(raw["n"]["N"])

    def register(self, change: Change, *also: Write) -> bool:
        """Write a workflow with all that belongs to it; False when the catalog has changed since it was read.

        Conditional on the row that was read, and on the catalog's revision: of two registrations at once one
        is decided again, so that no event gets a subscriber too many. Our own ``rev`` found standing is this
        very write, its reply lost (I9). Healing begins anew for each event; what of it was not done goes as
        far back as it did. ``also`` is written with it.
        """
        before, after = change.before, change.after
        row = CatalogRow(
            k=after.namespace,
            s=_WORKFLOW + after.name,
            rev=after.rev,
            document=msgspec.json.encode(after).decode(),
            ttl=_removed_at(after),
        )
        first = CatalogRow.k.does_not_exist()
        standing = first if before is None else CatalogRow.rev == before.rev
        unchanged = CatalogRow.revision == change.revision if change.revision else first
        writes = [
            self._table.put(row, standing),
            self._table.update(
                after.namespace, _REVISION, [CatalogRow.revision.set(change.revision + 1)], unchanged
            ),
        ]
        if before is None:
            known = CatalogRow.since.set(CatalogRow.since | after.updated_at)
            writes.append(self._table.update(after.namespace, _NAME + after.name, [known]))
            writes.append(self._table.delete(after.namespace, _GONE + after.name))
        writes += [self._to_heal(change, event) for event in change.healing]
        clash = self._dynamo.write(*writes, *also)
        return clash is None or _rev(clash.existing[0]) == after.rev

    def delete(self, workflow: Workflow, now: Millis, rev: str, *also: Write) -> bool:
        """Remove a registration and remember when; False when it is not the one that was read any more.
        ``also`` is written with it.

        The tombstone carries ``rev``: found standing where the row is gone it is this very write, its reply
        lost (I9).
        """
        namespace, name = workflow.namespace, workflow.name
        tombstone = CatalogRow(
            k=namespace, s=_GONE + name, since=now, rev=rev, ttl=now // 1000 + GONE_FOR_SECONDS
        )
        clash = self._dynamo.write(
            self._table.delete(namespace, _WORKFLOW + name, CatalogRow.rev == workflow.rev),
            self._table.put(tombstone),
            self._table.update(namespace, _REVISION, [CatalogRow.revision.add(1)]),
            *also,
        )
        return clash is None or self._is_own_delete(clash, tombstone)

    def gone_since(self, namespace: str, workflow: str) -> Millis | None:
        """When a workflow that is not registered was deleted, as far as that is remembered."""
        raw = self._table.get(namespace, _GONE + workflow, consistent=True)
        return None if raw is None else int(raw["t"]["N"])

    def heals(self) -> list[HealWork]:
        """All that is to be healed, in every namespace."""
        return [_heal_work(raw) for raw in self._table.query_all(_HEAL, consistent=True)]

    def heal_saved(self, before: HealWork, after: HealWork) -> bool:
        """Keep how far a pass got; False when the work has changed since it was read: a registration began it
        anew, or another healer is at it. ``after`` has a ``rev`` of its own."""
        row = CatalogRow(
            k=_HEAL,
            s=_heal_key(after.namespace, after.event),
            since=after.since,
            changed_at=after.changed_at,
            pass_began=after.pass_began,
            cursor=after.cursor,
            rev=after.rev,
        )
        clash = self._dynamo.write(self._table.put(row, CatalogRow.rev == before.rev))
        return clash is None or _rev(clash.existing[0]) == after.rev

    def heal_done(self, work: HealWork) -> bool:
        """Forget work that is done; False when it has changed since it was read, or was done by another."""
        key = _heal_key(work.namespace, work.event)
        return self._dynamo.write(self._table.delete(_HEAL, key, CatalogRow.rev == work.rev)) is None

    def _to_heal(self, change: Change, event: str) -> Write:
        actions = [
            CatalogRow.since.set(CatalogRow.since | change.heal_since),
            CatalogRow.changed_at.set(change.after.updated_at),
            CatalogRow.rev.set(change.after.rev),
            CatalogRow.pass_began.remove(),
            CatalogRow.cursor.remove(),
        ]
        return self._table.update(_HEAL, _heal_key(change.after.namespace, event), actions)

    def _is_own_delete(self, clash: Clash, tombstone: CatalogRow) -> bool:
        if clash.existing[0] is not None:
            return False
        return _rev(self._table.get(tombstone.k, tombstone.s, consistent=True)) == tombstone.rev

    def workflow_names(self, namespace: str) -> list[str]:
        """Every workflow ever started here, sorted."""
        rows = self._table.query_all(namespace, CatalogRow.s.startswith(_NAME))
        return [raw["s"]["S"].removeprefix(_NAME) for raw in rows]


def _workflow(raw: Raw) -> Workflow:
    return _workflows.decode(raw["d"]["S"])


def _removed_at(workflow: Workflow) -> int | None:
    """When a workflow that workers alone know of goes by itself: it has ceased to count by then, so nobody
    need be told, but for as long as a deleted one is remembered."""
    if workflow.registered or workflow.announced is None:
        return None
    return workflow.announced.until // 1000 + GONE_FOR_SECONDS


def _rev(raw: Raw | None) -> str | None:
    return raw["rv"]["S"] if raw is not None and "rv" in raw else None


def _heal_key(namespace: str, event: str) -> str:
    return f"{namespace}#{event}"


def _heal_work(raw: Raw) -> HealWork:
    namespace, event = raw["s"]["S"].split("#", 1)
    return HealWork(
        namespace=namespace,
        event=event,
        since=int(raw["t"]["N"]),
        changed_at=int(raw["c"]["N"]),
        rev=raw["rv"]["S"],
        pass_began=int(raw["p"]["N"]) if "p" in raw else None,
        cursor=raw["u"]["S"] if "u" in raw else None,
    )
