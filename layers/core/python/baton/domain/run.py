"""A run: the record of one piece of work, as its row holds it."""

from __future__ import annotations

from typing import Any

import msgspec

from baton.domain.clock import Millis, millis
from baton.domain.log import Entry, Header, Tail
from baton.domain.settlement import NOTHING, Chain, Settlement, Wait
from baton.domain.states import Mode, State
from baton.errors import InvalidRequest, LeaseLost

DEFAULT_PRIORITY = 5
MAX_PRIORITY = 9
DEFAULT_MAX_ATTEMPTS = 3
DEFAULT_INACTIVITY_SECONDS = 24 * 3600
"""Of attached runs; a queued one is watched by its lease."""


class CancelRequest(msgspec.Struct, frozen=True, array_like=True):
    """An intent to cancel. The first one stands. ``key`` and ``body`` are digests of the request's
    idempotency key and of its canonical body."""

    at: Millis
    reason: str | None = None
    key: str | None = None
    body: str | None = None


class Lease(msgspec.Struct, frozen=True, array_like=True):
    """A claim of limited time. ``heard_at`` is when it was taken or last renewed; ``key`` the digests of the
    idempotency key and of the body of the request that took it, with a dot between them."""

    worker_id: str
    expires_at: Millis
    heard_at: Millis = 0
    key: str | None = None


LEASE = "lease"
"""The type of a failure that is a lease which ran out."""


class Failure(msgspec.Struct, frozen=True, array_like=True):
    """Why an attempt is to be made again, in short: a row keeps it."""

    message: str
    type: str | None = None


class Released(msgspec.Struct, frozen=True, array_like=True):
    """How the last lease ended, for whoever claims next: given up by its worker, or run out; ``failure``: and
    that counts."""

    worker_id: str
    attempt: int
    failure: Failure | None = None

    @property
    def ran_out(self) -> bool:
        """Whether the run was taken back. No failure that a worker tells of is of that type here."""
        return self.failure is not None and self.failure.type == LEASE


class Push(msgspec.Struct, frozen=True, array_like=True):
    """That the run is to be pushed to its workflow's target whenever it is pending. ``taken`` counts the
    hints that the target took since the run came to be so, ``refused`` those in a row that it did not."""

    taken: int = 0
    refused: int = 0


class TriggeredBy(msgspec.Struct, frozen=True, array_like=True):
    """The ending that started this run."""

    run_id: str
    workflow: str
    event: str
    attempt: int


class Ending(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """How the current attempt ended. Output and error stand in the log entry at ``seq``; ``error``: there is
    one. ``key`` and ``body`` tell the request that settled it from every other: digests of its idempotency
    key and of its canonical body. ``apart``: its settlement has an item of its own."""

    seq: int
    at: Millis
    error: bool = False
    code: int | None = None
    signal: str | None = None
    resumable: bool = False
    session_ref: str | None = None
    key: str | None = None
    body: str | None = None
    apart: bool = False


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run. Times are epoch milliseconds.

    ``birth`` marks this life of the id, ``rev`` its last write (every write is conditional on the ``rev`` it
    read). ``input`` is None when it stands in the log's item 0 instead (``input_in_log``). ``ending`` is None
    until the attempt settles. ``due_at`` is a lower bound of when the sweep has to look. ``settlement`` is
    that of the present attempt; ``apart`` counts those in items of their own for which the run must be kept.
    ``announce`` has the live publisher called, for an ending or a push. ``strikes`` counts the sweep's
    failures with it in a row. ``failures`` counts the leases that ran out and the failures to be tried again,
    since the start or the last resume. ``by`` is who started it, None where nobody was known, or where it was
    an ending, an event or the run before it.
    """

    namespace: str
    id: str
    workflow: str
    birth: str
    rev: str
    state: State
    mode: Mode
    created_at: Millis
    updated_at: Millis
    started_at: Millis | None = None
    available_at: Millis | None = None
    attempt: int = 1
    claimed: bool = False
    failures: int = 0
    priority: int = DEFAULT_PRIORITY
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    inactivity_timeout_seconds: float = 0
    context_ref: str | None = None
    agent_id: str | None = None
    tags: tuple[str, ...] = ()
    input: bytes | None = None
    input_in_log: bool = False
    traceparent: str | None = None
    depth: int = 0
    triggered_by: TriggeredBy | None = None
    continued_from: str | None = None
    continued_as: str | None = None
    cancel: CancelRequest | None = None
    lease: Lease | None = None
    released: Released | None = None
    push: Push | None = None
    ending: Ending | None = None
    alias_id: str | None = None
    start_body: str | None = None
    by: str | None = None
    resume_key: str | None = None
    suspend_key: str | None = None
    wait: Wait | None = None
    chain: Chain | None = None
    settlement: Settlement = NOTHING
    apart: int = 0
    announce: bool = False
    strikes: int = 0
    due_at: Millis | None = None
    expires_at: Millis | None = None

    def expired(self, now: Millis) -> bool:
        """Past its retention, or deleted: it reads as gone."""
        return self.expires_at is not None and self.expires_at <= now

    def driven(self, now: Millis) -> bool:
        """Someone performs it now: it is running, and attached or under an unexpired lease."""
        if self.state is not State.RUNNING:
            return False
        return self.mode is Mode.ATTACHED or (self.lease is not None and self.lease.expires_at > now)

    @property
    def fenced(self) -> bool:
        """Whether drivers must name their attempt."""
        return self.claimed or self.attempt > 1

    def check_fence(self, attempt: int | None) -> None:
        """Raise unless ``attempt`` is this run's, or none is needed (I6)."""
        if attempt is None:
            if self.fenced:
                raise InvalidRequest.at(
                    ["header", "Baton-Attempt"], "required: this run has been claimed or resumed"
                )
        elif attempt != self.attempt:
            raise LeaseLost(f"the run is at attempt {self.attempt}, not {attempt}", run=self)

    @property
    def links(self) -> Chain:
        """Where it stands among the runs that continue each other."""
        return self.chain or Chain(self.id, 1)

    @property
    def kept(self) -> bool:
        """Something is owed, unresolved, waiting or buffered: it must neither expire nor be deleted (I5)."""
        return self.settlement.holding or self.apart > 0

    def initial_tail(self, seen_at: Millis) -> Tail:
        """The end of the log while no item of it exists: entry 0 is derived from this row."""
        return Tail(
            birth=self.birth,
            next=1,
            header=Header(attempt=1),
            fenced=self.fenced,
            newest_ts=self.created_at,
            seen_at=seen_at,
        )

    @property
    def queued(self) -> bool:
        """Whether it waits to be claimed."""
        return self.state is State.PENDING and self.mode is Mode.QUEUED

    def watched_until(self, last_heard: Millis) -> Millis | None:
        """When the inactivity watchdog strikes if nothing is heard after ``last_heard``; None: it is off."""
        if self.state is not State.RUNNING or not self.inactivity_timeout_seconds:
            return None
        return last_heard + millis(self.inactivity_timeout_seconds)

    def forced_at(self, grace_seconds: float) -> Millis | None:
        """When a latched cancel is forced; None: none is, or the run has settled."""
        if self.cancel is None or self.state.terminal:
            return None
        return self.cancel.at + millis(grace_seconds)


class Step(msgspec.Struct, frozen=True):
    """What a decision writes in one transaction: the row as it is to be, the entries that go into the log
    with it, and what else belongs to it (each a value that the store knows to write)."""

    run: Run
    said: tuple[Entry, ...] = ()
    also: tuple[Any, ...] = ()
