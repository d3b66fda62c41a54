"""Starting: from a command to the first row of a run, and whose start it was when one exists already."""

from __future__ import annotations

import msgspec

from baton.domain.catalog import Workflow
from baton.domain.clock import Millis
from baton.domain.log import Entry, Header, Tail, entry
from baton.domain.payload import (
    INLINE_INPUT,
    MAX_HANDOFF_INPUT,
    MAX_PAYLOAD,
    NULL,
    check_size,
    fits_row,
)
from baton.domain.queueing import pushed_to, to_queue
from baton.domain.run import (
    DEFAULT_INACTIVITY_SECONDS,
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_PRIORITY,
    Push,
    Run,
    TriggeredBy,
)
from baton.domain.settlement import Chain
from baton.domain.states import Mode, State
from baton.errors import IdempotencyMismatch, InvalidRequest


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """A wish for a run. ``input`` is canonical JSON; ``body`` is the digest of the whole request's; ``key``
    is the caller's idempotency key as sent; ``by`` is who wishes it, where somebody is known."""

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
    by: str | None = None


class Born(msgspec.Struct, frozen=True):
    """A run about to be written: its row, and the entries of its log's item 0, if it needs one: where the row
    can't hold the input, or more is to be said at once."""

    run: Run
    first: tuple[Entry, ...] = ()

    @property
    def tail(self) -> Tail:
        """The log's end once this is written."""
        return self.run.initial_tail(self.run.created_at)


def bear(
    command: Start,
    registered: Workflow | None = None,
    *,
    run_id: str,
    birth: str,
    rev: str,
    alias_id: str | None,
    now: Millis,
) -> Born:
    """The run that ``command`` asks for, under the id it gets. Raises PayloadTooLarge, InvalidRequest.

    What it leaves open is as ``registered``, its workflow in the catalog, has it: queued where there is a
    target, and pushed where that is no worker. ``alias_id`` is where the alias of the command's key stands,
    if it has one.
    """
    check_size("input", len(command.input), MAX_PAYLOAD)
    targeted = registered is not None and registered.target is not None
    mode = command.mode or (Mode.QUEUED if targeted else Mode.ATTACHED)
    if command.available_at is not None and command.available_at > now and mode is not Mode.QUEUED:
        raise InvalidRequest.at(["body", "available_at"], "a start in the future needs mode 'queued'")
    attached = mode is Mode.ATTACHED
    watch = command.inactivity_timeout_seconds
    if watch is None and registered is not None:
        watch = registered.inactivity_timeout_seconds
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
        priority=DEFAULT_PRIORITY if command.priority is None else command.priority,
        max_attempts=command.max_attempts or _max_attempts(registered),
        inactivity_timeout_seconds=watch,
        context_ref=command.context_ref,
        agent_id=command.agent_id,
        tags=command.tags,
        input=None if in_log else command.input,
        input_in_log=in_log,
        traceparent=command.traceparent,
        push=None if attached or pushed_to(registered) is None else Push(),
        alias_id=alias_id,
        start_body=command.body,
        by=command.by,
    )
    run = msgspec.structs.replace(run, due_at=run.watched_until(now))
    if not attached:
        run = to_queue(run, max(now, command.available_at or now))
    return Born(run, (start_entry(run, command.input),) if in_log else ())


class HandOff(msgspec.Struct, frozen=True, kw_only=True):
    """A run that Baton starts itself, for an ending, an event or a window. ``input`` is canonical JSON;
    ``run_id`` is derived from what starts it, so that it is started once; ``pushed``: its workflow has a
    target that is no worker."""

    namespace: str
    workflow: str
    run_id: str
    input: bytes
    triggered_by: TriggeredBy | None
    depth: int
    traceparent: str | None = None
    inactivity_timeout_seconds: float | None = None
    max_attempts: int | None = None
    pushed: bool = False


def bear_handed(wish: HandOff, *, birth: str, rev: str, now: Millis) -> Born:
    """The queued run of a hand-off. Raises PayloadTooLarge."""
    check_size("input", len(wish.input), MAX_HANDOFF_INPUT)
    in_log = not fits_row(wish.input)
    run = Run(
        namespace=wish.namespace,
        id=wish.run_id,
        workflow=wish.workflow,
        birth=birth,
        rev=rev,
        state=State.PENDING,
        mode=Mode.QUEUED,
        created_at=now,
        updated_at=now,
        max_attempts=wish.max_attempts or DEFAULT_MAX_ATTEMPTS,
        inactivity_timeout_seconds=wish.inactivity_timeout_seconds or 0,
        input=None if in_log else wish.input,
        input_in_log=in_log,
        traceparent=wish.traceparent,
        depth=wish.depth,
        triggered_by=wish.triggered_by,
        push=Push() if wish.pushed else None,
    )
    return Born(to_queue(run, now), (start_entry(run, wish.input),) if in_log else ())


class Succession(msgspec.Struct, frozen=True, kw_only=True):
    """A wish that a run go on as a new one. ``input`` is canonical JSON; ``run_id`` None: Baton names it."""

    input: bytes = NULL
    run_id: str | None = None


def bear_successor(
    run: Run, wish: Succession, *, birth: str, rev: str, now: Millis, grace_seconds: float
) -> Born:
    """The run that ``run`` goes on as: its like in everything but the input. An intent to cancel goes on too.
    Raises PayloadTooLarge."""
    check_size("input", len(wish.input), MAX_PAYLOAD)
    attached = run.mode is Mode.ATTACHED
    in_log = len(wish.input) > INLINE_INPUT or run.cancel is not None
    links = run.links
    born = Run(
        namespace=run.namespace,
        id=wish.run_id or birth,
        workflow=run.workflow,
        birth=birth,
        rev=rev,
        state=State.RUNNING if attached else State.PENDING,
        mode=run.mode,
        created_at=now,
        updated_at=now,
        started_at=now if attached else None,
        priority=run.priority,
        max_attempts=run.max_attempts,
        inactivity_timeout_seconds=run.inactivity_timeout_seconds,
        context_ref=run.context_ref,
        agent_id=run.agent_id,
        tags=run.tags,
        input=None if in_log else wish.input,
        input_in_log=in_log,
        traceparent=run.traceparent,
        depth=run.depth,
        triggered_by=run.triggered_by,
        continued_from=run.id,
        chain=Chain(links.first_run_id, links.length + 1),
        cancel=run.cancel,
        push=run.push,
    )
    due = (born.watched_until(now), born.forced_at(grace_seconds))
    born = msgspec.structs.replace(born, due_at=min((at for at in due if at is not None), default=None))
    if not attached:
        born = to_queue(born, now)
    if not in_log:
        return Born(born)
    said = [start_entry(born, wish.input)]
    if run.cancel is not None:
        said.append(entry("cancel", {"reason": run.cancel.reason, "force": False}))
    return Born(born, tuple(said))


def _max_attempts(registered: Workflow | None) -> int:
    return (registered and registered.max_attempts) or DEFAULT_MAX_ATTEMPTS


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
        by=run.by,
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
