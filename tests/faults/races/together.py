"""Many threads let go at one moment, and their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

START_SECONDS = 60


def at_once(acts: Sequence[Callable[[], Any]]) -> list[Any]:
    """The answers of all, in order. What one raises is raised."""
    barrier = Barrier(len(acts))

    def go(act: Callable[[], Any]) -> Any:
        barrier.wait(START_SECONDS)
        return act()

    with ThreadPoolExecutor(len(acts)) as pool:
        return [future.result() for future in [pool.submit(go, act) for act in acts]]


def outcome(act: Callable[[], Any]) -> Any:
    """What an act answers, or the error it raises."""
    try:
        return act()
    except Exception as refused:  # noqa: BLE001 - the test is to judge it
        return refused
