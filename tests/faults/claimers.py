"""Workers that claim at the same time, and their books: who got what, and how often one was beaten to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import Any

from baton.domain.leasing import Claim, Release
from baton.domain.run import Run
from baton.errors import TryAgain
from baton.services.claims import Wanted
from baton.store.runs import Changed
from tests.faults import asking
from tests.faults.races.together import at_once

EMPTY_LOOKS = 3
"""In a row, until a claimer takes it that nothing is left: an index may be behind."""
TRIES = 20


class Claimers:
    """So many workers, each with a container of its own, on the same workflow."""

    def __init__(self, containers: Sequence[Any]) -> None:
        self.containers = containers
        self.claimed: list[tuple[str, int]] = []
        """Run and attempt of each claim that was answered."""
        self.lost = 0
        """Writes that found another had been there."""
        self._lock = Lock()
        for container in containers:
            self._keep_books(container.runtime)

    def start(self, count: int) -> None:
        """Have so many runs wait, started by all at once."""
        every = len(self.containers)

        def some(first: int) -> None:
            for number in range(first, count, every):
                container = self.containers[first]
                again(partial(asking.queued, container, run_id=f"run-{number:03d}"))

        at_once([partial(some, first) for first in range(every)])

    def drain(self, *, most: int = 1, back_at_first: int = 0) -> None:
        """All claim until nothing is left. ``back_at_first``: every so-manieth run is given back once."""
        at_once([partial(self._drain, turn, most, back_at_first) for turn in range(len(self.containers))])

    @property
    def repeated(self) -> list[tuple[str, int]]:
        """Attempts that more than one were given."""
        return [claim for claim, times in Counter(self.claimed).items() if times > 1]

    def _drain(self, turn: int, most: int, back_at_first: int) -> None:
        container, worker, empty = self.containers[turn], f"w{turn}", 0
        while empty < EMPTY_LOOKS:
            got = again(partial(claim, container, worker, most=most))
            empty = 0 if got else empty + 1
            for run in got:
                with self._lock:
                    self.claimed.append((run.id, run.attempt))
                if back_at_first and run.attempt == 1 and int(run.id[-3:]) % back_at_first == 0:
                    command = Release(worker_id=worker, attempt=1)
                    again(partial(container.runtime.leases.release, asking.NAMESPACE, run.id, command))

    def _keep_books(self, runtime: Any) -> None:
        runs = runtime.claims._context.runs
        change = runs.change

        def counted(*given: Any) -> Changed:
            changed: Changed = change(*given)
            if changed is not Changed.APPLIED:
                with self._lock:
                    self.lost += 1
            return changed

        runs.change = counted


def claim(
    container: Any, worker: str, *, most: int = 1, seconds: float = 3600, key: str | None = None
) -> list[Run]:
    """What waits, held for as long as the test takes, unless told otherwise."""
    command = Claim(worker_id=worker, lease_seconds=seconds, key=key, body=worker)
    wanted = Wanted(namespace=asking.NAMESPACE, workflows=(asking.WORKFLOW,), claim=command, most=most)
    return [detail.run for detail in container.runtime.claims.claim(wanted)]


def again(act: Any) -> Any:
    """The answer of a client that repeats itself: a store that is busy says so."""
    for _ in range(TRIES):
        try:
            return act()
        except TryAgain:
            continue
    raise AssertionError("the store is busy for good")
