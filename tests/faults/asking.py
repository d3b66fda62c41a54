"""Requests as the handlers would hand them to the services, and the ledger of what was acknowledged."""

from __future__ import annotations

from typing import Any

import msgspec

from baton.domain.controlling import Cancel
from baton.domain.events import Post, Posted
from baton.domain.leasing import Claim, Release, Renew
from baton.domain.log import Entry, Producer, Tail, entry
from baton.domain.payload import canonical, digest
from baton.domain.run import Run
from baton.domain.settling import Finish, Outcome
from baton.domain.starting import Start
from baton.domain.states import Mode, State
from baton.domain.waiting import Suspend
from baton.services.appends import Append, Appended
from baton.services.claims import Wanted
from baton.services.control import Resumed
from baton.services.details import RunDetail
from baton.services.finishes import Finished
from baton.services.publishing import Published
from baton.services.starts import Started
from tests.faults.world import Container, World

NAMESPACE = "tenant"
WORKFLOW = "build"
LARGE = {"text": "input that does not fit into a row. " * 40}


def a_start(input_: Any = None, **given: Any) -> Start:
    """A start whose body is told from another by all that is in it but the key."""
    body = digest(canonical([input_, {name: str(value) for name, value in given.items() if name != "key"}]))
    raw = canonical(input_)
    return Start(namespace=NAMESPACE, workflow=given.pop("workflow", WORKFLOW), body=body, input=raw, **given)


def start(container: Container, input_: Any = None, **given: Any) -> Started:
    return container.runtime.starts.start(a_start(input_, **given))


def running(container: Container, input_: Any = None, **given: Any) -> str:
    """The id of a run that was just started."""
    return start(container, input_, **given).detail.run.id


def queued(container: Container, **given: Any) -> str:
    return running(container, mode=Mode.QUEUED, **given)


def note(container: Container) -> None:
    """Let the container know that the catalog names the workflow: its starts write the run alone then."""
    runtime = container.runtime
    runtime.starts._context.catalog.note(NAMESPACE, WORKFLOW, runtime.clock.now())


def append(
    world: World,
    container: Container,
    run_id: str,
    *marks: str,
    producer: Producer | None = None,
    attempt: int | None = None,
    echo: Tail | None = None,
) -> Appended:
    """Say the marks, one entry each, and enter into the world's ledger that they were acknowledged."""
    entries = [said(mark) for mark in marks]
    done = container.runtime.appends.append(
        Append(
            namespace=NAMESPACE,
            run_id=run_id,
            entries=entries,
            attempt=attempt,
            producer=producer,
            echo=echo,
        )
    )
    if not done.duplicate:
        world.said.append((run_id, done.tail.birth, done.tail.next - len(entries), entries))
    return done


def said(mark: str) -> Entry:
    return entry("stdout", {"mark": mark})


def marks(entries: list[Entry]) -> list[str]:
    """The marks among the entries of a log, in its order."""
    decoded = [msgspec.json.decode(entry.data) for entry in entries if entry.type == "stdout"]
    return [data["mark"] for data in decoded]


def an_outcome(
    status: State = State.COMPLETED, *, output: Any = None, key: str | None = None, **given: Any
) -> Outcome:
    raw = canonical(output)
    body = digest(canonical([status.value, output, {name: str(value) for name, value in given.items()}]))
    return Outcome(status=status, output=raw, key=key, body=body, **given)


def finish(container: Container, run_id: str, outcome: Outcome, *, attempt: int | None = None) -> Finished:
    command = Finish(outcome=outcome, attempt=attempt)
    return container.runtime.finishes.finish(NAMESPACE, run_id, command)


def fail(container: Container, run_id: str, *, attempt: int | None = None) -> Finished:
    """Settle it failed, resumable."""
    outcome = an_outcome(State.FAILED, error={"message": "it broke"}, resumable=True)
    return finish(container, run_id, outcome, attempt=attempt)


def cancel(
    container: Container, run_id: str, *, reason: str | None = "why not", force: bool = False
) -> RunDetail:
    return container.runtime.control.cancel(NAMESPACE, run_id, Cancel(reason=reason, force=force))


def resume(container: Container, run_id: str, *, key: str | None = None, force: bool = False) -> Resumed:
    return container.runtime.control.resume(NAMESPACE, run_id, force=force, key=key)


def claim(
    container: Container, worker: str = "w1", *, key: str | None = None, most: int = 1, wait: float = 0
) -> list[RunDetail]:
    """Claim what waits of the workflow, for a minute."""
    command = Claim(worker_id=worker, lease_seconds=60, key=key, body=f"{worker} {most}")
    wanted = Wanted(namespace=NAMESPACE, workflows=(WORKFLOW,), claim=command, most=most, wait_seconds=wait)
    return container.runtime.claims.claim(wanted)


def claim_one(container: Container, run_id: str, worker: str = "w1", *, key: str | None = None) -> RunDetail:
    command = Claim(worker_id=worker, lease_seconds=60, key=key, body=worker)
    return container.runtime.claims.claim_one(NAMESPACE, run_id, command)


def renew(container: Container, run_id: str, worker: str = "w1", *, attempt: int = 1) -> Run:
    command = Renew(worker_id=worker, attempt=attempt)
    return container.runtime.leases.renew(NAMESPACE, run_id, command)


def release(
    container: Container, run_id: str, worker: str = "w1", *, attempt: int = 1, **how: Any
) -> RunDetail:
    command = Release(worker_id=worker, attempt=attempt, **how)
    return container.runtime.leases.release(NAMESPACE, run_id, command)


def suspend(
    container: Container, run_id: str, *, key: str | None = None, attempt: int | None = None, **what: Any
) -> RunDetail:
    """Let it wait for one of `until`, `run_id` (as `run`) and `event`."""
    command = Suspend(
        until=what.get("until"),
        run_id=what.get("run"),
        event=what.get("event"),
        attempt=attempt,
        key=key,
        body=digest(canonical(what)),
    )
    return container.runtime.waits.suspend(NAMESPACE, run_id, command)


def post(container: Container, name: str, payload: Any = None, *, id: str | None = None) -> Posted:
    wish = Post(namespace=NAMESPACE, name=name, payload=canonical(payload), id=id)
    return container.runtime.events.publish(wish)


def publish(container: Container, run_id: str, attempt: int | None = None) -> Published:
    """Deliver what its ending owes, and wake who waits for it."""
    return container.runtime.publisher.publish(NAMESPACE, run_id, attempt)


def delete(container: Container, run_id: str, *, by: str | None = None) -> None:
    container.runtime.runs.delete(NAMESPACE, run_id, by=by)


def get(container: Container, run_id: str) -> RunDetail:
    return container.runtime.runs.get(NAMESPACE, run_id)


def read(container: Container, run_id: str, offset: str = "-1") -> list[Entry]:
    """The log from an offset to its end, as a reader gets it."""
    streams = container.runtime.streams
    chunk = streams.read(streams.open(NAMESPACE, run_id, offset))
    return [Entry(message.type, message.data) for message in chunk.messages]
