"""Leases: claiming a run, holding it, giving it up, losing it; and what comes of a failure."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from baton.domain.catalog import Backoff
from baton.domain.clock import Millis, millis, rfc3339
from baton.domain.log import Entry, entry
from baton.domain.queueing import to_queue
from baton.domain.run import LEASE, Failure, Lease, Released, Run, Step
from baton.domain.settling import Outcome, cancelled
from baton.domain.states import Command, Mode, State, cell
from baton.errors import IdempotencyMismatch, InFlight, LeaseLost

MAX_MESSAGE = 72
"""Bytes of a failure's message that a row keeps, which with most inputs stays within 1 KB then."""
MAX_TYPE = 40

_NOBODYS = {State.PENDING: "nobody holds it, claim it first"}


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's wish to drive a run for a while. ``key`` and ``body`` are digests of the request's
    idempotency key and of its canonical body."""

    worker_id: str
    lease_seconds: float
    key: str | None = None
    body: str = ""


class Renew(msgspec.Struct, frozen=True, kw_only=True):
    """A holder's wish to go on. ``lease_seconds`` None: for as long as the lease was for."""

    worker_id: str
    attempt: int
    lease_seconds: float | None = None


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """A holder's word that it drives the run no more. ``error``: because the attempt failed, which counts.
    ``delay_seconds``: not to be claimed before; None: at once, and after a failure as the workflow has it."""

    worker_id: str
    attempt: int
    delay_seconds: float | None = None
    error: dict[str, Any] | None = None


def claimed_by(run: Run, command: Claim, now: Millis) -> bool:
    """Whether this very request holds the run: the answer its lost reply held.

    Raises IdempotencyMismatch when its key comes with another body.
    """
    lease = run.lease
    if command.key is None or lease is None or lease.key is None or lease.expires_at <= now:
        return False
    key, _, body = lease.key.partition(".")
    if key == command.key and body != command.body:
        raise IdempotencyMismatch("this Idempotency-Key claimed the run with another body", run=run)
    return key == command.key


def logged(run: Run) -> bool:
    """Whether a claim of the pending ``run`` has to know where its log ends. Of a run that was never claimed
    nor resumed nothing is said but its start."""
    return run.claimed or run.attempt > 1 or run.cancel is not None


def decide_claim(
    run: Run, command: Claim, *, rev: str, now: Millis, skew_seconds: float, grace_seconds: float
) -> Step:
    """The write that gives a pending run to a worker: from the second claim on a new attempt begins, and the
    log says so, which fences every append of the attempts before (I6).

    Raises InFlight (not pending, or not available yet) and RunTerminal.
    """
    refusal = cell(Command.CLAIM, run.state).error
    if refusal is not None:
        raise refusal(f"the run is {run.state.value}: only a pending run can be claimed", run=run)
    if run.available_at is not None and run.available_at > now:
        raise InFlight(f"the run is not available before {rfc3339(run.available_at)}", run=run)
    key = None if command.key is None else f"{command.key}.{command.body}"
    lease = Lease(command.worker_id, now + millis(command.lease_seconds), now, key)
    claimed = replace(
        run,
        rev=rev,
        state=State.RUNNING,
        attempt=run.attempt + int(run.claimed),
        claimed=True,
        updated_at=now,
        started_at=run.started_at or now,
        lease=lease,
        released=None,
        announce=False,
    )
    claimed = replace(claimed, due_at=next_look(claimed, now, skew_seconds, grace_seconds))
    return Step(claimed, () if claimed.attempt == 1 else (_claimed(claimed, run.released),))


def decide_renew(run: Run, command: Renew, *, rev: str, now: Millis) -> Step:
    """The write that lets a holder go on. When the run is due next is not written anew: the sweep, come at
    the old time, looks at the lease. So a lease is never cut short by it. Raises LeaseLost and RunTerminal.

    A lease that has run out is renewed as well, as long as nobody has taken the run from its holder.
    """
    lease = check_holder(run, Command.RENEW, command.worker_id, command.attempt)
    seconds = command.lease_seconds
    lasts = lease.expires_at - lease.heard_at if seconds is None else millis(seconds)
    renewed = replace(lease, expires_at=max(lease.expires_at, now + lasts), heard_at=now)
    return Step(replace(run, rev=rev, updated_at=now, lease=renewed))


