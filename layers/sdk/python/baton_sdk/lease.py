"""What the service answers a worker about its lease, and who else is at work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from baton_sdk.errors import BadAnswer
from baton_sdk.run import CancelRequest, cancel_request, moment


@dataclass(frozen=True, kw_only=True)
class Renewed:
    """The lease goes on until ``expires_at``, by the service's clock. ``cancel_requested``: somebody wants
    the run to stop."""

    expires_at: datetime
    cancel_requested: CancelRequest | None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Renewed:
        """Read the answer of a renewal. Raises BadAnswer."""
        try:
            return cls(
                expires_at=datetime.fromisoformat(data["expires_at"]),
                cancel_requested=cancel_request(data.get("cancel_requested")),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise BadAnswer(f"the server's answer is not a renewal's: {exc!r}") from exc


@dataclass(frozen=True, kw_only=True)
class WorkerInfo:
    """A live worker. It counts as one until ``expires_at``, unless it is heard again before. ``raw`` is the
    JSON object as it came."""

    worker_id: str
    runtime: str | None
    workflows: tuple[str, ...]
    seen_at: datetime | None
    expires_at: datetime | None
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, data: Any) -> WorkerInfo:
        """Read a worker object. Raises BadAnswer."""
        try:
            return cls(
                worker_id=data["worker_id"],
                runtime=data.get("runtime"),
                workflows=tuple(data.get("workflows") or ()),
                seen_at=moment(data.get("seen_at")),
                expires_at=moment(data.get("expires_at")),
                raw=data,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise BadAnswer(f"the server's worker object is not one: {exc!r}") from exc
