"""Domain values as the contract spells them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import UNSET, Raw

from baton.api import answers
from baton.domain.clock import Millis, rfc3339
from baton.domain.payload import NULL
from baton.domain.run import CancelRequest, Lease, Released, TriggeredBy

if TYPE_CHECKING:
    from baton.domain.events import Posted
    from baton.services.details import RunDetail
    from baton.services.republish import Republished
    from baton.services.runs import RunsPage
    from baton.services.stats import Stats
    from baton.services.surroundings import Awaiting, Delivered, Surroundings

_NULL = Raw(NULL)


def run(detail: RunDetail) -> answers.Run:
    """A run, every field of it."""
    of, ending = detail.run, detail.run.ending
    return answers.Run(
        id=of.id,
        namespace=of.namespace,
        workflow=of.workflow,
        state=of.state,
        attempt=of.attempt,
        mode=of.mode,
        context_ref=of.context_ref,
        agent_id=of.agent_id,
        tags=of.tags,
        input=_json(detail.input),
        output=_json(detail.output),
        error=_json(detail.error),
        code=ending.code if ending else None,
        signal=ending.signal if ending else None,
        resumable=ending is not None and ending.resumable,
        session_ref=ending.session_ref if ending else None,
        priority=of.priority,
        created_at=rfc3339(of.created_at),
        started_at=_time(of.started_at),
        updated_at=rfc3339(of.updated_at),
        ended_at=rfc3339(ending.at) if ending else None,
        available_at=_time(of.available_at),
        inactivity_timeout_seconds=of.inactivity_timeout_seconds,
        max_attempts=of.max_attempts,
        cancel_requested=cancel_requested(of.cancel),
        lease=_lease(of.lease),
        triggered_by=_trigger(of.triggered_by),
        depth=of.depth,
        continued_from=of.continued_from,
        continued_as=of.continued_as,
        next_offset=None if detail.next_offset is None else str(detail.next_offset),
        traceparent=of.traceparent,
    )


def detail(around: Surroundings) -> answers.RunDetail:
    """A run and all around it."""
    return answers.RunDetail(
        run(around.detail),
        deliveries=tuple(_delivery(each) for each in around.deliveries),
        subscribers=around.subscribers,
        waits_for=_waits_for(around),
        awaited_by=tuple(_awaiting(each) for each in around.awaited_by),
        released=_released(around.detail.run.released),
    )


def published(event: Posted) -> answers.Published:
    """What an event did, when it was last recorded."""
    started = tuple(answers.Handed(subscriber, run_id) for subscriber, run_id in event.started)
    return answers.Published(event.id, started, event.runs_woken, event.kept)


def page(runs: RunsPage, token: Callable[[str], str]) -> answers.RunsPage:
    """A page of a list; ``token`` makes one of the place where the list goes on."""
    return answers.RunsPage(
        [run(detail) for detail in runs.runs], UNSET if runs.after is None else token(runs.after)
    )


def _waits_for(around: Surroundings) -> tuple[answers.Awaited, ...]:
    wait = around.detail.run.wait
    if wait is None:
        return ()
    if wait.until is not None:
        return (answers.Awaited("time", until=rfc3339(wait.until)),)
    if wait.run_id is not None:
        state = UNSET if around.target is None else around.target
        return (answers.Awaited("run", run_id=wait.run_id, run_state=state),)
    return (answers.Awaited("event", event=UNSET if wait.event is None else wait.event),)


def _awaiting(waiter: Awaiting) -> answers.Awaiting:
    return answers.Awaiting(waiter.run_id, waiter.run_state)


def _delivery(made: Delivered) -> answers.Delivery:
    return answers.Delivery(
        subscriber=made.subscriber,
        event=made.event,
        attempt=made.attempt,
        state=made.state.value,
        run_id=made.run_id,
        run_state=made.run_state,
        error=made.error,
        at=rfc3339(made.at),
    )


def republished(done: Republished, token: Callable[[str], str]) -> answers.Republished:
    """What a republish came to; ``token`` makes one of the place where it goes on."""
    return answers.Republished(
        runs=done.runs,
        created=done.created,
        existing=done.existing,
        re_owed=done.re_owed,
        skipped=done.skipped,
        refused=[answers.Refused(*each) for each in done.refused],
        busy=done.busy,
        next_token=UNSET if done.place is None else token(done.place),
    )


def stats(read: Stats) -> answers.Stats:
    """What is owed and due."""
    return answers.Stats(
        owed=read.owed,
        oldest_owed_seconds=read.oldest_owed_seconds,
        due=read.due,
        owing=[
            answers.Owing(
                run_id=each.run_id,
                workflow=each.workflow,
                attempt=each.attempt,
                event=each.event,
                subscribers=each.subscribers,
                since=rfc3339(each.since),
                why=each.why,
            )
            for each in read.owing
        ],
        complete=read.complete,
    )


def cancel_requested(request: CancelRequest | None) -> answers.CancelRequested | None:
    """A latched intent, if there is one."""
    return None if request is None else answers.CancelRequested(rfc3339(request.at), request.reason)


def _lease(lease: Lease | None) -> answers.LeaseHeld | None:
    return None if lease is None else answers.LeaseHeld(lease.worker_id, rfc3339(lease.expires_at))


def _released(last: Released | None) -> answers.Released | None:
    if last is None:
        return None
    why = None if last.failure is None else answers.LeaseFailure(last.failure.message, last.failure.type)
    return answers.Released(last.worker_id, last.attempt, why)


def _trigger(by: TriggeredBy | None) -> answers.TriggeredBy | None:
    return None if by is None else answers.TriggeredBy(by.run_id, by.workflow, by.event, by.attempt)


def _json(canonical: bytes | None) -> Raw:
    return _NULL if canonical is None else Raw(canonical)


def _time(at: Millis | None) -> str | None:
    return None if at is None else rfc3339(at)
