"""Carrying out a decision: see the run, decide, write on condition that nothing moved, and see again if it
did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from baton.domain.catalog import ending
from baton.domain.clock import millis
from baton.domain.log import CLOSING_SECONDS, Entry, Header, Tail, entry, pack
from baton.domain.run import Run, Step
from baton.domain.settling import Outcome, settle
from baton.domain.states import State
from baton.errors import Unavailable
from baton.services.catalog import Catalog
from baton.services.context import Context
from baton.services.lookup import Lookup
from baton.store.log import LogItem
from baton.store.runs import Changed

ROUNDS = 12
SLOTS_LOST_BEFORE_CLOSING = 3
CHASE = 6
"""Slots that a ``closing`` runs after a busy appender before it looks anew where the log ends."""

V = TypeVar("V")

Decide = Callable[[Run, Tail], "Step | Outcome | V"]


class Performed(NamedTuple, Generic[V]):
    """What was decided and written. ``run`` and ``tail`` are as they are after it; ``outcome`` is set when it
    settled the run; ``verdict`` is the decision itself when it was to change nothing."""

    run: Run
    tail: Tail
    changed: bool
    outcome: Outcome | None
    verdict: V | None


class Performer:
    """The one loop in which runs change. Every path that ends a run comes through here and so through one
    settle."""

    def __init__(self, context: Context, lookup: Lookup, catalog: Catalog) -> None:
        self._context = context
        self._lookup = lookup
        self._catalog = catalog

    def perform(
        self,
        namespace: str,
        run_id: str,
        decide: Decide[V],
        *,
        hint: Tail | None = None,
        beside: Callable[[Run], object] | None = None,
        settles: bool = False,
    ) -> Performed[V]:
        """Decide on the run as it is, and make it so.

        ``decide`` is asked again with what is true then whenever a race was lost, so it must not keep
        anything. ``hint`` is a tail that may save the look at the log: it need not be true. ``beside`` is
        something to read while a run is written whose input stands in its log. ``settles``: it may end the
        run, so whom an ending is owed to is read beside the run. Raises NotFound,
        what ``decide`` raises, and Unavailable when races are lost for too long.
        """
        slots_lost = 0
        tail, seen = hint, None
        if settles:
            self._catalog.prepare(namespace)
        for round_ in range(ROUNDS):
            run, tail = self._see(namespace, run_id, tail)
            seen = self._lookup.same_life(seen, run)
            verdict = decide(run, tail)
            outcome: Outcome | None = None
            if isinstance(verdict, Outcome):
                outcome, step = verdict, self._settle(run, tail, verdict)
            elif isinstance(verdict, Step):
                step = verdict
            else:
                return Performed(run, tail, changed=False, outcome=None, verdict=verdict)
            changed, after = self._write_beside(run, step, tail, beside)
            if changed is Changed.APPLIED:
                return Performed(step.run, after, changed=True, outcome=outcome, verdict=None)
            tail = None
            slots_lost += changed is Changed.SLOT_TAKEN
            if slots_lost >= SLOTS_LOST_BEFORE_CLOSING:
                slots_lost = 0
                self._ask_to_wait(namespace, run_id)
            else:
                self._context.stand_back(round_)
        raise Unavailable("the run changes faster than it can be written")

    def _write_beside(
        self, run: Run, step: Step, tail: Tail, beside: Callable[[Run], object] | None
    ) -> tuple[Changed, Tail]:
        if beside is None or not run.input_in_log:
            return self.write(run, step, tail)
        written, _ = self._context.dynamo.together(lambda: self.write(run, step, tail), lambda: beside(run))
        return written

    def write(self, before: Run, step: Step, tail: Tail) -> tuple[Changed, Tail]:
        """Write one step: the row, what is said about it in the tail's slot, and what else belongs to it, in
        one transaction."""
        context, run = self._context, step.run
        if not step.said:
            changed = context.runs.change(before, step)
            if run.state is not State.RUNNING:
                self._lookup.forget(run.namespace, run.id)
            return changed, tail
        now = context.clock.now()
        header = tail.header
        for said in step.said:
            header = header.following(said.type, run.attempt)
        put = context.log.put(run.namespace, run.id, self._item(tail, list(step.said), header))
        changed = context.runs.change(before, step, put)
        count = len(step.said)
        if changed is not Changed.APPLIED or run.state is not State.RUNNING:
            self._lookup.forget(run.namespace, run.id)
            return changed, tail.after(count, header, now)
        after = tail.after(count, header, now, fenced=run.fenced)
        self._lookup.remember(run.namespace, run.id, after)
        return changed, after

    def _see(self, namespace: str, run_id: str, hint: Tail | None) -> tuple[Run, Tail]:
        if hint is not None:
            run = self._lookup.run(namespace, run_id)
            if hint.birth == run.birth and hint.header.attempt == run.attempt and not run.state.terminal:
                return run, hint
        run, tail, _ = self._lookup.sight(namespace, run_id)
        return run, tail

    def _settle(self, run: Run, tail: Tail, outcome: Outcome) -> Step:
        context = self._context
        snapshot = self._catalog.at_hand(run.namespace)
        event = ending(outcome.status, run.workflow)
        return settle(
            run,
            outcome,
            seq=tail.next,
            rev=context.nonce(),
            now=context.clock.now(),
            owed=None if snapshot is None else snapshot.subscribers_of(event),
            sweep_after_seconds=context.settings.publish_grace_seconds,
            retention_seconds=context.retention_seconds(snapshot, run.workflow),
        )

    def _ask_to_wait(self, namespace: str, run_id: str) -> None:
        """Put a ``closing`` item, which appends wait out: a busy appender must not keep a run from settling,
        nor a cancel from being latched. He puts without reading, so this runs after him slot by slot, by what
        each slot lost shows."""
        context = self._context
        for _ in range(ROUNDS):
            run, tail, _newest = self._lookup.sight(namespace, run_id)
            for _ in range(CHASE):
                if tail.header.closed or tail.header.attempt != run.attempt:
                    return
                until = context.clock.now() + millis(CLOSING_SECONDS)
                item = self._item(tail, [entry("closing", {})], tail.header.closing(until))
                standing = context.log.taken(context.log.put(namespace, run_id, item))
                if standing is None:
                    self._lookup.forget(namespace, run_id)
                    return
                tail = standing.tail(fenced=run.fenced, seen_at=tail.seen_at)

    def _item(self, tail: Tail, entries: list[Entry], header: Header) -> LogItem:
        return LogItem(
            birth=tail.birth,
            slot=tail.next,
            count=len(entries),
            header=header,
            ts=self._context.clock.now(),
            nonce=self._context.nonce(),
            body=pack(entries),
        )
