"""Waiting: what suspends a run, what wakes it, and what is written beside its row then."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from baton.domain.clock import Millis, rfc3339
from baton.domain.events import Posted, Take
from baton.domain.log import entry
from baton.domain.queueing import to_queue
from baton.domain.run import Run, Step
from baton.domain.settlement import Wait
from baton.domain.states import Command, Mode, State, cell
from baton.errors import IdempotencyMismatch, InvalidRequest

Why = dict[str, Any]
"""What woke a run, as its log tells it."""


class Suspend(msgspec.Struct, frozen=True, kw_only=True):
    """A driver's word that its run waits for exactly one of ``until``, ``run_id`` and ``event``, under its
    fence. ``key`` and ``body`` are digests of the request's idempotency key and of its canonical body."""

    until: Millis | None = None
    run_id: str | None = None
    event: str | None = None
    attempt: int | None = None
    key: str | None = None
    body: str = ""


class Waiter(msgspec.Struct, frozen=True, kw_only=True):
    """That ``run_id`` waits, told where the one looks who can wake it: at the run ``target`` (in its life
    ``birth``, at its ``attempt``), or at ``event``. ``wait_id`` tells this wait from the run's others."""

    namespace: str
    run_id: str
    wait_id: str
    target: str | None = None
    birth: str | None = None
    attempt: int | None = None
    event: str | None = None


class PutWaiter(msgspec.Struct, frozen=True):
    """Tell of a wait, beside the write of the row that waits."""

    waiter: Waiter


class DropWaiter(msgspec.Struct, frozen=True):
    """Forget a wait, beside the write of the row that waited."""

    waiter: Waiter


class ChangeRow(msgspec.Struct, frozen=True):
    """Write another run's row too, on condition that it is as it was read."""

    before: Run
    after: Run


def suspended_by(run: Run, command: Suspend) -> bool:
    """Whether this very request suspended the run before: the answer its lost reply held, also when the run
    was woken since.

    Raises IdempotencyMismatch when its key comes with another body.
    """
    if command.key is None or run.suspend_key is None:
        return False
    key, _, body = run.suspend_key.partition(".")
    if key == command.key and body != command.body:
        raise IdempotencyMismatch("this Idempotency-Key suspended the run with another body", run=run)
    return key == command.key


def decide_suspend(
    run: Run,
    command: Suspend,
    *,
    target: Run | None,
    wait_id: str,
    rev: str,
    now: Millis,
    look_at: Millis,
) -> Step:
    """The write that suspends a running run: its row, its log, and the waiter where its waker looks.

    ``target`` is the run to wait for as it is now; its count of waiters is raised in the same write, so that
    it settles knowing of them or this is decided again. What has come already wakes at once. ``look_at`` is
    when the sweep looks for a kept event, should nobody have come to that. Raises LeaseLost, InvalidRequest
    (no fence, waits for itself), RunTerminal and InFlight.
    """
    run.check_fence(command.attempt)
    refusal = cell(Command.SUSPEND, run.state).error
    if refusal is not None:
        raise refusal(f"the run is {run.state.value}: only a running run can wait", run=run)
    if target is not None and target.id == run.id:
        raise InvalidRequest.at(["body", "run"], "leads to the run itself: it continues the one named")
    wait = Wait(
        id=wait_id,
        until=command.until,
        run_id=None if target is None else target.id,
        event=command.event,
    )
    suspended = replace(
        run,
        rev=rev,
        state=State.SUSPENDED,
        updated_at=now,
        lease=None,
        wait=wait,
        suspend_key=None if command.key is None else f"{command.key}.{command.body}",
        due_at=_sooner(_latched(run), look_at if command.event is not None else command.until),
    )
    said = entry("suspended", _told(wait))
    came = _come(wait, target, now)
    if came is not None:
        woken = wake(suspended, came, rev=rev, now=now)
        return Step(woken.run, (said, *woken.said))
    if target is not None:
        return Step(suspended, (said,), _registered(suspended, wait, target, rev))
    if wait.event is not None:
        return Step(suspended, (said,), (PutWaiter(waiter_on_event(suspended, wait)),))
    return Step(suspended, (said,))


