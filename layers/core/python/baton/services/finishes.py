"""Finishing: the driver's word that its run is over. The first one settles; everyone learns the real
outcome."""

from __future__ import annotations

from typing import NamedTuple

from baton.domain.log import Tail
from baton.domain.run import Run
from baton.domain.settling import Finish, Outcome, Stands, check_outcome, decide_finish
from baton.services.details import Details, InputReader, RunDetail
from baton.services.lookup import Lookup
from baton.services.performing import Performer


class Finished(NamedTuple):
    """The run, and whether this very request settled it, now or before its reply was lost."""

    detail: RunDetail
    finished: bool


class Finishes:
    """Where drivers end their runs."""

    def __init__(self, lookup: Lookup, performer: Performer, details: Details) -> None:
        self._lookup = lookup
        self._performer = performer
        self._details = details

    def finish(self, namespace: str, run_id: str, command: Finish, *, echo: Tail | None = None) -> Finished:
        """Settle the run, or answer what settled it: state, outcome and ``end`` are one write (I1).

        Two round trips: the row, with the log's end beside it unless that is remembered, then the
        transaction, with the input beside it where that stands in the log. Raises NotFound, InvalidRequest
        (no fence), PayloadTooLarge, LeaseLost, InFlight and IdempotencyMismatch.
        """

        def decide(run: Run, _tail: Tail) -> Outcome | Stands:
            return decide_finish(run, command)

        check_outcome(command.outcome)
        hint = self._lookup.recall(namespace, run_id, echo)
        reader = InputReader(self._details)
        done = self._performer.perform(namespace, run_id, decide, hint=hint, beside=reader)
        finished = done.changed or (isinstance(done.verdict, Stands) and done.verdict.ours)
        detail = self._details.after(done.run, done.tail, input_=reader.input, outcome=done.outcome)
        return Finished(detail, finished)
