"""Our own stdout and stderr, each written by a thread of its own: a reader who stands still holds up that
thread and nobody else."""

from __future__ import annotations

import io
import os
import select
import sys
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import IO, Any

ROOM = 256 * 1024
"""Bytes of output that wait for the reader before the command has to."""

MOST = 1024 * 1024
"""Bytes that are kept for the reader when nobody may wait any more: what pipes hold, and more."""

LOOK_SECONDS = 0.1
"""Whether somebody may still wait, and a signal, make nothing happen here: look this often."""


class Outlet:
    """One stream. ``say`` is for any thread and for a signal's handler, ``pass_on`` for one thread. Nothing
    here takes a lock that they could meet held."""

    def __init__(self, stream: IO[bytes], *, room: int = ROOM, most: int = MOST) -> None:
        # Without Python's buffer: its lock, in the hands of a thread that is stuck, is waited for at exit.
        raw: Any = stream
        self._raw: io.RawIOBase = getattr(raw, "raw", raw)
        self._room = room
        self._most = most
        self._queue: SimpleQueue[tuple[bytes, int] | threading.Event | None] = SimpleQueue()
        self._passed = 0  # counted by the thread that passes on
        self._written = 0  # counted by ours
        self._moved = threading.Event()
        self.dropped = False
        """Whether output was left out, because nobody read and nobody could wait."""
        self.trouble: str | None = None
        """Why nothing can be written any more, unless it is that whoever read us has left."""
        threading.Thread(target=self._write_all, name="baton-outlet", daemon=True).start()

    def say(self, text: bytes) -> None:
        """Queue a word of our own behind what came before. Never blocks; put by a SimpleQueue, which may be
        re-entered."""
        self._queue.put((text, 0))

    def pass_on(self, data: bytes, hurried: Callable[[], bool]) -> None:
        """Queue output, once there is room. ``hurried`` tells whether the reader is waited for no longer:
        then it is kept up to a bound, and from the first byte beyond that all of it is dropped."""
        while self._passed - self._written >= self._room and not hurried():
            self._moved.clear()
            if self._passed - self._written >= self._room:
                self._moved.wait(LOOK_SECONDS)
        self.dropped = self.dropped or self._passed - self._written >= self._most
        if self.dropped:
            return
        self._passed += len(data)
        self._queue.put((data, len(data)))

    def drain(self, deadline: float | None) -> bool:
        """Wait until all that came before is written; False when it was not at ``deadline`` (monotonic)."""
        reached = threading.Event()
        self._queue.put(reached)
        while not reached.is_set():
            left = LOOK_SECONDS if deadline is None else min(LOOK_SECONDS, deadline - time.monotonic())
            if not reached.wait(max(left, 0)) and left <= 0:
                return False
        return True

    def end(self) -> None:
        """Nothing more will come."""
        self._queue.put(None)

    def _write_all(self) -> None:
        gone = False
        while (item := self._queue.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
                continue
            data, counted = item
            try:
                if not gone:
                    self._write(data)
            except (OSError, ValueError) as exc:
                gone = True  # the log goes on
                if not isinstance(exc, BrokenPipeError):
                    self.trouble = str(exc)
            self._written += counted
            self._moved.set()

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            written = self._raw.write(rest)
            if written is None:  # somebody has made it non-blocking
                select.select((), (self._raw,), ())
            else:
                rest = rest[written:]


class Screen:
    """The two of them; the same one twice where both are one terminal, pipe or file: that keeps the order."""

    def __init__(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self.stdout = Outlet(sys.stdout.buffer)
        self.stderr = self.stdout if _are_one() else Outlet(sys.stderr.buffer)

    @property
    def dropped(self) -> bool:
        """Whether a reader has missed output."""
        return self.stdout.dropped or self.stderr.dropped

    @property
    def trouble(self) -> str | None:
        """Why a reader has missed output without having left."""
        return self.stdout.trouble or self.stderr.trouble

    def drain(self, seconds: float | None) -> bool:
        """Wait until both are read out, ``seconds`` at most; whether they are."""
        deadline = None if seconds is None else time.monotonic() + seconds
        return all([self.stdout.drain(deadline), self.stderr.drain(deadline)])

    def end(self) -> None:
        """Nothing more will come."""
        for outlet in {self.stdout, self.stderr}:
            outlet.end()


def _are_one() -> bool:
    try:
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except OSError:  # no files at all
        return False
