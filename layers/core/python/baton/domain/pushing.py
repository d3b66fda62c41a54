"""Pushing: what is said to a workflow's target of a run that waits, and what the target's answer does to it.

A push is a hint: the run stays pending until somebody claims it.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from baton.domain.catalog import Backoff
from baton.domain.clock import Millis, millis
from baton.domain.run import Push, Run, Step
from baton.domain.settling import Outcome, cancelled
from baton.domain.states import State

MAX_REFUSALS = 10
"""In a row: then the run fails."""

AFTER_TAKEN = Backoff(base_seconds=300, max_seconds=3600)
"""How long a hint that was taken has to lead to a claim, before another is sent."""

AFTER_REFUSED = Backoff(base_seconds=5, max_seconds=300)

ERROR = "target"
"""The type of the error of a run whose target does not take it."""


class Hint(msgspec.Struct, frozen=True):
    """What a target is told: that a run waits to be claimed, at which ``attempt`` it is, and at which ``url``
    Baton serves (None: the deployment has not said)."""

    run_id: str
    workflow: str
    namespace: str
    attempt: int
    url: str | None


class Taken(msgspec.Struct, frozen=True):
    """The target has the hint."""


class NotNow(msgspec.Struct, frozen=True):
    """The target did not take it, which may pass: it is throttled, or can't be reached."""

    reason: str


class Never(msgspec.Struct, frozen=True):
    """The target will not take it as things stand: it is not there, or must not be pushed to."""

    reason: str


Answer = Taken | NotNow | Never


def to_push(run: Run) -> bool:
    """Whether the run waits to be claimed by whom its workflow's target tells of it."""
    return run.queued and run.push is not None


def hint(run: Run, url: str | None) -> Hint:
    """What the target is told of a run."""
    return Hint(run.id, run.workflow, run.namespace, run.attempt, url)


def answered(
    run: Run, push: Push, answer: Answer, *, chance: float, rev: str, now: Millis, grace_seconds: float
) -> Step | Outcome:
    """What a target's answer does to the run that was pushed: it is looked at again later, or has failed.

    A hint that was taken is sent again where nobody claims: after 5 minutes, twice as long each further time,
    an hour at most. One that was not is sent again after 5 s, twice as long each further time in a row, 5
    minutes at most, of which ``chance`` in [0, 1) cuts up to a half. A run that is told to end does not fail
    but is cancelled, ``grace_seconds`` after it was told at the latest.
    """
    if isinstance(answer, Taken):
        taken = push.taken + 1
        return _later(run, Push(taken), AFTER_TAKEN.pause(taken), rev, now, grace_seconds)
    refused = push.refused + 1
    if isinstance(answer, NotNow) and refused < MAX_REFUSALS:
        pause = AFTER_REFUSED.pause(refused) * (1 - chance / 2)
        return _later(run, Push(push.taken, refused), pause, rev, now, grace_seconds)
    if run.cancel is not None:
        return cancelled(run.cancel)
    often = f" ({refused} times in a row)" if isinstance(answer, NotNow) else ""
    return Outcome(
        status=State.FAILED, error={"message": answer.reason + often, "type": ERROR}, resumable=True
    )


def unpushed(run: Run, *, rev: str, grace_seconds: float) -> Step:
    """The write that lets a run wait for whoever claims it: its workflow has no target to push to any
    more."""
    return Step(replace(run, rev=rev, push=None, announce=False, due_at=run.forced_at(grace_seconds)))


def _later(run: Run, push: Push, pause: float, rev: str, now: Millis, grace_seconds: float) -> Step:
    due = now + millis(pause)
    forced_at = run.forced_at(grace_seconds)
    due_at = due if forced_at is None else min(due, forced_at)
    return Step(replace(run, rev=rev, push=push, announce=False, due_at=due_at))
