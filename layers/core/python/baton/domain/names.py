"""What things may be called, and the ids Baton derives."""

from __future__ import annotations

import base64
import hashlib
import re

NAMESPACE = r"^[a-z0-9][a-z0-9-]{0,62}$"
WORKFLOW = r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$"
EVENT = r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,159}$"
RUN_ID = r"^[A-Za-z0-9][A-Za-z0-9._:~-]{0,127}$"
ENTRY_TYPE = r"^[a-z][a-z0-9._-]{0,63}$"
IDEMPOTENCY_KEY = r"^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$"
PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+$"

DERIVED_PREFIXES = ("k~", "h~", "b~")
"""Ids beginning so are Baton's own: from an idempotency key, a hand-off, a window."""

RESERVED_TYPES = frozenset({"start", "claimed", "cancel", "suspended", "woken", "resumed", "closing", "end"})
"""Log entry types that only Baton writes."""


def matches(pattern: str, text: str) -> bool:
    """Whether the whole of ``text`` is such a name (``$`` alone would let a final newline by)."""
    return re.fullmatch(pattern, text) is not None


def id_from_key(namespace: str, route: str, key: str) -> str:
    """The run id that an idempotency key stands for, in one namespace and for one route: who knows another
    tenant's id learns no key by it. Constant length, so a key of any kind makes a legal id."""
    return _derived("k~", namespace, route, key)


def id_from_handoff(*source: str) -> str:
    """The id of the run that a hand-off starts. ``source`` is all that makes the hand-off what it is: of an
    ending (namespace, birth, attempt, ending, subscriber). Constant length at any depth (I3)."""
    return _derived("h~", *source)


def id_from_window(*source: str) -> str:
    """The id of the run that a window's firing starts."""
    return _derived("b~", *source)


def _derived(prefix: str, *source: str) -> str:
    sum_ = hashlib.sha256("\0".join(source).encode()).digest()
    return prefix + base64.b32encode(sum_[:20]).decode().lower()


def birth_mark(now: int, entropy: bytes) -> str:
    """The random mark of one life of a run id. It begins with the time, so that of two lives of an id the
    later one sorts last in the log (clocks permitting: nothing rests on it but a saved round trip)."""
    return f"{now:012x}{entropy.hex()}"
