"""Keeps a claimed run: renews its lease beside whatever its function does, and hears what the answers say."""

from __future__ import annotations

import threading

from baton_sdk.client import Client
from baton_sdk.errors import BatonError
from baton_sdk.retry import RetryPolicy
from baton_sdk.run import Run
from baton_sdk.worker.clock import Clock
from baton_sdk.worker.standing import NOT_OURS, Standing

LONGEST_BETWEEN_SECONDS = 20.0
"""A long lease is renewed as often as this, too: the answer is how a wish to cancel is heard."""
MARGIN_SECONDS = 2.0
"""A lease counts as lost this much before its end."""
SHORTEST_BETWEEN_SECONDS = 1.0

_ONCE = RetryPolicy(attempts=1)


class Keeper:
    """Renews one lease, in a thread of its own once it is started, until it is stopped or the lease is lost.

    ``since``: a moment of the clock's monotonic time at which the lease had not begun yet. How long it lasts
    is counted from there, and from before each renewal was sent, so that a slow answer never makes it longer
    than it is.
    """

    def __init__(
        self,
        client: Client,
        run: Run,
        standing: Standing,
        *,
        worker_id: str,
        lease_seconds: float,
        clock: Clock,
        since: float,
    ) -> None:
        self._client = client
        self._run = run
        self._standing = standing
        self._worker_id = worker_id
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._due = since + self._between
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"baton-keeper-{run.id}", daemon=True)

    @property
    def _between(self) -> float:
        return min(self._lease_seconds / 3, LONGEST_BETWEEN_SECONDS)

    def start(self) -> None:
        """Renew now if that is due, then go on beside."""
        if self._clock.monotonic() >= self._due:
            self.renew()
        self._thread.start()

    def stop(self) -> None:
        """Renew no more. Does not wait for a renewal that is under way: it can do no harm."""
        self._stopped.set()

    def renew(self) -> None:
        """Ask once for more time. A refusal is the end of the lease; no answer is none yet: the next try
        comes soon."""
        asked_at = self._clock.monotonic()
        try:
            renewed = self._client.renew(
                self._run.id,
                self._worker_id,
                self._run.attempt,
                lease_seconds=self._lease_seconds,
                timeout_seconds=self._lease_seconds / 6,
                retry=_ONCE,
            )
        except NOT_OURS as refusal:
            self._stopped.set()
            self._standing.lose(f"the service says: {refusal}")
        except BatonError:
            self._due = self._clock.monotonic() + max(self._between / 10, SHORTEST_BETWEEN_SECONDS)
        else:
            self._due = asked_at + self._between
            self._standing.hold(held_until(asked_at, self._lease_seconds))
            if renewed.cancel_requested is not None:
                self._standing.cancel(renewed.cancel_requested)

    def _keep(self) -> None:
        while not self._clock.wait(self._stopped, self._due - self._clock.monotonic()):
            if self._standing.lost:
                return
            if self._clock.monotonic() >= self._due:
                self.renew()


def held_until(since: float, lease_seconds: float) -> float:
    """When a lease that began at ``since`` or later counts as over."""
    return since + lease_seconds - min(MARGIN_SECONDS, lease_seconds / 5)
