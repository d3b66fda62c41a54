"""From plain values to models, and from what msgspec says is wrong to the field it is about."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from baton.errors import InvalidRequest

M = TypeVar("M")

NUMBERS = frozenset(
    {
        "attempt",
        "base_seconds",
        "code",
        "delay_seconds",
        "inactivity_timeout_seconds",
        "lease_seconds",
        "limit",
        "max",
        "max_attempts",
        "max_seconds",
        "max_size",
        "max_wait_seconds",
        "priority",
        "retention_seconds",
        "timeout_seconds",
        "wait_seconds",
        "window_seconds",
    }
)
"""Fields of request models, bodies and queries alike, that are numbers."""
REPEATABLE = frozenset({"state"})
"""Query parameters that may come more than once."""

_SAID = re.compile(r"(?P<msg>.*?)(?: - at `(?P<path>\$[^`]*)`)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`")
_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+)\]")
_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?")
_INTEGER_DIGITS = 20
MAX_MESSAGE = 300


def convert(value: Any, model: type[M], where: str = "body") -> M:
    """``value``, as ``payload.parse`` gives it, as a model. Raises InvalidRequest naming the field."""
    try:
        return msgspec.convert(value, model)
    except msgspec.ValidationError as exc:
        raise invalid(exc, where) from exc


def numbers(value: dict[str, Any]) -> dict[str, Any]:
    """A body whose number fields are numbers of Python's: JSON's 60.0 is an integer too."""
    exact = [name for name in NUMBERS & value.keys() if type(value[name]) is msgspec.Raw]
    return {**value, **{name: _plain(bytes(value[name]).decode()) for name in exact}} if exact else value


def query(raw: str) -> dict[str, Any]:
    """A query string's parameters. Raises InvalidRequest where one comes twice that may not."""
    found: dict[str, Any] = {}
    for name, text in parse_qsl(raw, keep_blank_values=True):
        if name in REPEATABLE:
            found.setdefault(name, []).append(text)
        elif name in found:
            raise InvalidRequest.at(["query", name[:MAX_MESSAGE]], "given more than once")
        else:
            found[name] = _number(text) if name in NUMBERS else text
    return found


def invalid(exc: msgspec.ValidationError, where: str) -> InvalidRequest:
    """What msgspec found, with the place as the contract spells it: ``["body", 3, "type"]``."""
    said = _SAID.fullmatch(str(exc))
    assert said is not None
    loc: list[str | int] = [where]
    loc += [name or int(index) for name, index in _STEP.findall(said["path"] or "")]
    msg = said["msg"].replace("\\\\Z'", "$'").replace("got `raw`", "got a number")
    for form, plain in ((_UNKNOWN, "unknown field"), (_MISSING, "required")):
        field = form.fullmatch(msg)
        if field is not None:
            return InvalidRequest.at([*loc, field["name"][:MAX_MESSAGE]], plain)
    return InvalidRequest.at(loc, msg[:MAX_MESSAGE])


def _plain(text: str) -> int | float:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return float(text)  # an exponent beyond any exponent's range
    # Beyond what any field takes, an integer would only cost time to write out.
    if number.adjusted() < _INTEGER_DIGITS and number == number.to_integral_value():
        return int(number)
    return float(number)


def _number(text: str) -> Any:
    return _plain(text) if _NUMBER.fullmatch(text) else text
