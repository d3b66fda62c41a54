"""Items of the runs table: what a run's row, a key alias and a purge item look like in DynamoDB.

Attribute names are short and defaults are left out, because a row is to stay within 1 KB: each write of it
costs its size. Small compounds are JSON text, not maps: one type, one length, no surprises.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple, TypeVar

import msgspec
from pynamodb.attributes import Attribute, BinaryAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.models import Model

from baton.domain.catalog import ending
from baton.domain.clock import Millis
from baton.domain.handoff import in_row
from baton.domain.payload import INLINE_INPUT
from baton.domain.run import (
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_PRIORITY,
    MAX_PRIORITY,
    CancelRequest,
    Ending,
    Lease,
    Push,
    Released,
    Run,
    TriggeredBy,
)
from baton.domain.settlement import NOTHING, Chain, Settlement, Wait
from baton.domain.states import Mode, State
from baton.store.log import deflate, inflated

T = TypeVar("T")

ROW = "run"
PURGE = "purge"
MAX_CREATED = 10**13 - 1
PLACES = 10**13
"""Places in a queue for each priority: a millisecond each."""
TTL_MARGIN_SECONDS = 3600
"""DynamoDB collects a run this long after it reads as gone."""


class JsonAttribute(Attribute[T]):
    """A msgspec value as JSON text."""

    attr_type = "S"

    def __init__(self, type_: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._type = type_
        self._decoder = msgspec.json.Decoder(type_)

    def __deepcopy__(self, memo: dict[int, Any]) -> JsonAttribute[T]:
        return self  # decoders don't copy, and need not: attributes are read-only once bound

    def serialize(self, value: T) -> str:
        return msgspec.json.encode(value).decode()

    def deserialize(self, value: str) -> T:
        decoded: T = self._decoder.decode(value)
        return decoded


class RunsItem(Model):
    """Any item of the runs table. ``k`` is ``<namespace>#<id>``; a purge item's is
    ``<namespace>#<id>#<birth>``."""

    k = UnicodeAttribute(hash_key=True)
    s = UnicodeAttribute(range_key=True)
    rev = UnicodeAttribute(attr_name="rv")
    birth = UnicodeAttribute(attr_name="b", null=True)
    due_shard = UnicodeAttribute(attr_name="dk", null=True)
    due_at = NumberAttribute(attr_name="du", null=True)
    alias_of = UnicodeAttribute(attr_name="al", null=True)
    """On a key alias: the run id that its key made; ``birth`` says in which life."""
    alias = UnicodeAttribute(attr_name="ka", null=True)
    """On a purge item: the derived id where the old life's key alias stands."""

    workflow = UnicodeAttribute(attr_name="wf", null=True)
    """On items that have no place in a listing."""
    workflow_key = UnicodeAttribute(attr_name="lk", null=True)
    created_key = UnicodeAttribute(attr_name="lc", null=True)
    context_key = UnicodeAttribute(attr_name="ck", null=True)
    state = UnicodeAttribute(attr_name="st", null=True)
    mode = UnicodeAttribute(attr_name="md", null=True)
    attempt = NumberAttribute(attr_name="at", null=True)
    claimed = NumberAttribute(attr_name="cl", null=True)
    failures = NumberAttribute(attr_name="fa", null=True)
    updated_at = NumberAttribute(attr_name="ua", null=True)
    started_at = NumberAttribute(attr_name="sa", null=True)
    available_at = NumberAttribute(attr_name="av", null=True)
    priority = NumberAttribute(attr_name="pr", null=True)
    max_attempts = NumberAttribute(attr_name="ma", null=True)
    inactivity_timeout = NumberAttribute(attr_name="it", null=True)
    agent_id = UnicodeAttribute(attr_name="ag", null=True)
    tags = JsonAttribute[tuple[str, ...]](tuple[str, ...], attr_name="tg", null=True)
    input = BinaryAttribute(attr_name="in", null=True, legacy_encoding=False)
    input_codec = NumberAttribute(attr_name="iz", null=True)
    traceparent = UnicodeAttribute(attr_name="tp", null=True)
    depth = NumberAttribute(attr_name="dp", null=True)
    triggered_by = JsonAttribute[TriggeredBy](TriggeredBy, attr_name="tb", null=True)
    continued_from = UnicodeAttribute(attr_name="cf", null=True)
    continued_as = UnicodeAttribute(attr_name="ct", null=True)
    cancel = JsonAttribute[CancelRequest](CancelRequest, attr_name="cx", null=True)
    lease = JsonAttribute[Lease](Lease, attr_name="ls", null=True)
    released = JsonAttribute[Released](Released, attr_name="re", null=True)
    push = JsonAttribute[Push](Push, attr_name="pu", null=True)
    queue_key = UnicodeAttribute(attr_name="qk", null=True)
    queue_place = NumberAttribute(attr_name="qp", null=True)
    ending = JsonAttribute[Ending](Ending, attr_name="en", null=True)
    alias_id = UnicodeAttribute(attr_name="sk", null=True)
    start_body = UnicodeAttribute(attr_name="sb", null=True)
    by = UnicodeAttribute(null=True)
    resume_key = UnicodeAttribute(attr_name="rk", null=True)
    suspend_key = UnicodeAttribute(attr_name="wk", null=True)
    wait = JsonAttribute[Wait](Wait, attr_name="wa", null=True)
    chain = JsonAttribute[Chain](Chain, attr_name="ch", null=True)
    settlement = JsonAttribute[Settlement | None](Settlement, attr_name="so", null=True)
    apart = NumberAttribute(attr_name="ap", null=True)
    settled_key = UnicodeAttribute(attr_name="ek", null=True)
    settled_at = NumberAttribute(attr_name="ea", null=True)
    announce = NumberAttribute(attr_name="an", null=True)
    """There while the live publisher is called for: the stream's filter looks for it."""
    strikes = NumberAttribute(attr_name="sx", null=True)
    expires_at = NumberAttribute(attr_name="xa", null=True)
    ttl = NumberAttribute(null=True)


