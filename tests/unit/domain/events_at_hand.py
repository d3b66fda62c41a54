"""An event for tests of decisions, ready to be varied."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from baton.domain.events import Posted
from baton.domain.settlement import Settlement
from tests.unit.domain.runs_at_hand import NOW


def posted_at(at: int = NOW, **change: Any) -> Posted:
    """An event as it is posted: whom it is owed to is not known yet, and nobody has looked who waits."""
    posted = Posted(
        namespace="default",
        name="paid",
        id="e1",
        rev="rev1",
        payload=b"null",
        digest="digest",
        posted_at=at,
        settlement=Settlement(unresolved=True),
        due_at=at + 30_000,
    )
    return replace(posted, **change)
