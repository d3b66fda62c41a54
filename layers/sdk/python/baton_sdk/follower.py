"""Follows a log live, over dropped connections and outages, giving every event once and in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Self

from baton_sdk.errors import BatonError, InvalidRequest, LogGap, Unreachable
from baton_sdk.feeds import SseNotOffered, long_poll, server_sent
from baton_sdk.log import NOW, START, Event, Page
from baton_sdk.retry import Listener, RetryPolicy
from baton_sdk.transport import Request, Transport, worth_repeating

LIVE_MODES = ("auto", "sse", "long-poll")

# Something on the way that holds SSE back looks like silence: twice is no accident.
_SILENCES_TOLERATED = 2
# A connection that ends sooner than this without an event is not asked again at once.
_IDLE_SECONDS = 1.0


class Follower:
    """Iterate it for events; it ends when the log is closed. One thread at a time.

    ``offset`` is where to go on: it moves when a whole frame has been handed out, so after stopping inside a
    frame a new follower from it may repeat events of that frame (tell them by ``seq``). ``closed`` says the
    log has ended.
    """

    def __init__(
        self,
        transport: Transport,
        run_id: str,
        path: str,
        offset: str,
        *,
        live: str,
        retry: RetryPolicy,
        listener: Listener | None = None,
    ) -> None:
        if live not in LIVE_MODES:
            raise InvalidRequest(f"live is one of {', '.join(LIVE_MODES)}, not {live!r}")
        self.offset = offset
        self.closed = False
        self._transport = transport
        self._run_id = run_id
        self._path = path
        self._retry = retry
        self._listener = listener
        self._use_sse = live != "long-poll"
        self._may_fall_back = live == "auto"
        self._cursor: str | None = None
        self._expected: int | None = 0 if offset == START else None
        self._feed: Iterator[Page] | None = None
        self._feed_began = 0.0
        self._feed_spoke = False
        self._silences = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the connection back. A later iteration opens a new one at ``offset``."""
        feed, self._feed = self._feed, None
        close: Callable[[], None] | None = getattr(feed, "close", None)
        if close is not None:
            with suppress(BatonError):
                close()

    def __iter__(self) -> Iterator[Event]:
        """Yield events. Raises LogGap if one is missing, and what the retry policy could not outlast."""
        try:
            while not self.closed:
                page = self._next_page()
                for event in page.events:
                    if self._is_new(event):
                        yield event
                self.offset = page.next_offset or self.offset
                self._cursor = page.cursor or self._cursor
                self.closed = page.closed
        finally:
            self.close()

    def _is_new(self, event: Event) -> bool:
        # A frame whose position was lost with its connection is read again: its events are known by their
        # seq.
        if self._expected is not None and event.seq < self._expected:
            return False
        if self._expected is not None and event.seq > self._expected:
            raise LogGap(self._run_id, expected=self._expected, received=event.seq)
        self._expected = event.seq + 1
        return True

    def _next_page(self) -> Page:
        # One call outlasts one outage; every page that arrives starts the next with fresh patience.
        retrying = self._retry.retrying(
            lambda e: worth_repeating(e, repeatable=True), listener=self._listener
        )
        page: Page = retrying(self._try_page)
        return page

    def _try_page(self) -> Page:
        try:
            if self._feed is None:
                self._feed = self._open()
            page = next(self._feed, None)
        except SseNotOffered as exc:
            return self._fall_back(exc)
        except BatonError as error:
            self.close()
            self._note_silence(error)
            raise
        if page is None:
            return self._ended()
        self._feed_spoke = self._feed_spoke or bool(page.events) or page.closed
        self._silences = 0
        return page

    def _open(self) -> Iterator[Page]:
        if self.offset == NOW:
            # "now" must be one place: asked again after a drop it would skip what came in between.
            tail = self._transport.send_once(Request(method="HEAD", path=self._path, repeatable=True))
            self.offset = tail.headers.get("stream-next-offset", NOW)
        self._feed_began = self._retry.clock()
        self._feed_spoke = False
        feed = server_sent if self._use_sse else long_poll
        return feed(self._transport, self._path, self.offset, self._cursor)

    def _ended(self) -> Page:
        # The server ends each connection within its window: no failure, and no reason to wait unless it was
        # idle.
        self.close()
        if not self._feed_spoke and self._retry.clock() - self._feed_began < _IDLE_SECONDS:
            self._retry.pause(_IDLE_SECONDS)
        return Page()

    def _fall_back(self, reason: SseNotOffered) -> Page:
        self.close()
        if not self._may_fall_back:
            raise InvalidRequest("this service does not offer server-sent events here") from reason
        self._use_sse = False
        return Page()

    def _note_silence(self, error: BatonError) -> None:
        if not (self._use_sse and self._may_fall_back and isinstance(error, Unreachable) and error.silent):
            return
        self._silences += 1
        if self._silences >= _SILENCES_TOLERATED:
            self._use_sse = False