def run_key(namespace: str, run_id: str) -> str:
    """The partition of a run's row, or of the alias of the key that its id was derived from."""
    return f"{namespace}#{run_id}"


def workflow_key(namespace: str, workflow: str) -> str:
    """The listing partition of a workflow's runs."""
    return f"{namespace}#{workflow}"


def created_key(run: Run) -> str:
    """Where a run stands in a listing: by creation, then id."""
    return f"{place_at(run.created_at)}#{run.id}"


def place_at(at: Millis) -> str:
    """Where in a listing the runs created at ``at`` begin. Times before 1970 and after 2286 stand at its
    ends."""
    return f"{min(max(at, 0), MAX_CREATED):013d}"


def shard_key(shard: int) -> str:
    """The partition of one shard of the due index."""
    return f"due{shard}"


def due_shard(spread: str, shards: int) -> str:
    """The one of ``shards`` partitions that ``spread`` falls into."""
    return shard_key(zlib.crc32(spread.encode()) % shards)


class Shards(NamedTuple):
    """How many partitions the due index has, each ending of a workflow in the settled index, and each
    workflow in the queue."""

    due: int
    settled: int
    queue: int


def run_item(run: Run, shards: Shards) -> RunsItem:
    """A run's row."""
    input_, codec = _packed(run.input)
    settled = run.ending if in_row(run) else None
    return RunsItem(
        k=run_key(run.namespace, run.id),
        s=ROW,
        rev=run.rev,
        birth=run.birth,
        due_shard=None if run.due_at is None else due_shard(run.id, shards.due),
        due_at=run.due_at,
        settled_key=None
        if settled is None
        else settled_key(run.namespace, run.id, ending(run.state, run.workflow), shards.settled),
        settled_at=None if settled is None else settled.at,
        queue_key=queue_shard(run.namespace, run.workflow, _shard_of(run.id, shards.queue))
        if run.queued
        else None,
        queue_place=queue_place(run.priority, run.available_at or 0) if run.queued else None,
        workflow_key=workflow_key(run.namespace, run.workflow),
        created_key=created_key(run),
        context_key=None if run.context_ref is None else f"{run.namespace}#{run.context_ref}",
        state=run.state.value,
        mode=run.mode.value,
        attempt=run.attempt,
        claimed=1 if run.claimed else None,
        failures=run.failures or None,
        updated_at=run.updated_at,
        started_at=run.started_at,
        available_at=run.available_at,
        priority=_unless(run.priority, DEFAULT_PRIORITY),
        max_attempts=_unless(run.max_attempts, DEFAULT_MAX_ATTEMPTS),
        inactivity_timeout=run.inactivity_timeout_seconds or None,
        agent_id=run.agent_id,
        tags=run.tags or None,
        input=input_,
        input_codec=codec,
        traceparent=run.traceparent,
        depth=run.depth or None,
        triggered_by=run.triggered_by,
        continued_from=run.continued_from,
        continued_as=run.continued_as,
        cancel=run.cancel,
        lease=run.lease,
        released=run.released,
        push=run.push,
        ending=run.ending,
        alias_id=run.alias_id,
        start_body=run.start_body,
        by=_short(run.by, run.namespace),
        resume_key=run.resume_key,
        suspend_key=run.suspend_key,
        wait=run.wait,
        chain=run.chain,
        settlement=None if run.settlement == NOTHING else run.settlement,
        apart=run.apart or None,
        announce=1 if run.announce else None,
        strikes=run.strikes or None,
        expires_at=run.expires_at,
        ttl=_ttl(run.expires_at),
    )


