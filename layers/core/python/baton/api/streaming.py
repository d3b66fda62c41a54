"""Answers that come in pieces, and the frames of server-sent events."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec


class StreamedResponse(msgspec.Struct, frozen=True):
    """For a gateway that can stream: ``body`` is closed by it when the client is gone."""

    status: int
    headers: dict[str, str]
    body: Iterator[bytes]


COMMENT = b":\n\n"
"""Says nothing, and that we are here."""


def event(kind: str, data: bytes, id_: str | None = None) -> bytes:
    """One event. Source: WHATWG HTML, 9.2.5: a field ends at any line end, so data goes line by line."""
    lines = b"\ndata: ".join(data.splitlines()) if data else b""
    head = f"event: {kind}\n" + (f"id: {id_}\n" if id_ is not None else "")
    return head.encode() + b"data: " + lines + b"\n\n"


def retry(milliseconds: int) -> bytes:
    """How long a reader is to wait before it comes again."""
    return f"retry: {milliseconds}\n\n".encode()
