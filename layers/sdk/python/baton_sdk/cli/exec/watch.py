"""Watches the log of a run one drives for what others say in it: a cancel, or that it is no longer ours."""

from __future__ import annotations

import threading
from collections.abc import Callable

from baton_sdk.errors import BatonError
from baton_sdk.follower import Follower

CANCEL = "cancel"
LOST = "lost"
JOIN_SECONDS = 2.0

_TAKEN_OVER = frozenset({"end", "resumed", "claimed"})


class Watch:
    """Follows the log in a thread of its own; ``react`` gets CANCEL or LOST, and a sentence why."""

    def __init__(self, follower: Follower, react: Callable[[str, str], None]) -> None:
        self._follower = follower
        self._react = react
        self._off = threading.Event()
        self._thread = threading.Thread(target=self._run, name="baton-watch", daemon=True)

    def start(self) -> None:
        """Begin; ends with the log, or with the process."""
        self._thread.start()

    def off(self) -> None:
        """React to nothing any more: the run is about to be settled by its driver."""
        self._off.set()

    def join(self) -> None:
        """Wait for the thread's end: the settled log's own end brings it, and no later than this."""
        self._thread.join(JOIN_SECONDS)

    def _run(self) -> None:
        try:
            for event in self._follower:
                if self._off.is_set():
                    return
                if event.type == CANCEL:
                    reason = event.data.get("reason") if isinstance(event.data, dict) else None
                    self._react(CANCEL, f"cancelled: {reason}" if reason else "cancelled")
                elif event.type in _TAKEN_OVER:
                    self._react(LOST, "the run was settled or taken over by someone else")
        except BatonError:
            # Not seeing a cancel does not end the work; if the log is lost, the writer will say so.
            return