def run_of(item: RunsItem) -> Run:
    """The run that a row holds."""
    namespace, run_id = item.k.split("#", 1)
    return Run(
        namespace=namespace,
        id=run_id,
        workflow=item.workflow_key.split("#", 1)[1],
        birth=item.birth,
        rev=item.rev,
        state=State(item.state),
        mode=Mode(item.mode),
        created_at=int(item.created_key[:13]),
        updated_at=int(item.updated_at),
        started_at=whole(item.started_at),
        available_at=whole(item.available_at),
        attempt=int(item.attempt),
        claimed=bool(item.claimed),
        failures=int(item.failures or 0),
        priority=_or(item.priority, DEFAULT_PRIORITY),
        max_attempts=_or(item.max_attempts, DEFAULT_MAX_ATTEMPTS),
        inactivity_timeout_seconds=item.inactivity_timeout or 0,
        context_ref=_within(item.context_key),
        agent_id=item.agent_id,
        tags=item.tags or (),
        input=_unpacked(item),
        input_in_log=item.input is None,
        traceparent=item.traceparent,
        depth=int(item.depth or 0),
        triggered_by=item.triggered_by,
        continued_from=item.continued_from,
        continued_as=item.continued_as,
        cancel=item.cancel,
        lease=item.lease,
        released=item.released,
        push=item.push,
        ending=item.ending,
        alias_id=item.alias_id,
        start_body=item.start_body,
        by=_in_full(item.by, namespace),
        resume_key=item.resume_key,
        suspend_key=item.suspend_key,
        wait=item.wait,
        chain=item.chain,
        settlement=NOTHING if item.settlement is None else item.settlement,
        apart=int(item.apart or 0),
        announce=bool(item.announce),
        strikes=int(item.strikes or 0),
        due_at=whole(item.due_at),
        expires_at=whole(item.expires_at),
    )


def settled_key(namespace: str, run_id: str, event: str, shards: int) -> str:
    """The partition of the settled index in which an ending of a run stands."""
    return settled_shard(namespace, event, _shard_of(run_id, shards))


def settled_shard(namespace: str, event: str, shard: int) -> str:
    """One of the partitions of the settled index for one ending of one workflow."""
    return f"{namespace}#{event}#{shard}"


def queue_shard(namespace: str, workflow: str, shard: int) -> str:
    """One of the partitions of the queue of a workflow."""
    return f"{namespace}#{workflow}#{shard}"


def queue_place(priority: int, available_at: Millis) -> int:
    """Where in its queue a run stands: the higher priority first, then the earlier available."""
    return (MAX_PRIORITY - priority) * PLACES + min(max(available_at, 0), MAX_CREATED)


def _shard_of(run_id: str, shards: int) -> int:
    return zlib.crc32(run_id.encode()) % shards


class Purge(msgspec.Struct, frozen=True, kw_only=True):
    """A past life of a run id whose log is still to be removed, and the id of the alias that led to it."""

    namespace: str
    run_id: str
    birth: str
    rev: str
    due_at: Millis
    alias: str | None = None


def purge_item(purge: Purge, shards: Shards) -> RunsItem:
    """The reminder to purge, due like everything else."""
    return RunsItem(
        k=f"{purge.namespace}#{purge.run_id}#{purge.birth}",
        s=PURGE,
        rev=purge.rev,
        birth=purge.birth,
        alias=purge.alias,
        due_shard=due_shard(purge.birth, shards.due),
        due_at=purge.due_at,
    )


def purge_of(item: RunsItem) -> Purge:
    """The purge that an item asks for."""
    namespace, run_id, birth = item.k.split("#")
    return Purge(
        namespace=namespace,
        run_id=run_id,
        birth=birth,
        rev=item.rev,
        due_at=int(item.due_at),
        alias=item.alias,
    )


def _packed(input_: bytes | None) -> tuple[bytes | None, int | None]:
    """An input as a row holds it: one that fits as it is stays so."""
    return (input_, None) if input_ is None or len(input_) <= INLINE_INPUT else deflate(input_)


def _unpacked(item: RunsItem) -> bytes | None:
    if item.input is None:
        return None
    return inflated(item.input, compressed=item.input_codec is not None)


def _ttl(expires_at: Millis | None) -> int | None:
    return None if expires_at is None else expires_at // 1000 + TTL_MARGIN_SECONDS


def _unless(value: int, default: int) -> int | None:
    return None if value == default else value


def _or(value: float | None, default: int) -> int:
    return default if value is None else int(value)


def _within(key: str | None) -> str | None:
    """What a key names within its namespace."""
    return None if key is None else key.split("#", 1)[1]


def _short(by: str | None, namespace: str) -> str | None:
    """Who started a run, as its row has it: a token of the run's namespace without that. Nobody else is
    called anything that begins with an underscore."""
    return by[len(namespace) :] if by is not None and by.startswith(f"{namespace}_") else by


def _in_full(short: str | None, namespace: str) -> str | None:
    return namespace + short if short is not None and short.startswith("_") else short


def whole(value: float | None) -> int | None:
    """A number attribute that may be missing, as the integer it is."""
    return None if value is None else int(value)
