"""Claiming: workers ask for runs that wait, and each run is given to one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import TypeVar

import msgspec

from baton.bounded import Bounded
from baton.domain.clock import Millis, millis, recent
from baton.domain.leasing import Claim, claimed_by, decide_claim, logged
from baton.domain.log import Tail
from baton.domain.payload import KB, MAX_HANDOFF_INPUT
from baton.domain.queueing import Place, in_turn
from baton.domain.run import Run, Step
from baton.errors import Conflict, NotFound, TryAgain
from baton.services.context import Context
from baton.services.details import Details, RunDetail
from baton.services.lookup import Lookup
from baton.services.performing import Performer
from baton.store.queue import ClaimRecord
from baton.store.runs import Changed

A = TypeVar("A")

MAX_ANSWER = 4096 * KB - 256 * KB
"""Bytes of input in one answer, with room for all else that it says of 25 runs."""

LOOKED_AT = 16
"""Places of one shard that a look reads, unless more runs are wanted."""

CROWDED_MS = 5_000
"""How long a container that was beaten to a run takes it that others claim the same, in its namespace."""

MAX_WORKFLOWS_REMEMBERED = 10_000


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's wish for up to ``most`` runs of ``workflows``, which it waits for up to ``wait_seconds``.
    With a ``claim.key`` its repeat gets the same runs."""

    namespace: str
    workflows: tuple[str, ...]
    claim: Claim
    most: int = 1
    wait_seconds: float = 0


