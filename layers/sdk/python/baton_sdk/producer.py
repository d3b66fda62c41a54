"""Appends as an idempotent producer (Durable Streams protocol, 5.2.1), so that a repeat is never a second
line."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

import httpx

from baton_sdk.log import Appended, next_offset
from baton_sdk.retry import Listener, RetryPolicy
from baton_sdk.transport import JSON_TYPE, Request, Transport

TAIL_HEADER = "baton-tail"
"""The log's tail as an answer gave it, signed; sent back it saves the service a read."""


@dataclass(frozen=True, kw_only=True)
class Producer:
    """Who appends (``id``, ``epoch``) and the number of its next append (``seq``)."""

    id: str
    epoch: int = 0
    seq: int = 0

    @classmethod
    def named(cls, producer_id: str | None) -> Producer:
        """A producer that begins; a random id when none is given, which nobody else will use."""
        return cls(id=producer_id or f"sdk-{uuid.uuid4().hex[:16]}")

    def next(self) -> Producer:
        """The producer after an acknowledged append."""
        return replace(self, seq=self.seq + 1)

    def headers(self) -> dict[str, str]:
        """What names this append to the server."""
        return {"producer-id": self.id, "producer-epoch": str(self.epoch), "producer-seq": str(self.seq)}


def send_append(
    transport: Transport,
    path: str,
    bodies: Sequence[bytes],
    *,
    attempt: int | None,
    producer: Producer | None,
    tail: str | None,
    retry: RetryPolicy | None = None,
    listener: Listener | None = None,
    stop: threading.Event | None = None,
) -> Appended:
    """Append encoded events as one batch. Repeated after an unknown outcome only under a producer's name."""
    headers = {"content-type": JSON_TYPE}
    if attempt is not None:
        headers["baton-attempt"] = str(attempt)
    if tail is not None:
        headers[TAIL_HEADER] = tail
    if producer is not None:
        headers.update(producer.headers())
    request = Request(
        method="POST",
        path=path,
        headers=headers,
        content=b"[" + b",".join(bodies) + b"]",
        repeatable=producer is not None,
    )
    response = transport.send(request, retry=retry, listener=listener, stop=stop)
    return Appended(
        next_offset=next_offset(response.headers),
        tail=response.headers.get(TAIL_HEADER),
        # Without producer headers 204 is the only success; with them it says "already here".
        duplicate=producer is not None and response.status_code == httpx.codes.NO_CONTENT,
    )
