"""The hand-off: an ending as publishers see it, what subscribers get of it, and what is left once it is
recorded."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from baton.domain.catalog import ending
from baton.domain.clock import Millis, millis, rfc3339
from baton.domain.names import id_from_handoff
from baton.domain.payload import NULL, canonical
from baton.domain.run import Ending, Run, Step, TriggeredBy
from baton.domain.settlement import NOTHING, Delivery, DeliveryState, PublishLease, Settlement
from baton.domain.states import State

RESERVED = "__"
"""Workflows whose names begin so publish nothing."""


def publishes(run: Run) -> bool:
    """Whether the run's endings are anybody's business: not those of reserved workflows, and not of one that
    was continued as new."""
    return not run.workflow.startswith(RESERVED) and run.continued_as is None


def in_row(run: Run) -> bool:
    """Whether the run's present attempt has an ending that is anybody's business, settled in its row."""
    return run.ending is not None and not run.ending.apart and publishes(run)


class Apart(msgspec.Struct, frozen=True, kw_only=True):
    """A settlement in an item of its own: an earlier attempt's, or one too large for the run's row.

    It holds what was true of the run when the attempt settled; the rest never changes and is the row's.
    """

    namespace: str
    run_id: str
    workflow: str
    birth: str
    attempt: int
    rev: str
    state: State
    ending: Ending
    settlement: Settlement
    due_at: Millis | None = None
    announce: bool = False
    strikes: int = 0


class Keep(msgspec.Struct, frozen=True):
    """Write a settlement's item, in the place of the one whose ``rev`` is ``over``, or of none."""

    apart: Apart
    over: str | None = None


class Settled(msgspec.Struct, frozen=True):
    """One attempt's ending, wherever its settlement stands."""

    run: Run
    apart: Apart | None = None

    @property
    def attempt(self) -> int:
        """The attempt that ended."""
        return self.run.attempt if self.apart is None else self.apart.attempt

    @property
    def state(self) -> State:
        """How it ended."""
        return self.run.state if self.apart is None else self.apart.state

    @property
    def ending(self) -> Ending:
        """How it ended, in full. Only of a run that has settled."""
        ending = self.run.ending if self.apart is None else self.apart.ending
        if ending is None:
            raise ValueError(f"run {self.run.id!r} has not settled")
        return ending

    @property
    def settlement(self) -> Settlement:
        """What it owes."""
        return self.run.settlement if self.apart is None else self.apart.settlement

    @property
    def public(self) -> bool:
        """Whether it is anybody's business outside of its run."""
        return publishes(self.run) if self.apart is None else not self.run.workflow.startswith(RESERVED)

    @property
    def announced(self) -> bool:
        """Whether it calls for the live publisher."""
        return self.run.announce if self.apart is None else self.apart.announce

    @property
    def rev(self) -> str:
        """The last write of the item that holds the settlement."""
        return self.run.rev if self.apart is None else self.apart.rev

    @property
    def namespace(self) -> str:
        """The tenant's."""
        return self.run.namespace

    @property
    def at(self) -> Millis:
        """When it settled."""
        return self.ending.at

    @property
    def depth(self) -> int:
        """How many hand-offs led to the run that ended."""
        return self.run.depth

    @property
    def traceparent(self) -> str | None:
        """What is passed on to what it starts."""
        return self.run.traceparent

    @property
    def event(self) -> str:
        """The ending's name."""
        return ending(self.state, self.run.workflow)

    @property
    def event_id(self) -> str:
        """The ending's id: the same however often it is published."""
        return f"{self.run.birth}.{self.attempt}"

    def started_id(self, subscriber: str) -> str:
        """The id of the run that this ending starts of ``subscriber`` (I3)."""
        run = self.run
        return id_from_handoff(run.namespace, run.birth, str(self.attempt), self.event, subscriber)

    @property
    def trigger(self) -> TriggeredBy:
        """What the started run remembers of it."""
        return TriggeredBy(self.run.id, self.run.workflow, self.event, self.attempt)

    def delivered_run(self, delivery: Delivery) -> str | None:
        """The id of the run that a delivery led to."""
        if delivery.state is DeliveryState.STARTED:
            return self.started_id(delivery.subscriber)
        return delivery.run_id

    def leased(self, lease: PublishLease, *, rev: str) -> Step:
        """The write that takes the publish lease: whoever read the settlement before reads it again."""
        settlement = replace(self.settlement, lease=lease)
        if self.apart is None:
            return Step(replace(self.run, rev=rev, settlement=settlement))
        return Step(
            self.run, also=(Keep(replace(self.apart, rev=rev, settlement=settlement), self.apart.rev),)
        )

    def after(self, step: Step) -> Settled:
        """What a step of this settlement's own leaves."""
        kept = next((also.apart for also in step.also if isinstance(also, Keep)), None)
        return Settled(step.run, kept)

    def recorded(
        self,
        settlement: Settlement,
        *,
        rev: str,
        look_at: Millis,
        retention_seconds: float,
        announce: bool = False,
    ) -> Step:
        """The write that leaves ``settlement`` behind, and gives the publish lease up.

        The run may expire from then on if nothing is owed, unresolved, waiting or buffered, here or in
        another attempt; else somebody looks again at ``look_at``.
        """
        settlement = replace(settlement, lease=None)
        look = look_at if settlement.holding else None
        if self.apart is None:
            kept = replace(
                self.run, rev=rev, settlement=settlement, announce=announce, due_at=look, strikes=0
            )
            if settlement.small:
                return Step(expiring(kept, retention_seconds))
            apart = set_apart(kept, rev=rev, announce=announce)
            return Step(expiring(without_settlement(kept, apart), retention_seconds), also=(Keep(apart),))
        after = replace(self.apart, rev=rev, settlement=settlement, announce=announce, due_at=look, strikes=0)
        keep = Keep(after, over=self.apart.rev)
        change = int(settlement.holding) - int(self.apart.settlement.holding)
        if change == 0:
            return Step(self.run, also=(keep,))
        run = replace(self.run, rev=rev, apart=self.run.apart + change)
        return Step(expiring(run, retention_seconds), also=(keep,))


