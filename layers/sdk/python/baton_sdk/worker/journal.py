"""What a run's log has recorded at each position of its function's calls, and whether what is asked now
agrees with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from baton_sdk.log import Event
from baton_sdk.worker.errors import CodeChanged

CHECKPOINT = "checkpoint"
"""The type of a log entry that records a call."""

STEP, NOW, SLEEP, WAIT_FOR_RUN, WAIT_FOR_EVENT, START = (
    "step",
    "now",
    "sleep",
    "wait_for_run",
    "wait_for_event",
    "start",
)
UUID = "uuid"
"""Takes a position and records nothing: it is derived."""

_WOKEN_BY = {SLEEP: "time", WAIT_FOR_RUN: "run", WAIT_FOR_EVENT: "event"}


@dataclass(frozen=True, kw_only=True)
class Record:
    """One call as it was recorded: ``data`` is the checkpoint's, with what a later one of the same call
    added; ``woken`` what ended its wait, if something did."""

    position: int
    kind: str
    name: str | None
    data: Mapping[str, Any]
    woken: Mapping[str, Any] | None = None

    @property
    def heeding(self) -> bool:
        """Whether the function knew by the end of the call that its run was to be cancelled."""
        return bool(self.data.get("cancelled"))


@dataclass(frozen=True, kw_only=True)
class Journal:
    """All that is recorded. ``end`` is the first position after it."""

    records: Mapping[int, Record] = field(default_factory=dict)
    end: int = 0

    @classmethod
    def read(cls, events: Iterable[Event]) -> Journal:
        """From a log's entries of all attempts, in their order."""
        records: dict[int, Record] = {}
        for event in events:
            if event.type == CHECKPOINT:
                found = _record(event.data)
                if found is not None:
                    records[found.position] = _joined(records.get(found.position), found)
            elif event.type == "woken" and records:
                waits = max(records)  # a function that waits has got no further
                records[waits] = _woken(records[waits], event.data)
            elif event.type == "resumed":
                # The wish to cancel is gone, and with it what was done because of it: the function goes on
                # from where it heard of it.
                records = {at: record for at, record in records.items() if not record.heeding}
        return cls(records=records, end=max(records, default=-1) + 1)

    def at(self, position: int, kind: str, name: str | None) -> Record | None:
        """What is recorded of this call; None beyond the end. Raises CodeChanged when it is another call."""
        if position >= self.end:
            return None
        record = self.records.get(position)
        if record is None and kind == UUID:
            return None
        if record is None or (record.kind, record.name) != (kind, name):
            recorded = _spoken(UUID, None) if record is None else _spoken(record.kind, record.name)
            raise CodeChanged(
                f"the code has changed: at position {position} the log has {recorded}, "
                f"and the function asks for {_spoken(kind, name)}"
            )
        return record

    def check_ended(self, position: int) -> None:
        """Raise CodeChanged unless a function that has returned before ``position`` asked for all that is
        recorded."""
        missed = min((at for at in self.records if at >= position), default=None)
        if missed is not None:
            record = self.records[missed]
            raise CodeChanged(
                f"the code has changed: at position {missed} the log has "
                f"{_spoken(record.kind, record.name)}, and the function returns without asking for it"
            )


def _record(data: Any) -> Record | None:
    """A checkpoint's record. None for an entry of that type which is none of ours."""
    if not isinstance(data, Mapping):
        return None
    position, kind, name = data.get("position"), data.get("kind"), data.get("name")
    if not (isinstance(position, int) and isinstance(kind, str) and isinstance(name, str | None)):
        return None
    return Record(position=position, kind=kind, name=name, data=data)


def _joined(before: Record | None, found: Record) -> Record:
    """A wait is recorded when it begins, and again with what it came to."""
    if before is None:
        return found
    return replace(found, data={**before.data, **found.data}, woken=before.woken)


def _woken(record: Record, data: Any) -> Record:
    """The first waking of its kind ends a wait; any other is of somebody else's wait, and changes nothing."""
    if record.woken is not None or not isinstance(data, Mapping):
        return record
    return replace(record, woken=data) if data.get("kind") == _WOKEN_BY.get(record.kind) else record


def _spoken(kind: str, name: str | None) -> str:
    return kind if name is None else f"{kind} {name!r}"
