"""Hints to look at an item at a time, sent through a queue that delivers late: a hint, never the truth."""

from __future__ import annotations

import math
from urllib.parse import urlsplit

import msgspec

from baton.domain.clock import Clock, Millis
from baton.outbound.clients import Client, LazyClient, Line

MAX_DELAY_SECONDS = 900
"""SQS delays a message no longer. What is due later is the sweep's, which comes each minute."""


class Timers:
    """The timers queue; without one, hints go nowhere.

    Best effort: a hint may be lost, come twice, or early by a clock's error. The due index is what counts.
    """

    def __init__(
        self, queue_url: str | None, *, region: str, clock: Clock, client: Client | None = None
    ) -> None:
        self._queue_url = queue_url or None
        self._clock = clock
        self._line = Line(client or LazyClient("sqs", region=region, endpoint_url=_origin(queue_url)), clock)

    @property
    def on(self) -> bool:
        """Whether there is a queue."""
        return self._queue_url is not None

    def hint(self, keys: tuple[str, str], due_at: Millis) -> None:
        """Have somebody look at the item of the runs table at ``keys`` (partition, sort) once it is due, to a
        second. Nothing is sent when that is more than 15 minutes off. Never raises."""
        delay = math.ceil((due_at - self._clock.now()) / 1000)
        if self._queue_url is None or delay > MAX_DELAY_SECONDS:
            return
        body = msgspec.json.encode({"k": keys[0], "s": keys[1]}).decode()
        self._line.call(
            "send_message", QueueUrl=self._queue_url, MessageBody=body, DelaySeconds=max(0, delay)
        )


def _origin(queue_url: str | None) -> str | None:
    """The service that a queue's URL leads to: it may be another than the region's own."""
    if not queue_url:
        return None
    parts = urlsplit(queue_url)
    return f"{parts.scheme}://{parts.netloc}"
