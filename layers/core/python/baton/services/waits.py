"""Waits: runs that suspend until a time, a run's settling or an event, and what wakes them: once each,
whoever comes first."""

from __future__ import annotations

from enum import Enum
from itertools import count
from typing import Any

from baton.domain.clock import millis
from baton.domain.events import CountWoken, Posted
from baton.domain.handoff import Settled
from baton.domain.log import Tail
from baton.domain.run import Run, Step
from baton.domain.states import State
from baton.domain.waiting import (
    DropWaiter,
    Suspend,
    Waiter,
    Why,
    decide_suspend,
    event_came,
    follow,
    run_settled,
    suspended_by,
    take,
    waiter_on_event,
    waits_as,
    wake,
)
from baton.errors import InvalidRequest, NotFound, TryAgain
from baton.observability import logger
from baton.services.context import Context
from baton.services.details import Details, InputReader, RunDetail
from baton.services.lookup import Lookup
from baton.services.performing import Performed, Performer
from baton.store.events import EventKey
from baton.store.rows import ROW, run_key

MAX_LINKS = 1_000
"""Runs continued as new that are gone over to find the one that goes on."""


class Asleep(Enum):
    """Why a run was not woken."""

    NO_MORE = "it waits no more"
    CAME_LATER = "it came to wait once the event was recorded"


MOST_AT_ONCE = 500
"""Runs that one publisher wakes: each is a transaction, and a function's time is short."""


