"""The audit: one item for each thing done, in the catalog's table, beside what is read as the catalog."""

from __future__ import annotations

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.models import Model

from baton.domain.audit import Action, Audited
from baton.store.dynamo import Dynamo, Raw, Table, Write
from baton.store.schema import CATALOG

_AUDIT = "audit#"
"""Sorts before all that is read with the workflows."""


class AuditRow(Model):
    """An item of the audit. Its sort key is the time and the write's mark."""

    k = UnicodeAttribute(hash_key=True)
    s = UnicodeAttribute(range_key=True)
    action = UnicodeAttribute(attr_name="a")
    subject = UnicodeAttribute(attr_name="o")
    by = UnicodeAttribute()
    ttl = NumberAttribute()


class AuditStore:
    """The audit in the catalog's table; what is older than ``memory_seconds`` may be removed."""

    def __init__(self, dynamo: Dynamo, table_name: str, *, memory_seconds: float) -> None:
        self._table = Table(dynamo, CATALOG, table_name)
        self._memory_seconds = memory_seconds

    def put(self, done: Audited) -> Write:
        """The write of an item, to go with what was done. Repeated it changes nothing."""
        row = AuditRow(
            k=done.namespace,
            s=_sort(done),
            action=done.action.value,
            subject=done.subject,
            by=done.by,
            ttl=int(done.at // 1000 + self._memory_seconds),
        )
        return self._table.put(row)

    def page(
        self, namespace: str, *, after: str | None, limit: int
    ) -> tuple[list[tuple[str, Audited]], bool]:
        """Up to ``limit`` items, the newest first, each with its place; from ``after`` one's place on; and
        whether there may be more. Consistent."""
        start = None if after is None else {"k": {"S": namespace}, "s": {"S": _AUDIT + after}}
        page = self._table.query(
            namespace,
            AuditRow.s.startswith(_AUDIT),
            consistent=True,
            forward=False,
            start=start,
            limit=limit,
        )
        return [(_place(raw), _audited(raw)) for raw in page.items], page.more is not None


def _sort(done: Audited) -> str:
    return f"{_AUDIT}{done.at:013}#{done.rev}"


def _place(raw: Raw) -> str:
    return str(raw["s"]["S"]).removeprefix(_AUDIT)


def _audited(raw: Raw) -> Audited:
    at, rev = _place(raw).split("#")
    return Audited(
        namespace=raw["k"]["S"],
        at=int(at),
        action=Action(raw["a"]["S"]),
        subject=raw["o"]["S"],
        by=raw["by"]["S"],
        rev=rev,
    )
