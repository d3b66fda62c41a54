"""Option values: JSON given inline, from ``@file`` or from ``-`` (stdin), and times."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

import typer

PAYLOAD_HELP = "JSON, @FILE, or - for stdin."

_LAPSE = re.compile(r"(\d+)([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_CONTEXT = 40
_NO_TIME = "is not a time (2026-01-31T12:00:00Z)"


def json_value(given: str | None, option: str) -> Any:
    """The value of a payload option; None when it was not given. A usage error shows where the JSON is
    wrong."""
    if given is None:
        return None
    source, text = _text(given, option)
    return parse(text, source, option)


def parse(text: str, source: str, option: str) -> Any:
    """The value of a JSON text from ``source``."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as exc:
        raise typer.BadParameter(_explain(exc, source), param_hint=option) from exc
    except (ValueError, RecursionError) as exc:
        raise typer.BadParameter(f"{source} is not JSON: {exc}", param_hint=option) from exc


def moment(given: str | None, option: str) -> str | None:
    """An RFC 3339 time; ``90s``, ``30m``, ``2h`` and ``7d`` mean that long ago."""
    if given is None:
        return None
    if _LAPSE.fullmatch(given):
        return _from_now(given, option, -1)
    return _time(given, option, "is neither a time (2026-01-31T12:00:00Z) nor an age (30m, 2h, 7d)")


def instant(given: str | None, option: str) -> str | None:
    """An RFC 3339 time, to come or past."""
    return None if given is None else _time(given, option, _NO_TIME)


def until(lapse: str | None, time: str | None, options: tuple[str, str]) -> str | None:
    """When something ends that has not yet: a ``lapse`` from now (``30m``, ``2h``, ``7d``), or at an RFC 3339
    ``time``; one of the two ``options`` at most."""
    if lapse is not None and time is not None:
        raise typer.BadParameter(f"{' and '.join(options)}: one of them says it", param_hint=options[0])
    if lapse is not None:
        given, option, end = lapse, options[0], _from_now(lapse, options[0])
    elif time is not None:
        given, option = time, options[1]
        end = _time(time, option, _NO_TIME)
    else:
        return None
    if end <= _rfc3339(datetime.now(UTC)):
        raise typer.BadParameter(f"{given!r} has passed already", param_hint=option)
    return end


def _from_now(given: str, option: str, sign: int = 1) -> str:
    found = _LAPSE.fullmatch(given)
    try:
        if found is None:
            raise ValueError(given)
        lapse = timedelta(**{_UNITS[found[2]]: int(found[1])})
        return _rfc3339(datetime.now(UTC) + sign * lapse)
    except (ValueError, OverflowError) as exc:
        problem = f"{given!r} is not a while that can be counted (30m, 2h, 7d)"
        raise typer.BadParameter(problem, param_hint=option) from exc


def _time(given: str, option: str, problem: str) -> str:
    try:
        return _rfc3339(datetime.fromisoformat(given).astimezone(UTC))
    except (ValueError, OverflowError) as exc:
        raise typer.BadParameter(f"{given!r} {problem}", param_hint=option) from exc


def _rfc3339(value: datetime) -> str:
    return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _text(given: str, option: str) -> tuple[str, str]:
    try:
        if given == "-":
            return "stdin", sys.stdin.buffer.read().decode()
        if given.startswith("@"):
            return given[1:], Path(given[1:]).read_bytes().decode()
    except (OSError, UnicodeDecodeError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else exc
        raise typer.BadParameter(f"can't read {given.removeprefix('@')}: {why}", param_hint=option) from exc
    return "it", given


def _explain(exc: json.JSONDecodeError, source: str) -> str:
    line = exc.doc.split("\n")[exc.lineno - 1] if exc.doc.strip() else ""
    begin = max(0, exc.colno - 1 - _CONTEXT)
    shown = line[begin : exc.colno - 1 + _CONTEXT]
    where = f"{source} is not JSON: {exc.msg} at line {exc.lineno}, column {exc.colno}"
    pointer = f"\n  {shown}\n  {' ' * (exc.colno - 1 - begin)}^" if shown else " (it is empty)"
    hint = "\nText needs its own quotes: '\"text\"'" if exc.pos == 0 and source == "it" and shown else ""
    return where + pointer + hint


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")
