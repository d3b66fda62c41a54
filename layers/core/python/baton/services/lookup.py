"""Seeing a run: its row, and the newest item of its log, in one round trip; and remembering where a log
ended."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import NamedTuple

from baton.domain.clock import millis
from baton.domain.log import Tail
from baton.domain.run import Run
from baton.domain.states import State
from baton.errors import NotFound, Unavailable
from baton.services.context import Context
from baton.store.log import LogItem

REMEMBERED = 2_000
PAIRING_ROUNDS = 8


class Sight(NamedTuple):
    """A run and its log's end, of one moment. ``newest`` is None while no item of the log exists."""

    run: Run
    tail: Tail
    newest: LogItem | None


class Lookup:
    """Reads that every service shares. Raises NotFound alike for what is absent, expired and foreign (I8)."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tails: OrderedDict[tuple[str, str], Tail] = OrderedDict()
        self._lock = Lock()

    def run(self, namespace: str, run_id: str, *, consistent: bool = True) -> Run:
        """The run's row."""
        return self._living(run_id, self._context.runs.get(namespace, run_id, consistent=consistent))

    def sight(self, namespace: str, run_id: str) -> Sight:
        """The run and the end of its log, read consistently and at once.

        Two reads are no snapshot: what they show belongs together when the newest header is of the row's
        attempt, is closed exactly if the row is terminal and suspended exactly if the row is, for the writes
        that change either change both. Else look again.
        """
        context = self._context
        for round_ in range(PAIRING_ROUNDS):
            seen_at = context.clock.now()
            row, newest = context.dynamo.together(
                lambda: context.runs.get(namespace, run_id, consistent=True),
                lambda: context.log.newest(namespace, run_id, consistent=True),
            )
            run = self._living(run_id, row)
            if newest is not None and newest.birth != run.birth:
                newest = self._of_this_life(run, newest)
            if newest is None:
                tail = run.initial_tail(seen_at)
            else:
                tail = newest.tail(fenced=run.fenced, seen_at=seen_at)
            if _of_one_moment(run, tail):
                return Sight(run, tail, newest)
            context.stand_back(round_)
        raise Unavailable("the run changes faster than it can be read")

    def remember(self, namespace: str, run_id: str, tail: Tail) -> None:
        """Keep the end of a log that was open and its run running."""
        with self._lock:
            self._tails[namespace, run_id] = tail
            self._tails.move_to_end((namespace, run_id))
            while len(self._tails) > REMEMBERED:
                self._tails.popitem(last=False)

    def forget(self, namespace: str, run_id: str) -> None:
        """The remembered end is none any more."""
        with self._lock:
            self._tails.pop((namespace, run_id), None)

    def recall(self, namespace: str, run_id: str, echo: Tail | None) -> Tail | None:
        """The newest end this container remembers or the client brought, unless it is too old to serve.

        It may be another life's, or behind: a put on it then finds its slot taken, and nothing else may be
        concluded from it.
        """
        with self._lock:
            mine = self._tails.get((namespace, run_id))
        now, lasts = self._context.clock.now(), millis(self._context.settings.tail_memory_seconds)
        # Clocks differ, and may be set back: what another has seen in a moment is of now, in an hour is not.
        young = [tail for tail in (mine, echo) if tail is not None and abs(now - tail.seen_at) <= lasts]
        return max(young, key=lambda tail: (tail.birth, tail.next), default=None)

    def same_life(self, before: Run | None, now: Run) -> Run:
        """``now``, unless it is another life of the id than was seen ``before``: what was asked of that one
        must not happen to this one."""
        if before is not None and before.birth != now.birth:
            raise NotFound(f"no run {now.id!r} here any more: the id has been started again")
        return now

    def _living(self, run_id: str, found: object) -> Run:
        if not isinstance(found, Run) or found.expired(self._context.clock.now()):
            raise NotFound(f"no run {run_id!r} here")
        return found

    def _of_this_life(self, run: Run, newest: LogItem) -> LogItem | None:
        if newest.birth < run.birth:
            return None  # an earlier life's: of this one no item exists
        return self._context.log.newest_of(run.namespace, run.id, run.birth, consistent=True)


def _of_one_moment(run: Run, tail: Tail) -> bool:
    header = tail.header
    return (
        header.attempt == run.attempt
        and header.closed == run.state.terminal
        and header.suspended == (run.state is State.SUSPENDED)
    )
