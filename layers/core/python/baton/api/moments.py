"""Moments in requests: how Baton counts them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from baton.domain.clock import Millis
from baton.errors import InvalidRequest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LAST: Millis = 253_402_300_799_999
"""The end of the year 9999 in UTC: no later time can be told as RFC 3339 has it."""


def sayable(moment: datetime | None, field: str) -> Millis | None:
    """A time that is to be told again: written with an offset, it may lie beyond what UTC can say. Raises
    InvalidRequest."""
    at = None if moment is None else floor(moment)
    if at is not None and at > _LAST:
        raise InvalidRequest.at(["body", field], "after the year 9999")
    return at


def floor(moment: datetime, sign: int = 1) -> Millis:
    """Whole milliseconds since 1970, rounded down; with ``sign`` -1 the negative of those rounded up."""
    return sign * (moment - _EPOCH) // _MILLISECOND
