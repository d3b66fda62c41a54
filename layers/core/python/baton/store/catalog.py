"""What is known of a namespace across its runs: the names of the workflows ever started."""

from __future__ import annotations

import msgspec
from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.models import Model

from baton.domain.catalog import Workflow
from baton.domain.clock import Millis
from baton.store.dynamo import Dynamo, Table
from baton.store.schema import CATALOG

_NAME = "name#"
_WORKFLOW = "wf#"
_GONE = "gone#"

_workflows = msgspec.json.Decoder(Workflow)
MAX_REMEMBERED = 10_000


class CatalogRow(Model):
    """An item of the catalog table."""

    k = UnicodeAttribute(hash_key=True)
    s = UnicodeAttribute(range_key=True)
    since = NumberAttribute(attr_name="t")
    document = UnicodeAttribute(attr_name="d", null=True)
    """A registered workflow, as JSON."""


class CatalogStore:
    """The catalog table."""

    def __init__(self, dynamo: Dynamo, table_name: str) -> None:
        self._dynamo = dynamo
        self._table = Table(dynamo, CATALOG, table_name)
        self._noted: set[tuple[str, str]] = set()

    def noted(self, namespace: str, workflow: str) -> bool:
        """Whether this container knows the name to be kept."""
        return (namespace, workflow) in self._noted

    def note(self, namespace: str, workflow: str, now: Millis) -> None:
        """Keep a workflow's name, once and for good; the first to start it writes, the others find it
        there."""
        row = CatalogRow(k=namespace, s=_NAME + workflow, since=now)
        self._dynamo.write(self._table.put(row, CatalogRow.k.does_not_exist()))
        if len(self._noted) >= MAX_REMEMBERED:
            self._noted.clear()
        self._noted.add((namespace, workflow))

    def workflows(self, namespace: str) -> list[Workflow]:
        """The registered workflows, by name. Eventually consistent."""
        rows = self._table.query_all(namespace, CatalogRow.s.startswith(_WORKFLOW))
        return [_workflows.decode(raw["d"]["S"]) for raw in rows]

    def gone_since(self, namespace: str, workflow: str) -> Millis | None:
        """When a workflow that is not registered was deleted, as far as that is remembered."""
        raw = self._table.get(namespace, _GONE + workflow, consistent=True)
        return None if raw is None else int(raw["t"]["N"])

    def workflow_names(self, namespace: str) -> list[str]:
        """Every workflow ever started here, sorted."""
        rows = self._table.query_all(namespace, CatalogRow.s.startswith(_NAME))
        return [raw["s"]["S"].removeprefix(_NAME) for raw in rows]
