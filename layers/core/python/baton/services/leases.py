"""Holding a run, and giving it up: what its worker does to the lease."""

from __future__ import annotations

from baton.domain.catalog import DEFAULT_BACKOFF
from baton.domain.leasing import Release, Renew, decide_release, decide_renew
from baton.domain.log import Tail
from baton.domain.run import Run, Step
from baton.domain.settling import Outcome
from baton.errors import Unavailable
from baton.services.catalog import Catalog
from baton.services.context import Context
from baton.services.details import Details, InputReader, RunDetail
from baton.services.lookup import Lookup
from baton.services.performing import Performer
from baton.store.runs import Changed

ROUNDS = 12


class Leases:
    """Where leases are renewed and released."""

    def __init__(
        self, context: Context, lookup: Lookup, performer: Performer, details: Details, catalog: Catalog
    ) -> None:
        self._context = context
        self._lookup = lookup
        self._performer = performer
        self._details = details
        self._catalog = catalog

    def renew(self, namespace: str, run_id: str, command: Renew) -> Run:
        """The run with its lease prolonged: one read, and one write of its row alone.

        It may be repeated. Raises NotFound, LeaseLost, RunTerminal and Unavailable.
        """
        context = self._context
        rev, seen = context.nonce(), None
        for round_ in range(ROUNDS):
            run = self._lookup.run(namespace, run_id)
            seen = self._lookup.same_life(seen, run)
            step = decide_renew(run, command, rev=rev, now=context.clock.now())
            if context.runs.change(run, step) is Changed.APPLIED:
                return step.run
            context.stand_back(round_)
        raise Unavailable("the run changes faster than its lease can be renewed")

    def release(self, namespace: str, run_id: str, command: Release) -> RunDetail:
        """The run, there to be claimed again; or dead, if it failed as often as it may; or cancelled, if it
        was told to end.

        A repeat by the same worker under the same attempt changes nothing and answers the same, until
        somebody claims. Raises NotFound, LeaseLost, RunTerminal and Unavailable.
        """
        context = self._context

        def decide(run: Run, _tail: Tail) -> Step | Outcome | None:
            snapshot = self._catalog.at_hand(namespace)
            return decide_release(
                run,
                command,
                DEFAULT_BACKOFF if snapshot is None else snapshot.backoff(run.workflow),
                chance=context.jitter(),
                rev=context.nonce(),
                now=context.clock.now(),
            )

        reader = InputReader(self._details)
        hint = self._lookup.recall(namespace, run_id, None)
        done = self._performer.perform(namespace, run_id, decide, hint=hint, beside=reader, settles=True)
        return self._details.after(done.run, done.tail, input_=reader.input, outcome=done.outcome)
