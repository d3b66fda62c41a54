"""Finishing: the driver's word that its run is over. The first one settles; everyone learns the real
outcome."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from baton.domain.log import Tail
from baton.domain.run import Run
from baton.domain.settling import Finish, Outcome, Stands, check_outcome, decide_finish
from baton.domain.starting import Succession, bear_successor
from baton.errors import RunExists
from baton.services.context import Context
from baton.services.details import Details, InputReader, RunDetail
from baton.services.lookup import Lookup
from baton.services.performing import Performer
from baton.services.starts import first_item, replacing
from baton.store.runs import Creation


class Finished(NamedTuple):
    """The run, and whether this very request settled it, now or before its reply was lost."""

    detail: RunDetail
    finished: bool


class Finishes:
    """Where drivers end their runs."""

    def __init__(self, context: Context, lookup: Lookup, performer: Performer, details: Details) -> None:
        self._context = context
        self._lookup = lookup
        self._performer = performer
        self._details = details

    def finish(self, namespace: str, run_id: str, command: Finish, *, echo: Tail | None = None) -> Finished:
        """Settle the run, or answer what settled it: state, outcome, ``end`` and whom it is owed to are one
        write (I1), and so is the run it goes on as.

        Two round trips: the row, with the log's end beside it unless that is remembered, then the
        transaction, with the input beside it where that stands in the log. Raises NotFound, InvalidRequest
        (no fence), PayloadTooLarge, LeaseLost, InFlight, IdempotencyMismatch, and RunExists when the
        successor's id is a live run's.
        """

        def decide(run: Run, _tail: Tail) -> Outcome | Stands:
            verdict = decide_finish(run, command)
            if command.succession is None or isinstance(verdict, Stands):
                return verdict
            return self._continued(run, verdict, command.succession)

        check_outcome(command.outcome)
        hint = self._lookup.recall(namespace, run_id, echo)
        reader = InputReader(self._details)
        done = self._performer.perform(namespace, run_id, decide, hint=hint, beside=reader, settles=True)
        finished = done.changed or (isinstance(done.verdict, Stands) and done.verdict.ours)
        detail = self._details.after(done.run, done.tail, input_=reader.input, outcome=done.outcome)
        return Finished(detail, finished)

    def _continued(self, run: Run, outcome: Outcome, wish: Succession) -> Outcome:
        """The outcome of a run that goes on as another, and that one's birth beside it."""
        context, now = self._context, self._context.clock.now()
        born = bear_successor(
            run,
            wish,
            birth=context.birth(),
            rev=context.nonce(),
            now=now,
            grace_seconds=context.settings.cancel_grace_seconds,
        )
        creation = Creation(run=born.run, first_item=first_item(context, born))
        if wish.run_id is not None:
            standing = context.runs.get(run.namespace, wish.run_id)
            if isinstance(standing, Run) and not standing.expired(now):
                raise RunExists(f"run {standing.id!r} exists", run=standing)
            creation = replacing(context, creation, standing)
        return replace(outcome, continued_as=born.run.id, also=(creation,))
