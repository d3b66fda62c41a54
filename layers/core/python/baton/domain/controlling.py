"""Cancel, resume, delete: what a command from outside does to a run."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from baton.domain.clock import Millis, millis
from baton.domain.handoff import Keep, set_apart, without_settlement
from baton.domain.log import entry
from baton.domain.queueing import to_queue
from baton.domain.run import CancelRequest, Run, Step
from baton.domain.settling import Outcome, cancelled
from baton.domain.states import Command, Mode, State, Verdict, cell
from baton.errors import IdempotencyMismatch, InFlight, StillOwed

CLOCKS_APART_SECONDS = 60
"""By how much a deleted run's expiry lies in the past, so that a clock that is behind finds it gone too."""


class Cancel(msgspec.Struct, frozen=True, kw_only=True):
    """A wish that a run end. ``key`` and ``body`` are digests of the request's idempotency key and of its
    canonical body; ``by`` is who wishes it, where somebody is known."""

    reason: str | None = None
    force: bool = False
    key: str | None = None
    body: str | None = None
    by: str | None = None


def decide_cancel(
    run: Run, command: Cancel, *, rev: str, now: Millis, grace_seconds: float
) -> Step | Outcome | None:
    """What a cancel does: latch on a driven run, settle one that nobody drives or that is forced, else (None)
    nothing.

    The first intent stands: a second cancel changes nothing, a forced one settles under the first one's
    reason. The log's ``cancel`` tells who had it latched, its ``end`` who had it settled. Raises
    IdempotencyMismatch when the first one's key comes with another body.
    """
    first = run.cancel
    same_key = first is not None and first.key is not None and first.key == command.key
    if first is not None and same_key and first.body != command.body:
        raise IdempotencyMismatch("this Idempotency-Key cancelled the run with another body", run=run)
    asked = Command.FORCE_CANCEL if command.force else Command.CANCEL
    if cell(asked, run.state).verdict is not Verdict.ACT:
        return None
    request = first or CancelRequest(at=now, reason=command.reason, key=command.key, body=command.body)
    if command.force or not run.driven(now):
        return replace(cancelled(request), by=command.by)
    if first is not None:
        return None
    forced_at = now + millis(grace_seconds)
    latched = replace(run, rev=rev, cancel=request, updated_at=now, due_at=_sooner(run.due_at, forced_at))
    said = entry("cancel", {"reason": command.reason, "force": False}, by=command.by)
    return Step(latched, (said,))


def decide_resume(
    run: Run, *, force: bool, key: str | None, rev: str, now: Millis, by: str | None = None
) -> Step | None:
    """What a resume does: attempt + 1 on a terminal run that is resumable (or any but a completed one,
    forced) and was not continued as new; else (None) nothing.

    The settlement of the attempt before moves to an item of its own in the same write, so that both endings
    are published apart. ``key`` is the digest of the request's idempotency key. Its repeat begins no second
    attempt, also when the first has settled since (I9). ``by`` is who asks, where somebody is known. Raises
    IdempotencyMismatch.
    """
    if resumed_by(run, key, force=force):
        return None
    command = Command.FORCE_RESUME if force else Command.RESUME
    if cell(command, run.state).verdict is not Verdict.ACT or run.continued_as is not None:
        return None
    if not force and not (run.ending is not None and run.ending.resumable):
        return None
    reopened = replace(
        run,
        rev=rev,
        state=State.RUNNING,
        attempt=run.attempt + 1,
        failures=0,
        updated_at=now,
        cancel=None,
        released=None,
        ending=None,
        expires_at=None,
        resume_key=_mark(key, force),
    )
    also: tuple[Keep, ...] = ()
    if run.ending is not None and not run.ending.apart:
        apart = set_apart(run, rev=rev, announce=run.announce)
        reopened = without_settlement(reopened, apart)
        also = (Keep(apart),)
    if run.mode is Mode.QUEUED:
        reopened = to_queue(reopened, now)
    else:
        reopened = replace(reopened, due_at=reopened.watched_until(now))
    return Step(reopened, (entry("resumed", {"attempt": reopened.attempt}, by=by),), also)


def resumed_by(run: Run, key: str | None, *, force: bool) -> bool:
    """Whether the request with ``key`` began the attempt the run is at: the answer its lost reply held.

    Raises IdempotencyMismatch when the same key comes with another body: ``force`` is all that a body says.
    """
    if key is not None and run.resume_key == _mark(key, not force):
        raise IdempotencyMismatch("this Idempotency-Key resumed the run with another body", run=run)
    return key is not None and run.resume_key == _mark(key, force)


def decide_delete(run: Run, *, rev: str, now: Millis) -> Step:
    """The row of a run that is gone from now on, by anyone's clock: else one that is behind could still
    resume it. Raises InFlight unless it is terminal, and StillOwed while it must be kept (I5)."""
    if cell(Command.DELETE, run.state).verdict is not Verdict.ACT:
        raise InFlight(f"the run is {run.state.value}: only a settled run can be deleted", run=run)
    if run.kept:
        raise StillOwed(f"the run is kept: {why_kept(run)}", run=run)
    return Step(
        replace(run, rev=rev, expires_at=now - millis(CLOCKS_APART_SECONDS), due_at=None, updated_at=now)
    )


def why_kept(run: Run) -> str:
    """What keeps a settled run from being deleted, in words."""
    settlement = run.settlement
    reasons = []
    if settlement.owed:
        reasons.append(f"its ending is owed to {', '.join(settlement.owed)}")
    if settlement.unresolved:
        reasons.append("it is not known yet whom its ending is owed to")
    if settlement.waiters:
        reasons.append("others wait for it")
    if any(each.buffered for each in settlement.deliveries):
        reasons.append("its input stands in an open window")
    if run.apart:
        reasons.append("a settlement in an item of its own is not done")
    return "; ".join(reasons)


def _mark(key: str | None, force: bool) -> str | None:
    return key if key is None or not force else f"{key}!"


def _sooner(due_at: Millis | None, other: Millis) -> Millis:
    return other if due_at is None else min(due_at, other)
