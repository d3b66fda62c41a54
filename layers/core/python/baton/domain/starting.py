"""Starting: from a command to the first row of a run, and whose start it was when one exists already."""

from __future__ import annotations

import msgspec

from baton.domain.clock import Millis
from baton.domain.log import Entry, Header, Tail, entry
from baton.domain.payload import INLINE_INPUT, MAX_PAYLOAD, NULL, check_size
from baton.domain.run import DEFAULT_INACTIVITY_SECONDS, DEFAULT_MAX_ATTEMPTS, DEFAULT_PRIORITY, Run
from baton.domain.states import Mode, State
from baton.errors import IdempotencyMismatch, InvalidRequest


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """A wish for a run. ``input`` is canonical JSON; ``body`` is the digest of the whole request's; ``key``
    is the caller's idempotency key as sent."""

    namespace: str
    workflow: str
    body: str
    run_id: str | None = None
    key: str | None = None
    input: bytes = NULL
    context_ref: str | None = None
    agent_id: str | None = None
    tags: tuple[str, ...] = ()
    mode: Mode | None = None
    inactivity_timeout_seconds: float | None = None
    max_attempts: int | None = None
    available_at: Millis | None = None
    priority: int | None = None
    traceparent: str | None = None


class Born(msgspec.Struct, frozen=True):
    """A run about to be written: its row, and the first log entry where the row can't hold the input."""

    run: Run
    first: Entry | None

    @property
    def tail(self) -> Tail:
        """The log's end once this is written."""
        return self.run.initial_tail(self.run.created_at)


def bear(command: Start, *, run_id: str, birth: str, rev: str, alias_id: str | None, now: Millis) -> Born:
    """The run that ``command`` asks for, under the id it gets. Raises PayloadTooLarge, InvalidRequest.

    ``alias_id`` is where the alias of the command's key stands, if it has one.
    """
    check_size("input", len(command.input), MAX_PAYLOAD)
    mode = command.mode or Mode.ATTACHED
    if command.available_at is not None and command.available_at > now and mode is not Mode.QUEUED:
        raise InvalidRequest.at(["body", "available_at"], "a start in the future needs mode 'queued'")
    attached = mode is Mode.ATTACHED
    watch = command.inactivity_timeout_seconds
    if watch is None:
        watch = DEFAULT_INACTIVITY_SECONDS if attached else 0
    in_log = len(command.input) > INLINE_INPUT
    run = Run(
        namespace=command.namespace,
        id=run_id,
        workflow=command.workflow,
        birth=birth,
        rev=rev,
        state=State.RUNNING if attached else State.PENDING,
        mode=mode,
        created_at=now,
        updated_at=now,
        started_at=now if attached else None,
        available_at=None if attached else max(now, command.available_at or now),
        priority=DEFAULT_PRIORITY if command.priority is None else command.priority,
        max_attempts=command.max_attempts or DEFAULT_MAX_ATTEMPTS,
        inactivity_timeout_seconds=watch,
        context_ref=command.context_ref,
        agent_id=command.agent_id,
        tags=command.tags,
        input=None if in_log else command.input,
        input_in_log=in_log,
        traceparent=command.traceparent,
        alias_id=alias_id,
        start_body=command.body,
    )
    run = msgspec.structs.replace(run, due_at=run.watched_until(now))
    return Born(run, start_entry(run, command.input) if in_log else None)


def start_entry(run: Run, input_: bytes) -> Entry:
    """Entry 0 of the log: derived from the row while the input stands there, else the log's item 0."""
    return entry(
        "start",
        {
            "workflow": run.workflow,
            "input": msgspec.Raw(input_),
            "context_ref": run.context_ref,
            "agent_id": run.agent_id,
        },
    )


FIRST_HEADER = Header(attempt=1)
"""The header of log item 0."""


class Alias(msgspec.Struct, frozen=True):
    """What stands at the id derived from a key that came with a run id of its own: the life that the key
    made."""

    run_id: str
    birth: str
    rev: str


def check_same_start(existing: Run, command: Start) -> None:
    """Raise IdempotencyMismatch when the key that made ``existing`` comes with another body (I7)."""
    if existing.start_body != command.body:
        raise IdempotencyMismatch(
            "this Idempotency-Key was used with another body: repeat the first body, or take a new key",
            run=existing,
        )