class Waits:
    """Where runs begin to wait, and where they are woken."""

    def __init__(self, context: Context, lookup: Lookup, performer: Performer, details: Details) -> None:
        self._context = context
        self._lookup = lookup
        self._performer = performer
        self._details = details

    def suspend(self, namespace: str, run_id: str, command: Suspend) -> RunDetail:
        """Let a running run wait. What it waits for may have come already, or comes meanwhile: it is woken
        then, in whatever order the two meet.

        A repeat with the same key after a lost reply suspends nothing anew, also when the run was woken
        since. Raises NotFound (the run, or the one to wait for), InvalidRequest, LeaseLost, RunTerminal,
        InFlight, IdempotencyMismatch and Unavailable.
        """
        if command.run_id == run_id:
            raise InvalidRequest.at(["body", "run"], "a run can't wait for itself")
        context = self._context

        def decide(run: Run, _tail: Tail) -> Step | None:
            if suspended_by(run, command):
                return None
            now = context.clock.now()
            return decide_suspend(
                run,
                command,
                target=None if command.run_id is None else self._target(namespace, command.run_id),
                wait_id=context.nonce(),
                rev=context.nonce(),
                now=now,
                look_at=now + millis(context.settings.publish_grace_seconds),
            )

        reader = InputReader(self._details)
        hint = self._lookup.recall(namespace, run_id, None)
        done = self._performer.perform(namespace, run_id, decide, hint=hint, beside=reader)
        done = self._taken(done) or done
        if done.run.wait is not None and done.run.wait.until is not None:
            context.timers.hint((run_key(namespace, run_id), ROW), done.run.wait.until)
        return self._details.after(done.run, done.tail, input_=reader.input)

    def wake_all(self, settled: Settled) -> bool:
        """Wake everyone that waited for an attempt that has settled, or let them wait for the run that
        continues it: whether nobody waits for it any more.

        It may be done by several at once, and again after a death: each is woken once. Nothing is raised: a
        run that could not be woken now is left to the next publisher, and so are those beyond the first few
        hundred.
        """
        done, tried = True, 0
        try:
            for waiter in self._context.waiters.of_run(settled.namespace, settled.run.id):
                if waiter.birth != settled.run.birth or not self._wakes(settled, waiter):
                    continue
                if tried == MOST_AT_ONCE:
                    return False
                tried += 1
                done = self._tried(waiter, settled) and done
        except TryAgain as trouble:
            logger.warning(
                "who waits can't be read",
                namespace=settled.namespace,
                run=settled.run.id,
                reason=trouble.detail,
            )
            return False
        return done

    def _wakes(self, settled: Settled, waiter: Waiter) -> bool:
        """Whether this ending is the one that a waiter waits for: the first that settled from the attempt on
        at which it came. One that settled before this and has not woken it yet has a marker of its own."""
        came_at = waiter.attempt or 0
        if came_at >= settled.attempt:
            return came_at == settled.attempt
        earlier = self._context.runs.settled(settled.namespace, settled.run.id, came_at)
        return earlier is None or earlier.settlement.waiters == 0

    def wake_by(self, posted: Posted) -> tuple[bool, int]:
        """Wake everyone that waits for an event now: whether all that were there are awake, and how many
        there were. Those that it wakes are counted with the event. As ``wake_all``, otherwise."""
        done, met = True, 0
        try:
            for waiter in self._context.waiters.of_event(posted.namespace, posted.name):
                met += 1
                done = self._tried(waiter, posted) and done
        except TryAgain as trouble:
            logger.warning(
                "who waits can't be read",
                namespace=posted.namespace,
                event=posted.name,
                reason=trouble.detail,
            )
            return False, met
        return done, met

    def kept_for(self, run: Run) -> Posted | None:
        """The event that a run waits for, if one is kept for it: the oldest. Consistent."""
        wait = run.wait
        if run.state is not State.SUSPENDED or wait is None or wait.event is None:
            return None
        events = self._context.events
        for key in events.open(run.namespace, wait.event, self._context.clock.now()):
            posted = events.get(key)
            if posted is not None:
                return posted
        return None

    def _taken(self, suspended: Performed[Any]) -> Performed[Any] | None:
        """What became of a run that has just come to wait, if an event was kept for it. Raises Unavailable:
        the same request again, or the sweep, looks then."""
        context, wait = self._context, suspended.run.wait

        def decide(run: Run, _tail: Tail) -> Step | None:
            if wait is None or not waits_as(run, waiter_on_event(run, wait)):
                return None
            kept = self.kept_for(run)
            if kept is None:
                return None
            return take(run, wait, kept, rev=context.nonce(), now=context.clock.now())

        if self.kept_for(suspended.run) is None:
            return None
        return self._performer.perform(suspended.run.namespace, suspended.run.id, decide)

    def _tried(self, waiter: Waiter, what: Settled | Posted) -> bool:
        """Whether a waiter is awake now, or waits no more, or elsewhere."""
        place: dict[str, Any] = {"namespace": waiter.namespace, "run": waiter.run_id}
        try:
            self._wake(waiter, what)
        except TryAgain as trouble:
            logger.warning("a run was not woken", **place, reason=trouble.detail)
            return False
        except Exception:  # noqa: BLE001 - an edge of its own: the others wake, and whom it is owed to gets it
            logger.exception("a run can't be woken", **place)
            return False
        return True

    def _wake(self, waiter: Waiter, what: Settled | Posted) -> None:
        """Wake one run, unless it waits no more under this wait: then the waiter is a left-over, and goes."""
        tries = count()

        def decide(run: Run, _tail: Tail) -> Step | Asleep:
            if not waits_as(run, waiter):
                return Asleep.NO_MORE
            if isinstance(what, Settled):
                return self._settled_or_followed(run, waiter, what)
            if next(tries) and self._recorded(what):
                return Asleep.CAME_LATER
            return self._woken(run, waiter, event_came(what), CountWoken(what, self._context.nonce()))

        try:
            asleep = self._performer.perform(waiter.namespace, waiter.run_id, decide).verdict
        except NotFound:
            asleep = Asleep.NO_MORE
        if asleep is Asleep.NO_MORE:
            self._context.waiters.drop(waiter)

    def _recorded(self, posted: Posted) -> bool:
        """Whether another has recorded by now that all who waited for an event are awake."""
        standing = self._context.events.get(EventKey(posted.namespace, posted.name, posted.id))
        return standing is None or standing.looked

    def _settled_or_followed(self, run: Run, waiter: Waiter, settled: Settled) -> Step:
        """Woken by the settling, or moved along to the run that goes on in its place."""
        last, state = settled.run.id, settled.state
        goes_on = settled.run.continued_as if settled.attempt == settled.run.attempt else None
        successor = None if goes_on is None else self._last_of_chain(settled.namespace, goes_on)
        if successor is not None and run.wait is not None:
            if not successor.state.terminal:
                return follow(run, run.wait, waiter, successor, rev=self._context.nonce())
            last, state = successor.id, successor.state
        return self._woken(run, waiter, run_settled(last, state))

    def _woken(self, run: Run, waiter: Waiter, why: Why, *also: Any) -> Step:
        context = self._context
        return wake(run, why, rev=context.nonce(), now=context.clock.now(), also=(DropWaiter(waiter), *also))

    def _target(self, namespace: str, run_id: str) -> Run:
        """The run to wait for: the one named, or the one that goes on in its place. Raises NotFound."""
        last = self._last_of_chain(namespace, run_id)
        if last is None or last.expired(self._context.clock.now()):
            raise NotFound(f"no run {run_id!r} here to wait for")
        return last

    def _last_of_chain(self, namespace: str, run_id: str) -> Run | None:
        """The run that continues all that were continued from ``run_id`` on. None where one of them is gone,
        or they are too many."""
        for _ in range(MAX_LINKS):
            run = self._context.runs.get(namespace, run_id)
            if not isinstance(run, Run):
                return None
            if run.continued_as is None:
                return run
            run_id = run.continued_as
        return None
