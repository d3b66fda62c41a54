"""Payloads as JSON: the values a server gave are the values a caller gets, and what JSON can't say is
refused."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from baton_sdk.errors import BadAnswer, InvalidRequest

KB = 1024
MAX_BYTES = 256 * KB
"""The limit of an input, an output with its error, one event, and all events of one append."""

_CANONICAL = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def encode(value: Any, *, what: str = "payload") -> bytes:
    """Canonical JSON (keys sorted, no spaces, UTF-8): what is measured and sent.

    Raises InvalidRequest for what JSON has no words for: NaN, Infinity, lone surrogates, cycles, other types.
    """
    try:
        return _CANONICAL.encode(value).encode()
    except UnicodeEncodeError as exc:
        raise InvalidRequest(f"{what}: a lone surrogate is not text") from exc
    except RecursionError as exc:
        raise InvalidRequest(f"{what}: nested too deeply") from exc
    except (TypeError, ValueError) as exc:
        raise InvalidRequest(f"{what}: {exc}") from exc


def decode(raw: bytes | str) -> Any:
    """The value of a JSON text: integers of any size, floats and -0.0 as they were sent. Raises BadAnswer."""
    try:
        return json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError) as exc:
        raise BadAnswer(f"the server's answer is not JSON: {exc}") from exc


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
