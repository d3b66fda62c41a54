"""How often tokens asked: one item for each token and window, in the catalog's table."""

from __future__ import annotations

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.models import Model

from baton.domain.clock import Millis
from baton.domain.limiting import end_of
from baton.store.dynamo import Dynamo, Table
from baton.store.schema import CATALOG

_RATE = "#rate#"
"""Begins a token's partition: no namespace begins so, and no namespace's own writes wait for a count."""
KEPT_SECONDS = 60
"""How long a window that is over is kept, at least: clocks differ."""


class WindowRow(Model):
    """A token's window. Its sort key is when it began."""

    k = UnicodeAttribute(hash_key=True)
    s = UnicodeAttribute(range_key=True)
    requests = NumberAttribute(attr_name="n")
    ttl = NumberAttribute()


class LimitStore:
    """The counts in the catalog's table."""

    def __init__(self, dynamo: Dynamo, table_name: str) -> None:
        self._dynamo = dynamo
        self._table = Table(dynamo, CATALOG, table_name)

    def count(self, token_id: str, window: Millis, requests: int) -> int:
        """Count so many more in a window; how many that makes, by all who count. Without condition: a write
        whose reply was lost counts twice. Raises Unavailable."""
        actions = [
            WindowRow.requests.add(requests),
            WindowRow.ttl.set(end_of(window) // 1000 + KEPT_SECONDS),
        ]
        changed = self._dynamo.changed(self._table.update(_RATE + token_id, f"{window:013}", actions))
        return int(changed["n"]["N"])
