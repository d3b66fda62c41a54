"""Payloads as canonical JSON bytes: keys sorted, no spaces, UTF-8, numbers as they were sent."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from typing import Any

import msgspec

from baton.errors import InvalidRequest, PayloadTooLarge

KB = 1024
MAX_PAYLOAD = 256 * KB
"""Input, output with error, one event, one append. Canonical bytes."""

MAX_HANDOFF_INPUT = 320 * KB
"""Input of a run that Baton starts itself: an output of full size fits, with what stands around it."""

INLINE_INPUT = 512
"""An input up to this many bytes stands in the run's row, a larger one is the log's item 0. What a hand-off
gives counts as compressed: it is mostly names that are the same in each."""

MAX_TO_COMPRESS = 4 * KB
"""No more than this is compressed to see whether it would fit."""

MAX_DEPTH = 500
"""Arrays and objects within each other: what is kept must be readable again, however deep in calls."""

NULL = b"null"

# Raw keeps a fraction's or an exponent's characters as they were sent; integers are Python's own.
_decoder = msgspec.json.Decoder(float_hook=msgspec.Raw)
# Python has one integer zero, JSON two.
_NEGATIVE_ZERO = re.compile(rb"-0(?![0-9.eE])")
_encoder = msgspec.json.Encoder(order="sorted")


def parse(raw: bytes, *, where: str = "body") -> Any:
    """JSON to values that ``canonical`` gives back, numbers character by character. Raises InvalidRequest on
    NaN, Infinity, lone surrogates, broken UTF-8, trailing bytes and nesting too deep to hold."""
    try:
        value = _decoder.decode(raw)
    except RecursionError as exc:
        raise _too_deep(where) from exc
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        raise InvalidRequest.at([where], _reason(raw, exc)) from exc
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _deeper_than(value, MAX_DEPTH):
        raise _too_deep(where)
    return _again(raw) if _NEGATIVE_ZERO.search(raw) else value


def fits_row(input_: bytes) -> bool:
    """Whether an input is small enough for a run's row, if need be compressed."""
    if len(input_) <= INLINE_INPUT:
        return True
    return len(input_) <= MAX_TO_COMPRESS and len(zlib.compress(input_)) <= INLINE_INPUT


def canonical(value: Any) -> bytes:
    """The one spelling of ``value``: what is stored, measured, hashed and sent."""
    try:
        return _encoder.encode(value)
    except RecursionError as exc:
        raise InvalidRequest.at(["body"], "nested too deeply") from exc


def digest(canonical_body: bytes) -> str:
    """What tells one body from another under the same idempotency key: 22 characters, as a row holds some."""
    sum_ = hashlib.sha256(canonical_body).digest()
    return base64.urlsafe_b64encode(sum_[:16]).decode().rstrip("=")


def check_size(name: str, size: int, limit: int = MAX_PAYLOAD) -> None:
    """Raise PayloadTooLarge when ``size`` canonical bytes are over ``limit``."""
    if size > limit:
        msg = f"{size} bytes of canonical JSON, over the limit of {limit}"
        raise PayloadTooLarge(f"{name}: {msg}", errors=[{"loc": ["body", name], "msg": msg}])


def _again(raw: bytes) -> Any:
    """What was found to be good JSON, its integer -0 kept as it was sent: the first parser can't tell."""
    return json.loads(
        raw,
        parse_float=msgspec.Raw,
        parse_int=lambda text: msgspec.Raw(text) if text == "-0" else int(text),
    )


def _deeper_than(value: Any, levels: int) -> bool:
    """Level by level, so that it needs no stack itself."""
    level = [value]
    for _ in range(levels):
        level = [
            child
            for each in level
            for child in (each.values() if type(each) is dict else each)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


def _too_deep(where: str) -> InvalidRequest:
    return InvalidRequest.at([where], f"nested too deeply: over {MAX_DEPTH} levels")


def _reason(raw: bytes, exc: Exception) -> str:
    # The parser reports a lone surrogate at the end of a string as a cut-off input; say what it is.
    text = str(exc)
    if "truncated" in text and b"\\u" in raw:
        return f"not JSON: {text} (or a lone surrogate escape)"
    return f"not JSON: {text}"
