"""What is to be done with a run whose due time has come: a lower bound, which who comes early moves."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from baton.domain.catalog import DEFAULT_BACKOFF, Backoff
from baton.domain.clock import Millis, millis
from baton.domain.events import Posted
from baton.domain.leasing import expire, lease_end
from baton.domain.log import Tail
from baton.domain.pushing import to_push
from baton.domain.run import Run, Step
from baton.domain.settling import Outcome, cancelled, timed_out
from baton.domain.states import Command, State, Verdict, cell
from baton.domain.waiting import take, time_came, wake

FIRST_PAUSE_SECONDS = 5
LONGEST_PAUSE_SECONDS = 3600
_AFTER_FAILURE = Backoff(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long is waited for what: a cancelled run's driver, clocks that differ, a failed run's next attempt
    (``chance`` in [0, 1) is by how much of it)."""

    grace_seconds: float
    skew_seconds: float
    backoff: Backoff = DEFAULT_BACKOFF
    chance: float = 1.0


def decide_due(
    run: Run, tail: Tail, patience: Patience, *, rev: str, now: Millis, kept: Posted | None = None
) -> Outcome | Step | None:
    """The word on a due run: settle it with an outcome, take it back from who holds it no more, wake it, put
    it off, or (None) it is not due any more, or it is the publisher's or the pusher's.

    ``tail`` is the newest log item as just read: what it was written at is when the run was last heard of,
    and an outcome must take its slot and no other. ``kept`` is the event that it waits for, if one is there
    for it to take.
    """
    if run.due_at is None or run.due_at > now or publishers(run):
        return None
    forced_at = run.forced_at(patience.grace_seconds)
    if forced_at is not None and forced_at <= now and run.cancel is not None:
        return cancelled(run.cancel)
    if to_push(run):
        return None
    held_until = lease_end(run, patience.skew_seconds)
    if held_until is not None and held_until <= now and run.lease is not None:
        return expire(run, run.lease, patience.backoff, chance=patience.chance, rev=rev, now=now)
    silent_until = _watchdog_deadline(run, tail)
    if silent_until is not None and silent_until <= now:
        return timed_out(run)
    until = None
    if run.state is State.SUSPENDED and run.wait is not None:
        if kept is not None:
            return take(run, run.wait, kept, rev=rev, now=now)
        until = run.wait.until
        if until is not None and until <= now:
            return wake(run, time_came(until), rev=rev, now=now)
    later = [at for at in (forced_at, held_until, silent_until, until) if at is not None]
    return Step(replace(run, rev=rev, due_at=min(later, default=None), strikes=0))


def publishers(run: Run) -> bool:
    """Whether the row's due time is that of its ending: something is owed, unresolved, waiting or
    buffered."""
    return run.state.terminal and run.settlement.holding


def pushers(run: Run, grace_seconds: float, now: Millis) -> bool:
    """Whether the row's due time is that of a push: the run waits, and is not to be cancelled by now."""
    forced_at = run.forced_at(grace_seconds)
    return to_push(run) and (forced_at is None or forced_at > now)


def put_off(strikes: int, now: Millis) -> Millis:
    """When to look again at an item that could not be attended to, after ``strikes`` such failures in a
    row."""
    return now + millis(_AFTER_FAILURE.pause(strikes + 1))


def _watchdog_deadline(run: Run, tail: Tail) -> Millis | None:
    if cell(Command.TIME_OUT, run.state).verdict is not Verdict.ACT:
        return None
    renewed_at = 0 if run.lease is None else run.lease.heard_at
    return run.watched_until(max(tail.newest_ts, run.started_at or run.created_at, renewed_at))
