"""Pushing: telling a workflow's target that a run waits to be claimed, at least once, whoever tells it.

The hint goes out first and what came of it is written then, on condition that the row is as it was read. So a
death between the two, or two pushers at once, send a hint twice, which does no harm: claiming decides.
"""

from __future__ import annotations

from enum import Enum

from baton.domain.catalog import Target
from baton.domain.log import Tail
from baton.domain.pushing import Answer, Never, answered, hint, to_push, unpushed
from baton.domain.queueing import pushed_to
from baton.domain.run import Push, Run, Step
from baton.domain.settling import Outcome
from baton.services.catalog import Catalog
from baton.services.context import Context
from baton.services.performing import Performer
from baton.services.permitting import Permits
from baton.store.rows import ROW, run_key
from baton.store.runs import Changed


class Pushed(Enum):
    """What came of a push."""

    TAKEN = "taken"
    PUT_OFF = "put off"
    """The target did not take it, or nobody is to be told of the run any more."""
    SETTLED = "settled"
    NOTHING = "nothing"
    """The run does not wait to be told of, or not yet, or somebody else has changed it meanwhile."""


class Pusher:
    """Where targets are told of runs."""

    def __init__(self, context: Context, catalog: Catalog, performer: Performer, permits: Permits) -> None:
        self._context = context
        self._catalog = catalog
        self._performer = performer
        self._permits = permits

    def push_item(self, key: str) -> Pushed:
        """Tell of the run whose row has the partition ``key``."""
        return self.push(*key.split("#", 1))

    def push(self, namespace: str, run_id: str) -> Pushed:
        """Tell the target of the run's workflow, if the run waits to be told of.

        It may be called any number of times, by any number at once. One that is available only later is left
        to the sweep, which a timer has look then. A target that refuses for good ends the run, which may be
        resumed. Raises Unavailable when the store or the catalog can't be used: then the run is pushed by
        whoever comes next.
        """
        context, now = self._context, self._context.clock.now()
        run = context.runs.get(namespace, run_id)
        if not isinstance(run, Run) or run.push is None or not to_push(run):
            return Pushed.NOTHING
        if run.available_at is not None and run.available_at > now:
            context.timers.hint((run_key(namespace, run_id), ROW), run.available_at)
            return Pushed.NOTHING
        if not run.announce and (run.due_at is None or run.due_at > now):
            return Pushed.NOTHING
        answer = self._told(run)
        if answer is None:
            step = unpushed(run, rev=context.nonce(), grace_seconds=context.settings.cancel_grace_seconds)
            return Pushed.PUT_OFF if self._written(run, step) else Pushed.NOTHING
        return self._record(run, run.push, answer)

    def _told(self, run: Run) -> Answer | None:
        """The answer of the run's target; None: it has none. It is read anew from the catalog before a run
        ends for it: whoever has set it right and resumes the run must not be told the past."""
        target = pushed_to(self._catalog.snapshot(run.namespace).workflow(run.workflow))
        answer = None if target is None else self._asked(run, target)
        if answer is not None and not isinstance(answer, Never):
            return answer
        fresh = pushed_to(self._catalog.snapshot(run.namespace, fresh=True).workflow(run.workflow))
        if fresh == target:
            return answer
        return None if fresh is None else self._asked(run, fresh)

    def _asked(self, run: Run, target: Target) -> Answer:
        context = self._context
        refusal = self._permits.refusal(run.namespace, target)
        if refusal is not None:
            return refusal
        return context.targets.send(target, hint(run, context.settings.public_url), run.rev)

    def _record(self, run: Run, push: Push, answer: Answer) -> Pushed:
        context = self._context
        decided = answered(
            run,
            push,
            answer,
            chance=context.jitter(),
            rev=context.nonce(),
            now=context.clock.now(),
            grace_seconds=context.settings.cancel_grace_seconds,
        )
        if isinstance(decided, Outcome):
            return self._settle(run, decided)
        if not self._written(run, decided):
            return Pushed.NOTHING
        if decided.run.push is not None and decided.run.push.refused and decided.run.due_at is not None:
            context.timers.hint((run_key(run.namespace, run.id), ROW), decided.run.due_at)
            return Pushed.PUT_OFF
        return Pushed.TAKEN

    def _settle(self, run: Run, outcome: Outcome) -> Pushed:
        def decide(now_run: Run, _tail: Tail) -> Outcome | None:
            return outcome if now_run.rev == run.rev else None

        done = self._performer.perform(run.namespace, run.id, decide, settles=True)
        return Pushed.NOTHING if done.outcome is None else Pushed.SETTLED

    def _written(self, run: Run, step: Step) -> bool:
        return self._context.runs.change(run, step) is Changed.APPLIED
