"""Writes a run's log in batches from a thread of its own: emit and forget, and know at the close."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from baton_sdk import payload
from baton_sdk.errors import BatonError, Fault, InvalidRequest, PayloadTooLarge
from baton_sdk.outbox import Closed, Entry, Limits, Outbox
from baton_sdk.producer import Producer, send_append
from baton_sdk.retry import Listener, RetryPolicy
from baton_sdk.transport import Transport

TYPE = re.compile(r"[a-z][a-z0-9._-]{0,63}")
_EVENT = b'{"data":%b,"type":"%b"}'
BATONS_OWN = frozenset({"start", "claimed", "cancel", "suspended", "woken", "resumed", "closing", "end"})


class Writer:
    """Appends events in the order they are emitted, each once, over lost replies and outages within
    ``retry``.

    ``emit`` may be called from any thread; it returns as soon as the event is buffered and blocks while the
    buffer is full. A refusal (the run settled, another driver took over, the outage lasted too long) stops
    the sending and is raised by the next ``emit``, ``flush`` or ``close``; ``failure`` tells it at any time.
    """

    def __init__(
        self,
        transport: Transport,
        path: str,
        *,
        attempt: int | None,
        producer: Producer,
        tail: str | None,
        limits: Limits,
        retry: RetryPolicy,
        listener: Listener | None = None,
        on_failure: Callable[[BatonError], None] | None = None,
    ) -> None:
        self._transport = transport
        self._path = path
        self._attempt = attempt
        self._producer = producer
        self._retry = retry
        self._listener = listener
        self._on_failure = on_failure
        self._tail = tail
        self._next_offset: str | None = None
        self._max_event_bytes = min(limits.max_batch_bytes, payload.MAX_BYTES)
        self._outbox = Outbox(limits)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._send_all, name="baton-writer", daemon=True)
        self._thread.start()

    @property
    def failure(self) -> BatonError | None:
        """What stopped the sending, if anything did."""
        return self._outbox.failure

    @property
    def tail(self) -> str | None:
        """The log's tail after the newest acknowledged batch, as ``finish`` takes it."""
        return self._tail

    @property
    def next_offset(self) -> str | None:
        """The log's offset after the newest acknowledged batch."""
        return self._next_offset

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except BatonError:
            if error is None:
                raise

    def emit(self, type: str, data: Any = None) -> None:
        """Queue one event. Raises InvalidRequest or PayloadTooLarge for an event the log would not take."""
        if not TYPE.fullmatch(type) or type in BATONS_OWN:
            raise InvalidRequest(
                f"{type!r} is not a type a driver may write: {TYPE.pattern}, and not Baton's own"
            )
        encoded = payload.encode(data, what=f"data of {type!r}")
        if len(encoded) > self._max_event_bytes:
            raise PayloadTooLarge(
                f"an event's data may have {self._max_event_bytes} bytes of canonical JSON, "
                f"this {type!r} has {len(encoded)}"
            )
        # The type is plain ASCII by its pattern: nothing in it needs escaping.
        body = b'{"type":"%b"}' % type.encode() if data is None else _EVENT % (encoded, type.encode())
        try:
            self._outbox.put(Entry(body, len(encoded)))
        except Closed:
            raise InvalidRequest("this writer is closed") from None

    def flush(self) -> None:
        """Block until everything emitted before is in the log. Raises what stopped the sending."""
        self._outbox.flush()

    def close(self) -> None:
        """Flush and stop. Raises what stopped the sending; a second close does nothing new."""
        try:
            self._outbox.flush()
        except BatonError:
            self._end()
            raise
        except BaseException:
            self.abort()  # someone in a hurry: the thread may be in the middle of an outage
            raise
        self._end()

    def abort(self) -> None:
        """Give up what is not in the log yet: for someone who can't wait any longer. ``close`` then
        raises."""
        self._outbox.fail(InvalidRequest("the writer was aborted before everything was in the log"))
        self._stop.set()

    def _end(self) -> None:
        self._outbox.close()
        self._thread.join()

    def _send_all(self) -> None:
        try:
            while batch := self._outbox.take():
                answer = send_append(
                    self._transport,
                    self._path,
                    [entry.body for entry in batch],
                    attempt=self._attempt,
                    producer=self._producer,
                    tail=self._tail,
                    retry=self._retry,
                    listener=self._listener,
                    stop=self._stop,
                )
                # Only now: until the answer, a repeat must carry the same number.
                self._producer = self._producer.next()
                self._tail = answer.tail or self._tail
                self._next_offset = answer.next_offset or self._next_offset
                self._outbox.acknowledge(len(batch))
        except BatonError as error:
            self._fail(error)
        except BaseException as error:
            # This thread's edge: dying silently would leave everyone who waits waiting for ever.
            self._fail(Fault(f"the writer broke: {error!r}"))
            raise

    def _fail(self, error: BatonError) -> None:
        self._outbox.fail(error)
        if self._on_failure is not None and not self._stop.is_set():
            self._on_failure(error)
