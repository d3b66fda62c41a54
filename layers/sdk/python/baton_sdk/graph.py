"""Who starts whom, as one picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from baton_sdk.errors import BadAnswer
from baton_sdk.workflow import Link, links

_ENDINGS = {"run.completed": "completed", "run.failed": "failed"}


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The names of the registered workflows, and a link for each that is started by an event."""

    workflows: tuple[str, ...]
    edges: tuple[Link, ...]
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Graph:
        """Read the answer of ``GET /v1/graph``. Raises BadAnswer."""
        try:
            names = tuple(str(node["name"]) for node in data["workflows"])
            return cls(workflows=names, edges=links(data.get("edges")), raw=data)
        except (KeyError, TypeError) as exc:
            raise BadAnswer(f"the server's graph is none: {exc!r}") from exc


def ended(event: str) -> tuple[str, str] | None:
    """The workflow whose ending an event is, and which ending; None for an event of one's own."""
    kind, colon, workflow = event.partition(":")
    return (workflow, _ENDINGS[kind]) if colon and kind in _ENDINGS else None