class Claims:
    """Where runs are claimed: each one once per attempt, by the condition of one write."""

    def __init__(self, context: Context, lookup: Lookup, performer: Performer, details: Details) -> None:
        self._context = context
        self._lookup = lookup
        self._performer = performer
        self._details = details
        self._served = Bounded[str, int](MAX_WORKFLOWS_REMEMBERED)
        self._beaten_at = Bounded[str, Millis](MAX_WORKFLOWS_REMEMBERED)
        self._turn = 0
        self._lock = Lock()

    def claim(self, wanted: Wanted) -> list[RunDetail]:
        """Up to ``most`` runs, now held by the worker; none when none came to be there in time.

        By priority; within one, workflows take turns; of a workflow the one that was available first,
        approximately across shards. Fewer where more would be too large an answer. With a key it may be
        repeated after a lost reply: while the leases of the first live, it gets the same runs and takes no
        others. Raises IdempotencyMismatch and Unavailable.
        """
        context = self._context
        clock, pause = context.clock, context.settings.claim_poll_seconds
        until = clock.now() + millis(wanted.wait_seconds)
        record = self._record(wanted)
        got = [] if record is None else self._went_for(wanted, record)
        while not got:
            got, record = self._take(wanted, self._in_turn(wanted), record)
            left = until - clock.now()
            if got or left <= 0:
                break
            clock.sleep(min(left / 1000, pause * (0.5 + context.jitter() / 2)))
            pause = min(2 * pause, context.settings.claim_poll_longest_seconds)
        return got or self._beside(wanted, record)

    def claim_one(self, namespace: str, run_id: str, command: Claim) -> RunDetail:
        """One run, now held by the worker. With a key it may be repeated. Raises NotFound, InFlight (it is
        not pending, or not available yet), RunTerminal, IdempotencyMismatch and Unavailable."""

        def decide(run: Run, _tail: Tail) -> Step | None:
            held = claimed_by(run, command, self._context.clock.now())
            return None if held else self._decide(run, command)

        done = self._performer.perform(namespace, run_id, decide)
        return self._details.after(done.run, done.tail)

    def _in_turn(self, wanted: Wanted) -> list[Place]:
        """What may be claimed now, in the order in which it is to be."""
        context, now = self._context, self._context.clock.now()
        limit = max(LOOKED_AT, 2 * wanted.most)

        looks = [
            partial(context.queue.available, wanted.namespace, workflow, shard, now, limit)
            for workflow in wanted.workflows
            for shard in range(context.settings.queue_shards)
        ]
        return self._ordered(wanted, [place for places in context.dynamo.each(looks) for place in places])

    def _ordered(self, wanted: Wanted, places: list[Place]) -> list[Place]:
        """Whose turn it is. Where another was faster of late, others want the same: then any of a workflow's
        is as good as its first, so that they do not meet again."""
        with self._lock:
            served = {name: self._served.get(f"{wanted.namespace}#{name}", 0) for name in wanted.workflows}
        if recent(self._beaten_at.get(wanted.namespace), self._context.clock.now(), CROWDED_MS):
            return in_turn(places, served, lambda _place: self._context.jitter())
        return in_turn(places, served)

    def _take(
        self, wanted: Wanted, places: list[Place], record: ClaimRecord | None
    ) -> tuple[list[RunDetail], ClaimRecord | None]:
        """Claim the first of ``places``. A claim with a key writes down what it goes for before it does."""
        got: list[RunDetail] = []
        while places and len(got) < wanted.most:
            batch, places = self._batch(wanted, places, got)
            if wanted.claim.key is not None and batch:
                before, record = record, self._naming(wanted, [*(each.run for each in got), *batch])
                if not self._context.queue.remember(record, before, self._context.clock.now()):
                    # The same request, sent twice at once: what the other went for is the answer to both.
                    record = self._record(wanted)
                    others = [] if record is None else self._went_for(wanted, record)
                    mine = {each.run.id for each in got}
                    return [*got, *(each for each in others if each.run.id not in mine)], record
            taken, trouble = self._each(batch, partial(self._taken, wanted))
            got += taken
            self._note_served(taken)
            if trouble is not None:
                if got and wanted.claim.key is None:
                    break  # nobody could ask for them again
                raise trouble
            if len(taken) < len(batch):
                self._beaten_at[wanted.namespace] = self._context.clock.now()
                places = self._ordered(wanted, places)
        return got, record

    def _batch(
        self, wanted: Wanted, places: list[Place], got: Sequence[RunDetail]
    ) -> tuple[list[Run], list[Place]]:
        """The runs to try next, as many as are wanted still and fit into the answer, and the places after
        them: none, when it is full. A run may have been claimed since: its claim fails then."""
        context, count = self._context, wanted.most - len(got)
        room = MAX_ANSWER - sum(_weight(detail.run) for detail in got)
        batch: list[Run] = []
        rows = context.runs.get_many(wanted.namespace, [place.run_id for place in places[:count]])
        for place in places[:count]:
            run = rows.get(place.run_id)
            if run is None or not run.queued or run.expired(context.clock.now()):
                continue
            room -= _weight(run)
            if room < 0 and (got or batch):
                return batch, []
            batch.append(run)
        return batch, places[count:]

    def _taken(self, wanted: Wanted, seen: Run) -> RunDetail | None:
        """The run, if it is ours now; None: another was faster."""
        context, claim = self._context, wanted.claim

        def decide(run: Run, _tail: Tail) -> Step | None:
            self._lookup.same_life(seen, run)
            return None if claimed_by(run, claim, context.clock.now()) else self._decide(run, claim)

        try:
            if logged(seen):
                done = self._performer.perform(seen.namespace, seen.id, decide)
                return self._details.after(done.run, done.tail)
            step = self._decide(seen, claim)
            if context.runs.change(seen, step) is not Changed.APPLIED:
                return None if claim.key is None else self._held(wanted, seen.id)
            tail = msgspec.structs.replace(seen.initial_tail(context.clock.now()), fenced=True)
            self._lookup.remember(seen.namespace, seen.id, tail)
            return self._details.after(step.run, tail)
        except (Conflict, NotFound):
            return None

    def _held(self, wanted: Wanted, run_id: str, rev: str | None = None) -> RunDetail | None:
        """The run, if this very request holds it already; or takes it, if it is as it was at ``rev``."""
        try:
            run, tail, _ = self._lookup.sight(wanted.namespace, run_id)
        except NotFound:
            return None
        if claimed_by(run, wanted.claim, self._context.clock.now()):
            return self._details.after(run, tail)
        return self._taken(wanted, run) if run.rev == rev else None

    def _decide(self, run: Run, command: Claim) -> Step:
        context = self._context
        return decide_claim(
            run,
            command,
            rev=context.nonce(),
            now=context.clock.now(),
            skew_seconds=context.settings.skew_seconds,
            grace_seconds=context.settings.cancel_grace_seconds,
        )

    def _record(self, wanted: Wanted) -> ClaimRecord | None:
        key = wanted.claim.key
        return None if key is None else self._context.queue.record(wanted.namespace, key)

    def _went_for(self, wanted: Wanted, record: ClaimRecord) -> list[RunDetail]:
        """What this request went for before, as far as it holds it or can still get it: it may have died, or
        be under way, between writing it down and claiming it. What has been given back since is not taken
        again. Raises IdempotencyMismatch and Unavailable."""
        same = record.body == wanted.claim.body
        found, trouble = self._each(
            list(record.revs.items()), lambda named: self._held(wanted, named[0], named[1] if same else None)
        )
        if trouble is not None:
            raise trouble
        return found

    def _beside(self, wanted: Wanted, record: ClaimRecord | None) -> list[RunDetail]:
        """What the same request got, sent twice, while this one waited."""
        newest = self._record(wanted)
        return [] if newest is None or newest == record else self._went_for(wanted, newest)

    def _each(
        self, wanted: Sequence[A], claim: Callable[[A], RunDetail | None]
    ) -> tuple[list[RunDetail], TryAgain | None]:
        """What claiming each gives, several at once; and a trouble that one of them had: it does not keep the
        others from being told of."""

        def tried(each: A) -> RunDetail | TryAgain | None:
            try:
                return claim(each)
            except TryAgain as trouble:
                return trouble

        done = self._context.dynamo.each([partial(tried, each) for each in wanted])
        troubles = [each for each in done if isinstance(each, TryAgain)]
        return [each for each in done if isinstance(each, RunDetail)], troubles[0] if troubles else None

    def _naming(self, wanted: Wanted, runs: Sequence[Run]) -> ClaimRecord:
        return ClaimRecord(
            namespace=wanted.namespace,
            key=wanted.claim.key or "",
            body=wanted.claim.body,
            revs={run.id: run.rev for run in runs},
            rev=self._context.nonce(),
        )

    def _note_served(self, taken: Sequence[RunDetail]) -> None:
        with self._lock:
            for detail in taken:
                self._turn += 1
                self._served[f"{detail.run.namespace}#{detail.run.workflow}"] = self._turn


def _weight(run: Run) -> int:
    """How many bytes the run's input has, at the most."""
    return MAX_HANDOFF_INPUT if run.input is None else len(run.input)
