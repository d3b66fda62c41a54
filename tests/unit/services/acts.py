"""What drivers and readers do, in few words."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from baton.bootstrap import Runtime
from baton.domain.leasing import Claim, Release, Renew
from baton.domain.log import Entry, Header, Message, Producer, entry, pack
from baton.domain.run import Run, Step
from baton.domain.settling import Finish, Outcome
from baton.domain.states import State
from baton.services.appends import Append, Appended
from baton.services.claims import Wanted
from baton.services.details import RunDetail
from baton.services.finishes import Finished
from baton.services.streams import Chunk
from baton.store.dynamo import Write
from baton.store.log import LogItem, LogStore
from baton.store.runs import Changed
from tests.unit.house import NS, House


def append(runtime: Runtime, run_id: str, *said: Any, **how: Any) -> Appended:
    """Append entries: an Entry as it is, anything else as the data of a ``note``."""
    entries = [each if isinstance(each, Entry) else entry("note", each) for each in said]
    return runtime.appends.append(Append(namespace=NS, run_id=run_id, entries=entries, **how))


def finish(
    runtime: Runtime,
    run_id: str,
    status: State = State.COMPLETED,
    *,
    attempt: int | None = None,
    **outcome: Any,
) -> Finished:
    """Finish a run."""
    command = Finish(outcome=Outcome(status=status, **outcome), attempt=attempt)
    return runtime.finishes.finish(NS, run_id, command)


def fail(runtime: Runtime, run_id: str, **outcome: Any) -> Finished:
    """Let a run fail so that it may be resumed."""
    return finish(runtime, run_id, State.FAILED, **{"resumable": True, **outcome})


def claim(
    runtime: Runtime,
    *workflows: str,
    worker: str = "w1",
    seconds: float = 60,
    key: str | None = None,
    body: str = "body",
    namespace: str = NS,
    **wish: Any,
) -> list[RunDetail]:
    """Claim runs, by default one of ``build``."""
    asked = Claim(worker_id=worker, lease_seconds=seconds, key=key, body=body)
    wanted = Wanted(namespace=namespace, workflows=workflows or ("build",), claim=asked, **wish)
    return runtime.claims.claim(wanted)


def claim_one(runtime: Runtime, run_id: str, *, worker: str = "w1", **claim: Any) -> RunDetail:
    """Claim one run."""
    asked = Claim(**{"worker_id": worker, "lease_seconds": 60, **claim})
    return runtime.claims.claim_one(NS, run_id, asked)


def renew(
    runtime: Runtime, run_id: str, *, worker: str = "w1", attempt: int = 1, seconds: float | None = None
) -> Run:
    """Hold a run for longer."""
    return runtime.leases.renew(NS, run_id, Renew(worker_id=worker, attempt=attempt, lease_seconds=seconds))


def release(runtime: Runtime, run_id: str, *, worker: str = "w1", attempt: int = 1, **how: Any) -> RunDetail:
    """Give a run back."""
    return runtime.leases.release(NS, run_id, Release(worker_id=worker, attempt=attempt, **how))


def row(runtime: Runtime, run_id: str) -> Run:
    """The run as it stands."""
    return runtime.runs.get(NS, run_id).run


def read(runtime: Runtime, run_id: str, offset: str = "-1") -> Chunk:
    """What one answer holds from an offset on."""
    return runtime.streams.read(runtime.streams.open(NS, run_id, offset))


def replay(runtime: Runtime, run_id: str) -> list[Message]:
    """The whole log, answer by answer."""
    messages: list[Message] = []
    offset = "-1"
    while True:
        chunk = read(runtime, run_id, offset)
        messages += chunk.messages
        if chunk.up_to_date:
            return messages
        offset = str(chunk.next)


def types_of(messages: list[Message]) -> list[str]:
    """What was said, by type, in order; no sequence number is missing."""
    assert [message.seq for message in messages] == list(range(len(messages)))
    return [message.type for message in messages]


def producer(seq: int, id_: str = "p", epoch: int = 0) -> Producer:
    """A producer's mark on its ``seq``-th batch."""
    return Producer(id_, epoch, seq)


def put_row(house: House, run_id: str, **change: Any) -> None:
    """Bring a run into a state at once, without all that leads to it."""
    store = house.container()._context.runs
    before = store.get(NS, run_id)
    assert isinstance(before, Run)
    after = replace(before, **{"rev": f"{before.rev}+", **change})
    said = _suspended(house, before) if after.state is State.SUSPENDED else None
    assert store.change(before, Step(after), said) is Changed.APPLIED


def _suspended(house: House, run: Run) -> Write:
    """What the log says of a run that waits, in the first free slot of one that has said nothing."""
    item = LogItem(
        birth=run.birth,
        slot=1,
        count=1,
        header=Header().following("suspended", 1),
        ts=run.created_at,
        nonce="suspended",
        body=pack([entry("suspended", {})]),
    )
    return LogStore(house.dynamo(), house.settings.log_table).put(run.namespace, run.id, item)
