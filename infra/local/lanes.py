"""Lanes for work that goes in order within each and at once across them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

T = TypeVar("T")


class Lanes(Generic[T]):
    """``work(batch)`` is called with up to ``size`` items of one lane, one batch of a lane at a time.

    It is called in ``threads``, of which there should be as many as lanes, and must not raise.
    """

    def __init__(self, count: int, size: int, work: Callable[[Sequence[T]], None], threads: Executor) -> None:
        self.count = count
        self._size = size
        self._work = work
        self._threads = threads
        self._lanes: list[deque[T]] = [deque() for _ in range(count)]
        self._under_way: set[int] = set()
        self._changed = threading.Condition()

    def add(self, items: Iterable[tuple[int, T]]) -> None:
        """Put each item at the end of the lane it is given with."""
        with self._changed:
            touched = set()
            for lane, item in items:
                self._lanes[lane].append(item)
                touched.add(lane)
            fresh = touched - self._under_way
            self._under_way |= fresh
        for lane in sorted(fresh):
            self._threads.submit(self._drain, lane)

    def waiting(self) -> int:
        """How many items no batch has taken yet."""
        with self._changed:
            return sum(map(len, self._lanes))

    def idle(self, timeout: float) -> bool:
        """Wait until all is done; False when it is not after ``timeout`` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._under_way, timeout)

    def _drain(self, lane: int) -> None:
        while True:
            with self._changed:
                queue = self._lanes[lane]
                batch = [queue.popleft() for _ in range(min(len(queue), self._size))]
                if not batch:
                    self._under_way.discard(lane)
                    self._changed.notify_all()
                    return
            self._work(batch)
