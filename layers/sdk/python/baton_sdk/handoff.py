"""What the service answers about handing off: a republish, a published event, and what is still owed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from baton_sdk.errors import BadAnswer
from baton_sdk.run import moment


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A subscriber that a republish did not start, and why."""

    run_id: str
    subscriber: str | None
    error: Any


@dataclass(frozen=True, kw_only=True)
class Republished:
    """What one call of a republish, or several added up, came to.

    ``runs`` counts the settled runs gone over; ``created`` and ``existing`` the subscribers' runs;
    ``re_owed`` what is owed again, as it could not be started now; ``skipped`` what was coalesced already.
    ``busy`` are runs that someone else is publishing. ``next_token`` goes on: without one it was all.
    """

    runs: int = 0
    created: int = 0
    existing: int = 0
    re_owed: int = 0
    skipped: int = 0
    refused: tuple[Refusal, ...] = ()
    busy: tuple[str, ...] = ()
    next_token: str | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing was refused or busy."""
        return not self.refused and not self.busy

    def plus(self, later: Republished) -> Republished:
        """This and the answer of a ``later`` call, which says where to go on."""
        counts = {name: getattr(self, name) + getattr(later, name) for name in _COUNTS}
        return Republished(
            **counts,
            refused=self.refused + later.refused,
            busy=self.busy + later.busy,
            next_token=later.next_token,
        )

    def as_json(self) -> dict[str, Any]:
        """As the service answers it."""
        refused = [vars(refusal) for refusal in self.refused]
        document = {name: getattr(self, name) for name in _COUNTS}
        document |= {"refused": refused, "busy": list(self.busy)}
        return document if self.next_token is None else document | {"next_token": self.next_token}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Republished:
        """Read the answer of a republish. Raises BadAnswer."""
        try:
            refused = tuple(
                Refusal(run_id=e["run_id"], subscriber=e.get("subscriber"), error=e.get("error"))
                for e in data.get("refused") or ()
            )
            return cls(
                **{name: int(data[name]) for name in _COUNTS},
                refused=refused,
                busy=tuple(data.get("busy") or ()),
                next_token=data.get("next_token"),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise BadAnswer(f"the server's answer to a republish is not one: {exc!r}") from exc


_COUNTS = ("runs", "created", "existing", "re_owed", "skipped")


@dataclass(frozen=True, kw_only=True)
class Handed:
    """A subscriber that an event started, and its run."""

    subscriber: str
    run_id: str | None


@dataclass(frozen=True, kw_only=True)
class Published:
    """What a custom event did: whom it started, how many runs it woke, and whether it is ``kept``, as it
    reached nobody, for the next run that waits for it."""

    event_id: str
    started: tuple[Handed, ...]
    woken: int
    kept: bool
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Published:
        """Read the answer of ``POST /v1/events/{name}``. Raises BadAnswer."""
        try:
            started = tuple(
                Handed(subscriber=entry["subscriber"], run_id=entry.get("run_id"))
                for entry in data.get("started") or ()
            )
            woken, kept = int(data.get("woken") or 0), bool(data.get("kept"))
            return cls(event_id=data["event_id"], started=started, woken=woken, kept=kept, raw=data)
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise BadAnswer(f"the server's answer to an event is not one: {exc!r}") from exc


@dataclass(frozen=True, kw_only=True)
class Owing:
    """What one ending still owes: to whom, since when, and why. Nobody is named where that is not resolved
    yet, or where runs wait for the ending."""

    run_id: str
    workflow: str | None
    attempt: int | None
    event: str | None
    subscribers: tuple[str, ...]
    since: datetime | None
    why: str | None
    raw: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class Stats:
    """What is owed and what is due. ``owing`` names it, oldest first, as far as the service looked:
    ``complete`` False says that there may be more."""

    owed: int
    oldest_owed_seconds: float | None
    due: int
    owing: tuple[Owing, ...]
    complete: bool
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Stats:
        """Read the answer of ``GET /v1/stats``. Raises BadAnswer."""
        try:
            return cls(
                owed=int(data["owed"]),
                oldest_owed_seconds=data.get("oldest_owed_seconds"),
                due=int(data["due"]),
                owing=tuple(_owing(entry) for entry in data.get("owing") or ()),
                complete=bool(data.get("complete", True)),
                raw=data,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise BadAnswer(f"the server's statistics are none: {exc!r}") from exc


def _owing(data: Mapping[str, Any]) -> Owing:
    return Owing(
        run_id=data["run_id"],
        **{name: data.get(name) for name in ("workflow", "attempt", "event", "why")},
        subscribers=tuple(data.get("subscribers") or ()),
        since=moment(data.get("since")),
        raw=data,
    )