def expiring(run: Run, retention_seconds: float) -> Run:
    """``run`` with its retention counted from its settling, if nothing keeps it; with none, if something
    does. One that was deleted stays so."""
    if run.ending is None or run.kept:
        return replace(run, expires_at=None)
    expires_at = run.ending.at + millis(retention_seconds)
    return replace(run, expires_at=expires_at if run.expires_at is None else min(run.expires_at, expires_at))


def set_apart(run: Run, *, rev: str, announce: bool) -> Apart:
    """The settlement of a settled run's row, as an item of its own."""
    if run.ending is None:
        raise ValueError(f"run {run.id!r} has not settled")
    return Apart(
        namespace=run.namespace,
        run_id=run.id,
        workflow=run.workflow,
        birth=run.birth,
        attempt=run.attempt,
        rev=rev,
        state=run.state,
        ending=replace(run.ending, apart=True),
        settlement=replace(run.settlement, lease=None),
        due_at=run.due_at if run.settlement.holding else None,
        announce=announce,
    )


def without_settlement(run: Run, apart: Apart) -> Run:
    """``run`` once its settlement stands in ``apart``: it keeps count of what it must be kept for."""
    return replace(
        run,
        settlement=NOTHING,
        announce=False,
        due_at=None,
        apart=run.apart + int(apart.settlement.holding),
        ending=None if run.ending is None else replace(run.ending, apart=True),
    )


def ending_payload(settled: Settled, output: bytes, error: bytes | None) -> bytes:
    """What subscribers to an ending get, as canonical JSON: what ``where`` and ``input`` see, and the input
    where there is no mapping."""
    run, ending, links = settled.run, settled.ending, settled.run.links
    return canonical(
        {
            "event": settled.event,
            "id": settled.event_id,
            "run": {
                "id": run.id,
                "workflow": run.workflow,
                "namespace": run.namespace,
                "attempt": settled.attempt,
                "state": settled.state.value,
                "context_ref": run.context_ref,
                "tags": run.tags,
                "output": msgspec.Raw(output),
                "error": msgspec.Raw(NULL if error is None else error),
                "code": ending.code,
                "signal": ending.signal,
                "started_at": None if run.started_at is None else rfc3339(run.started_at),
                "ended_at": rfc3339(ending.at),
                "traceparent": run.traceparent,
            },
            "chain": {"first_run_id": links.first_run_id, "length": links.length},
        }
    )