def waits_as(run: Run, waiter: Waiter) -> bool:
    """Whether the run waits still as ``waiter`` tells: under its id, and for what it names (a wait moves
    along to the run that continues the one waited for)."""
    wait = run.wait
    return (
        run.state is State.SUSPENDED
        and wait is not None
        and (wait.id, wait.run_id, wait.event) == (waiter.wait_id, waiter.target, waiter.event)
    )


def wake(run: Run, why: Why, *, rev: str, now: Millis, also: tuple[Any, ...] = ()) -> Step:
    """The write that wakes a suspended run: an attached one runs on, watched anew; a queued one is there to
    be claimed. ``also`` is what wakes it in the same write."""
    woken = replace(run, rev=rev, state=State.RUNNING, updated_at=now, wait=None)
    if run.mode is Mode.QUEUED:
        woken = to_queue(woken, now)
    else:
        woken = replace(woken, due_at=_sooner(_latched(run), woken.watched_until(now)))
    return Step(woken, (entry("woken", why),), also)


def take(run: Run, wait: Wait, kept: Posted, *, rev: str, now: Millis) -> Step:
    """The write in which a suspended run takes an event that was kept for it: nobody else takes it then."""
    also = (DropWaiter(waiter_on_event(run, wait)), Take(kept, rev))
    return wake(run, event_came(kept), rev=rev, now=now, also=also)


def follow(run: Run, wait: Wait, waiter: Waiter, successor: Run, *, rev: str) -> Step:
    """The write that lets a suspended run wait for the run that continues the one it waited for."""
    wait = replace(wait, run_id=successor.id)
    moved = replace(run, rev=rev, wait=wait)
    return Step(moved, also=(DropWaiter(waiter), *_registered(moved, wait, successor, rev)))


def time_came(until: Millis) -> Why:
    """Woken by the time."""
    return {"kind": "time", "until": rfc3339(until)}


def run_settled(run_id: str, state: State) -> Why:
    """Woken by a run's settling."""
    return {"kind": "run", "run_id": run_id, "run_state": state.value}


def event_came(posted: Posted) -> Why:
    """Woken by an event."""
    return {
        "kind": "event",
        "event": posted.name,
        "id": posted.id,
        "payload": msgspec.Raw(posted.payload),
    }


def waiter_on_event(run: Run, wait: Wait) -> Waiter:
    """The waiter of a run that waits for an event."""
    return Waiter(namespace=run.namespace, run_id=run.id, wait_id=wait.id, event=wait.event)


def _registered(run: Run, wait: Wait, target: Run, rev: str) -> tuple[PutWaiter, ChangeRow]:
    """What is written at the run that is waited for."""
    waiter = Waiter(
        namespace=run.namespace,
        run_id=run.id,
        wait_id=wait.id,
        target=target.id,
        birth=target.birth,
        attempt=target.attempt,
    )
    settlement = replace(target.settlement, waiters=target.settlement.waiters + 1)
    return PutWaiter(waiter), ChangeRow(target, replace(target, rev=rev, settlement=settlement))


def _come(wait: Wait, target: Run | None, now: Millis) -> Why | None:
    """What is waited for, if it has come already."""
    if wait.until is not None and wait.until <= now:
        return time_came(wait.until)
    if target is not None and target.state.terminal:
        return run_settled(target.id, target.state)
    return None


def _told(wait: Wait) -> Why:
    if wait.until is not None:
        return {"kind": "time", "until": rfc3339(wait.until)}
    if wait.run_id is not None:
        return {"kind": "run", "run_id": wait.run_id}
    return {"kind": "event", "event": wait.event}


def _latched(run: Run) -> Millis | None:
    """When somebody looks at a run that is told to end, at the latest: a driver that is away does not heed
    it."""
    return run.due_at if run.cancel is not None else None


def _sooner(one: Millis | None, other: Millis | None) -> Millis | None:
    return min((at for at in (one, other) if at is not None), default=None)
