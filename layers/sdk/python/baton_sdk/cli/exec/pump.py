"""Moves a child's output to where it goes: through to our own streams at once, and line by line into the
log."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO

from baton_sdk.cli.exec.child import Child
from baton_sdk.cli.exec.lines import LineCutter, Piece
from baton_sdk.cli.exec.outlet import Outlet

CHUNK = 64 * 1024
PARTIAL_AFTER_SECONDS = 1.0
"""A prompt or a progress bar has no newline: what stands still this long is logged as it is."""

TICK_SECONDS = 0.1
"""Neither a line that stands still nor the command's own exit makes a pipe readable: look this often."""

Emit = Callable[[str, Piece], None]


@dataclass
class _Stream:
    name: str
    pipe: IO[bytes]
    through: Outlet | None
    cutter: LineCutter = field(default_factory=LineCutter)
    heard_at: float = 0.0


class Pump:
    """Runs in the calling thread until both pipes have ended. ``emit`` may block: then the command does,
    too, as it does while the outlets have no room; for these nobody waits once ``hurried`` says so."""

    def __init__(
        self,
        child: Child,
        emit: Emit,
        through: Mapping[str, Outlet],
        *,
        hurried: Callable[[], bool],
        drain_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._child = child
        self._emit = emit
        self._hurried = hurried
        self._drain = drain_seconds
        self._clock = clock
        pipes = {"stdout": child.stdout, "stderr": child.stderr}
        self._streams = [_Stream(name, pipe, through.get(name)) for name, pipe in pipes.items()]

    def run(self) -> bool:
        """Pump to the end. False when the command left something behind that still holds its output open."""
        with selectors.DefaultSelector() as selector:
            for stream in self._streams:
                selector.register(stream.pipe, selectors.EVENT_READ, stream)
            heard_at = self._clock()
            while selector.get_map():
                ready = selector.select(timeout=TICK_SECONDS)
                for key, _ in ready:
                    if not self._move(key.data):
                        selector.unregister(key.fileobj)
                now = self._clock()
                heard_at = now if ready else heard_at
                self._log_partials(now, [key.data for key, _ in ready])
                if not ready and self._child.exited and now - heard_at > self._drain:
                    break
            complete = not selector.get_map()
        for stream in self._streams:
            self._log(stream, list(stream.cutter.flush(final=True)))
        return complete

    def _move(self, stream: _Stream) -> bool:
        data: bytes | None = None
        with suppress(BlockingIOError):
            data = os.read(stream.pipe.fileno(), CHUNK)
        if data is None:
            return True
        if stream.through is not None and data:
            stream.through.pass_on(data, self._hurried)
        self._log(stream, list(stream.cutter.feed(data)))
        # Only now: the log may have made us wait, and what came meanwhile stands in the pipe.
        stream.heard_at = self._clock()
        return bool(data)

    def _log_partials(self, now: float, heard: list[_Stream]) -> None:
        for stream in self._streams:
            if (
                stream not in heard
                and stream.cutter.waiting
                and now - stream.heard_at >= PARTIAL_AFTER_SECONDS
            ):
                self._log(stream, list(stream.cutter.flush(final=False)))

    def _log(self, stream: _Stream, pieces: list[Piece]) -> None:
        for piece in pieces:
            self._emit(stream.name, piece)