def decide_release(
    run: Run, command: Release, backoff: Backoff, *, chance: float, rev: str, now: Millis
) -> Step | Outcome | None:
    """What a holder's giving up does: the run is pending again, or has used its attempts up, or was told to
    end; None: this very release was done before, and nobody has claimed since (I9).

    ``chance`` in [0, 1) is by how much the pause after a failure is cut. Raises LeaseLost and RunTerminal.
    """
    if _released_by(run, command):
        return None
    check_holder(run, Command.RELEASE, command.worker_id, command.attempt)
    if run.cancel is not None:
        return replace(cancelled(run.cancel), key=_mark(command.worker_id))
    released = Released(command.worker_id, run.attempt)
    if command.error is None:
        return _back(run, released, command.delay_seconds or 0, rev=rev, now=now)
    failure = _short(command.error)
    released = replace(released, failure=failure)
    if run.failures + 1 >= run.max_attempts:
        return _used_up(run, command.error, key=_mark(command.worker_id))
    pause = command.delay_seconds
    if pause is None:
        pause = backoff.pause(run.failures + 1) * chance
    return _back(run, released, pause, rev=rev, now=now)


def lease_end(run: Run, skew_seconds: float) -> Millis | None:
    """When a lease counts as run out, by whoever's clock: somewhat after its end."""
    if run.state is not State.RUNNING or run.lease is None:
        return None
    return run.lease.expires_at + millis(skew_seconds)


def expire(
    run: Run, lease: Lease, backoff: Backoff, *, chance: float, rev: str, now: Millis
) -> Step | Outcome:
    """What comes of a lease that has run out: the run is pending again, or has used its attempts up, or was
    told to end."""
    if run.cancel is not None:
        return cancelled(run.cancel)
    failure = Failure(f"the lease of worker {lease.worker_id} ran out", LEASE)
    if run.failures + 1 >= run.max_attempts:
        return _used_up(run, {"message": failure.message, "type": LEASE})
    pause = backoff.pause(run.failures + 1) * chance
    return _back(run, Released(lease.worker_id, run.attempt, failure), pause, rev=rev, now=now)


def next_look(run: Run, last_heard: Millis, skew_seconds: float, grace_seconds: float) -> Millis | None:
    """When a running run has to be looked at next: at its lease's end, where it has been silent for too long,
    or when a cancel is to be forced."""
    times = (lease_end(run, skew_seconds), run.watched_until(last_heard), run.forced_at(grace_seconds))
    return min((at for at in times if at is not None), default=None)


def check_holder(run: Run, command: Command, worker_id: str, attempt: int) -> Lease:
    """The lease under which a worker drives the run at ``attempt``. Raises LeaseLost when it has none, and
    RunTerminal."""
    if attempt != run.attempt:
        raise LeaseLost(f"the run is at attempt {run.attempt}, not {attempt}", run=run)
    refusal = cell(command, run.state).error
    if refusal is not None:
        raise refusal(f"the run is {run.state.value}: {_NOBODYS.get(run.state, 'nobody holds it')}", run=run)
    if run.lease is None:
        attached = run.mode is Mode.ATTACHED
        said = "the run is attached: it has no lease" if attached else "the run is held by nobody"
        raise LeaseLost(said, run=run)
    if run.lease.worker_id != worker_id:
        raise LeaseLost("the run is held by another worker", run=run)
    return run.lease


def _back(run: Run, released: Released, pause_seconds: float, *, rev: str, now: Millis) -> Step:
    failures = run.failures + int(released.failure is not None)
    back = replace(run, rev=rev, updated_at=now, released=released, failures=failures)
    return Step(to_queue(back, now + millis(pause_seconds)))


def _used_up(run: Run, error: dict[str, Any], key: str | None = None) -> Outcome:
    told = f"{error['message']} (failure {run.failures + 1} of {run.max_attempts} that it may have)"
    return Outcome(status=State.DEAD, error={**error, "message": told}, key=key)


def _released_by(run: Run, command: Release) -> bool:
    if run.attempt != command.attempt:
        return False
    if run.state is State.PENDING and run.released is not None and not run.released.ran_out:
        return (run.released.worker_id, run.released.attempt) == (command.worker_id, command.attempt)
    return run.ending is not None and run.ending.key == _mark(command.worker_id)


def _mark(worker_id: str) -> str:
    """What tells an ending that a worker's release led to: an attempt has one holder."""
    return f"released:{worker_id}"


def _claimed(run: Run, before: Released | None) -> Entry:
    """What the log says of a claim: also why there had to be another."""
    said: dict[str, Any] = {"attempt": run.attempt, "worker_id": run.lease.worker_id if run.lease else None}
    if before is not None:
        failure = before.failure
        said["after"] = {
            "attempt": before.attempt,
            "worker_id": before.worker_id,
            "error": None if failure is None else {"message": failure.message, "type": failure.type},
        }
    return entry("claimed", said)


def _short(error: dict[str, Any]) -> Failure:
    """What a row keeps of a worker's failure. The type of a lease that ran out is Baton's own."""
    type_ = error.get("type")
    if type_ in (None, LEASE):
        return Failure(_cut(error["message"], MAX_MESSAGE))
    return Failure(_cut(error["message"], MAX_MESSAGE), _cut(type_, MAX_TYPE))


def _cut(text: str, most: int) -> str:
    return text.encode()[:most].decode(errors="ignore")
