"""The calls of a run's log: append, read, follow, write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from baton_sdk import log, payload
from baton_sdk.calls import Calls, stream_path
from baton_sdk.errors import BatonError, InvalidRequest
from baton_sdk.feeds import read_page
from baton_sdk.follower import Follower
from baton_sdk.log import Appended, Event, Page
from baton_sdk.outbox import Limits
from baton_sdk.producer import Producer, send_append
from baton_sdk.retry import Listener, RetryPolicy
from baton_sdk.transport import Request
from baton_sdk.writer import Writer


class LogCalls(Calls):
    """Everything said about a run."""

    def append(
        self,
        run_id: str,
        events: Sequence[Mapping[str, Any]],
        *,
        attempt: int | None = None,
        producer: Producer | None = None,
        tail: str | None = None,
    ) -> Appended:
        """Append ``[{"type", "data"?}, …]`` as one batch. Repeated after a lost reply only with a
        ``producer``.

        For more than a few events use ``writer``: it batches, and never doubles one.
        """
        if not events:
            raise InvalidRequest("nothing to append")
        bodies = [payload.encode(event, what=f"event {at}") for at, event in enumerate(events)]
        return send_append(
            self._transport, stream_path(run_id), bodies, attempt=attempt, producer=producer, tail=tail
        )

    def tail(self, run_id: str) -> Page:
        """The log's end as it is now, without events: ``next_offset`` and ``closed``."""
        request = Request(method="HEAD", path=stream_path(run_id), repeatable=True)
        headers = self._transport.send(request).headers
        closed = headers.get("stream-closed", "").lower() == "true"
        return Page(next_offset=log.next_offset(headers), up_to_date=True, closed=closed)

    def read(self, run_id: str, offset: str = log.START) -> Page:
        """One page of the log from ``offset``: at once, whatever is there."""
        return read_page(self._transport, stream_path(run_id), offset)

    def stream(self, run_id: str, offset: str = log.START) -> Iterator[Event]:
        """Every event from ``offset`` to the tail as it is now; does not wait for more."""
        while True:
            page = self.read(run_id, offset)
            yield from page.events
            if page.up_to_date or page.closed or page.next_offset in {None, offset}:
                return
            offset = page.next_offset or offset

    def follow(
        self,
        run_id: str,
        offset: str = log.START,
        *,
        live: str = "auto",
        retry: RetryPolicy | None = None,
        listener: Listener | None = None,
    ) -> Follower:
        """Every event from ``offset``, each once and in order, live until the log is closed.

        Survives dropped connections and outages within ``retry`` (``baton_sdk.FOREVER`` for without end).
        ``live`` is ``sse``, ``long-poll``, or ``auto``: SSE, and long-poll where SSE does not come through.
        """
        return Follower(
            self._transport,
            run_id,
            stream_path(run_id),
            offset,
            live=live,
            retry=retry or self._patient,
            listener=listener,
        )

    def writer(
        self,
        run_id: str,
        *,
        attempt: int | None = None,
        producer_id: str | None = None,
        tail: str | None = None,
        limits: Limits | None = None,
        retry: RetryPolicy | None = None,
        listener: Listener | None = None,
        on_failure: Callable[[BatonError], None] | None = None,
    ) -> Writer:
        """A batching writer of the run's log: ``emit`` from any thread, ``close`` to flush. ``on_failure`` is
        told, in the writer's own thread, as soon as sending has stopped for good."""
        return Writer(
            self._transport,
            stream_path(run_id),
            attempt=attempt,
            producer=Producer.named(producer_id),
            tail=tail,
            limits=limits or Limits(),
            retry=retry or self._patient,
            listener=listener,
            on_failure=on_failure,
        )
