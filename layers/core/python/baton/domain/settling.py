"""Settling: what ends an attempt, decided once for every path that can."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from baton.domain.clock import Millis, millis
from baton.domain.handoff import Keep, expiring, publishes, set_apart, without_settlement
from baton.domain.log import Entry, entry
from baton.domain.payload import NULL, canonical, check_size
from baton.domain.run import CancelRequest, Ending, Run, Step
from baton.domain.starting import Succession
from baton.domain.states import Command, State, Verdict, cell
from baton.domain.waiting import DropWaiter, waiter_on_event
from baton.errors import IdempotencyMismatch, InFlight


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ends. ``output`` is canonical JSON; ``key`` and ``body`` are digests of the finishing
    request; ``cancel`` is the intent that ends it, where one does, and ``by`` who had that done, where
    somebody is known. ``continued_as`` is the run it goes on as, ``also`` what is written in the same
    transaction."""

    status: State
    output: bytes = NULL
    error: dict[str, Any] | None = None
    code: int | None = None
    signal: str | None = None
    resumable: bool = False
    session_ref: str | None = None
    key: str | None = None
    body: str | None = None
    cancel: CancelRequest | None = None
    by: str | None = None
    continued_as: str | None = None
    also: tuple[Any, ...] = ()


def check_outcome(outcome: Outcome) -> None:
    """Raise PayloadTooLarge when output and error together are over the limit: named after the output. What
    is not there weighs nothing."""
    output = 0 if outcome.output == NULL else len(outcome.output)
    error = 0 if outcome.error is None else len(canonical(outcome.error))
    check_size("output", output + error)


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """A driver's word that the run is over, under its fence; ``succession``: it goes on as a new one."""

    outcome: Outcome
    attempt: int | None = None
    succession: Succession | None = None


class Stands(msgspec.Struct, frozen=True):
    """Nothing is to be done: the stored outcome stands. ``ours``: this very request settled it before."""

    ours: bool


def decide_finish(run: Run, command: Finish) -> Outcome | Stands:
    """What a finish does to ``run``. Raises LeaseLost, InvalidRequest (no fence), InFlight and
    IdempotencyMismatch.

    The first finish settles; a later one changes nothing. A pending run has no driver to finish it without a
    fence. A repeat of the request that settled is told so by its key, or with a fence and no key by its body.
    """
    run.check_fence(command.attempt)
    if run.state is State.PENDING and command.attempt is None:
        raise InFlight(
            "the run is pending and nobody drives it: finish it under its attempt, or cancel it", run=run
        )
    ending, asked = run.ending, command.outcome
    if cell(Command.FINISH, run.state).verdict is Verdict.ACT:
        unknowable = asked.key is None and command.attempt is None  # no repeat of it is told from another's
        return replace(asked, body=None) if unknowable else asked
    if ending is None:
        return Stands(ours=False)
    if asked.key is not None and asked.key == ending.key:
        if asked.body != ending.body:
            raise IdempotencyMismatch("this Idempotency-Key finished the run with another body", run=run)
        return Stands(ours=True)
    same_without_key = asked.key is None and ending.key is None and command.attempt is not None
    return Stands(ours=same_without_key and ending.body is not None and asked.body == ending.body)


def settle(
    run: Run,
    outcome: Outcome,
    *,
    seq: int,
    rev: str,
    now: Millis,
    owed: tuple[str, ...] | None,
    sweep_after_seconds: float,
    retention_seconds: float,
) -> Step:
    """The row, the ``end`` entry at ``seq``, and whom the ending is owed to: one write (I1).

    ``owed`` are the subscribers to this ending; None when they could not be read: the next publisher resolves
    it. A run that goes on as a new one publishes no ending. Retention counts from here; ``expires_at`` is
    written if nothing is owed, unresolved, waiting or buffered. Else the sweep looks ``sweep_after_seconds``
    from now whether somebody has delivered.
    """
    if outcome.continued_as is not None:
        run = replace(run, continued_as=outcome.continued_as)
    names = owed if publishes(run) else ()
    settlement = replace(run.settlement, owed=names or (), unresolved=names is None)
    ended = replace(
        run,
        rev=rev,
        state=outcome.status,
        updated_at=now,
        cancel=outcome.cancel or run.cancel,
        lease=None,
        wait=None,
        due_at=now + millis(sweep_after_seconds) if settlement.holding else None,
        settlement=settlement,
        announce=True,
        strikes=0,
        ending=Ending(
            seq=seq,
            at=now,
            error=outcome.error is not None,
            code=outcome.code,
            signal=outcome.signal,
            resumable=outcome.resumable,
            session_ref=outcome.session_ref,
            key=outcome.key,
            body=outcome.body,
        ),
    )
    said = (end_entry(outcome),)
    beside = (*outcome.also, *_waits_no_more(run))
    if settlement.small:
        return Step(expiring(ended, retention_seconds), said, beside)
    apart = set_apart(ended, rev=rev, announce=True)
    return Step(without_settlement(ended, apart), said, (Keep(apart), *beside))


def _waits_no_more(run: Run) -> tuple[DropWaiter, ...]:
    """An event that may never come must not be waited for by who has settled; a run that is waited for comes
    to its waiters itself."""
    wait = run.wait
    return () if wait is None or wait.event is None else (DropWaiter(waiter_on_event(run, wait)),)


def end_entry(outcome: Outcome) -> Entry:
    """The last entry of an attempt."""
    return entry(
        "end",
        {
            "status": outcome.status.value,
            "output": msgspec.Raw(outcome.output),
            "error": outcome.error,
            "code": outcome.code,
            "signal": outcome.signal,
            "resumable": outcome.resumable,
            "session_ref": outcome.session_ref,
        },
        by=outcome.by,
    )


def cancelled(request: CancelRequest) -> Outcome:
    """The outcome of a run that is cancelled with no driver to report its own."""
    return Outcome(
        status=State.CANCELLED,
        error={"message": request.reason or "cancelled", "type": "cancelled"},
        cancel=request,
    )


def timed_out(run: Run) -> Outcome:
    """The outcome of a run nothing was heard of."""
    seconds = f"{run.inactivity_timeout_seconds:g}"
    return Outcome(
        status=State.FAILED,
        error={"message": f"nothing was heard for {seconds} s", "type": "inactivity"},
        resumable=True,
    )
