"""The log's words: an event as read, an event to append, a page of events and what an append answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from baton_sdk.errors import BadAnswer
from baton_sdk.run import moment

START = "-1"
"""The offset before a log's first event."""
NOW = "now"
"""The offset after the newest event, whichever that is when the read begins."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """One entry of a run's log. ``seq`` counts from 0 without holes, also over attempts."""

    run_id: str
    seq: int
    attempt: int
    type: str
    ts: datetime
    data: Any
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, message: Any) -> Event:
        """Read one message of the stream. Raises BadAnswer."""
        try:
            ts = moment(message["ts"])
            if ts is None or not isinstance(message["seq"], int):
                raise TypeError("ts or seq")
            fields = {name: message[name] for name in ("run_id", "seq", "attempt", "type")}
            return cls(**fields, ts=ts, data=message.get("data"), raw=message)
        except (KeyError, TypeError, ValueError) as exc:
            raise BadAnswer(f"a message of the log is not an event: {exc!r}") from exc


@dataclass(frozen=True, kw_only=True)
class Page:
    """What one read gave. ``next_offset`` is where to read on; ``closed`` that nothing will come any more."""

    events: tuple[Event, ...] = ()
    next_offset: str | None = None
    cursor: str | None = None
    up_to_date: bool = False
    closed: bool = False


@dataclass(frozen=True, kw_only=True)
class Appended:
    """An acknowledged append. ``tail`` is to be sent back with the next one; ``duplicate`` that the server
    had it."""

    next_offset: str | None
    tail: str | None
    duplicate: bool


def events_from(messages: Any) -> tuple[Event, ...]:
    """The events of a JSON array of messages. Raises BadAnswer."""
    if not isinstance(messages, list):
        raise BadAnswer("the log's answer is not an array of messages")
    return tuple(Event.from_json(message) for message in messages)


def next_offset(headers: Mapping[str, str]) -> str:
    """Where the log goes on after what an answer tells of it. Raises BadAnswer where it does not say: then it
    is not the log's answer but a proxy's, and what it seems to tell (nothing there, taken) is not so."""
    offset = headers.get("stream-next-offset")
    if not offset:
        raise BadAnswer("the log's answer does not say where the log goes on")
    return offset
