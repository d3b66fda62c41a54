"""Custom events in DynamoDB.

    <namespace>##event#<name>    event#<event id>              the event, due while anything is left to do
    <namespace>##event#<name>    open#<posted at>#<event id>   there while a run that comes to wait takes it

The second is small and sorts by time: who comes to wait finds the oldest without reading any payload.
"""

from __future__ import annotations

from typing import NamedTuple

from pynamodb.attributes import BinaryAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.models import Model

from baton.domain.clock import Millis, millis
from baton.domain.events import KEPT_SECONDS, CountWoken, Posted, Take
from baton.domain.settlement import Settlement
from baton.errors import Unavailable
from baton.store.dynamo import Dynamo, Raw, Table, Write, changes
from baton.store.log import deflate, inflate
from baton.store.rows import TTL_MARGIN_SECONDS, JsonAttribute, due_shard, place_at, whole
from baton.store.schema import RUNS
from baton.store.waiters import event_key, event_of

EVENT = "event#"
OPEN = "open#"
_AFTER_OPEN = "open#:"
"""Sorts after every time."""

FEW = 5
"""Open events that are looked at together: the first is nearly always it."""


class EventItem(Model):
    """An event."""

    k = UnicodeAttribute(hash_key=True)
    s = UnicodeAttribute(range_key=True)
    rev = UnicodeAttribute(attr_name="rv")
    due_shard = UnicodeAttribute(attr_name="dk", null=True)
    due_at = NumberAttribute(attr_name="du", null=True)
    body = BinaryAttribute(attr_name="b", legacy_encoding=False)
    codec = NumberAttribute(attr_name="z", null=True)
    digest = UnicodeAttribute(attr_name="sb")
    posted_at = NumberAttribute(attr_name="pa")
    traceparent = UnicodeAttribute(attr_name="tp", null=True)
    settlement = JsonAttribute[Settlement](Settlement, attr_name="sl")
    looked = NumberAttribute(attr_name="lo", null=True)
    woken = NumberAttribute(attr_name="wo")
    taken = NumberAttribute(attr_name="tk", null=True)
    kept = NumberAttribute(attr_name="kp", null=True)
    strikes = NumberAttribute(attr_name="sx", null=True)
    ttl = NumberAttribute(null=True)


class OpenItem(Model):
    """That an event may be taken."""

    k = UnicodeAttribute(hash_key=True)
    s = UnicodeAttribute(range_key=True)
    ttl = NumberAttribute()


class EventKey(NamedTuple):
    """What tells an event from every other."""

    namespace: str
    name: str
    id: str


class EventStore:
    """The events in the runs table. ``retention_seconds``: how long one is remembered once it is done."""

    def __init__(self, dynamo: Dynamo, table_name: str, *, due_shards: int, retention_seconds: float) -> None:
        self._dynamo = dynamo
        self._table = Table(dynamo, RUNS, table_name)
        self._shards = due_shards
        self._retention_seconds = retention_seconds
        self._attributes = EventItem.get_attributes()

    def create(self, posted: Posted) -> Posted:
        """Write an event and that it is open, unless one of its id was posted before: what stands there now.

        Of two that post one id at once one is first (I7). Our own ``rev`` found standing is this very write,
        its reply lost (I9).
        """
        clash = self._dynamo.write(
            self._table.put(self._item(posted), EventItem.k.does_not_exist()),
            self._table.put(_open_item(posted)),
        )
        if clash is None:
            return posted
        if clash.existing[0] is None:
            raise Unavailable("the event is written faster than it can be read")
        return _posted_of(clash.existing[0])

    def get(self, key: EventKey) -> Posted | None:
        """An event, consistently."""
        raw = self._table.get(event_key(key.namespace, key.name), EVENT + key.id, consistent=True)
        return None if raw is None else _posted_of(raw)

    def record(self, before: Posted, after: Posted) -> bool:
        """Turn an event that was read into another, which is no longer open if nobody is to take it any more;
        False when somebody woke a run by it, took it or recorded it since.

        Our own ``rev`` found standing is this very write, its reply lost (I9).
        """
        actions = changes(self._item(before).serialize(), self._item(after).serialize(), self._attributes)
        writes = [self._table.update(*_place(before), actions, EventItem.rev == before.rev)]
        if before.open and not after.open:
            writes.append(self._table.delete(*_open_place(before)))
        clash = self._dynamo.write(*writes)
        if clash is None:
            return True
        standing = clash.existing[0]
        return standing is not None and bool(standing["rv"]["S"] == after.rev)

    def open(self, namespace: str, name: str, now: Millis) -> list[EventKey]:
        """The first few events of a name that a run may take, the oldest first. Consistent."""
        since = now - millis(KEPT_SECONDS) + 1
        page = self._table.query(
            event_key(namespace, name),
            OpenItem.s.between(f"{OPEN}{place_at(since)}", _AFTER_OPEN),
            consistent=True,
            limit=FEW,
        )
        return [EventKey(namespace, name, raw["s"]["S"].split("#", 2)[2]) for raw in page.items]

    def _item(self, posted: Posted) -> EventItem:
        body, codec = deflate(posted.payload)
        key, sort = _place(posted)
        over_at = posted.posted_at // 1000 + round(self._retention_seconds) + TTL_MARGIN_SECONDS
        return EventItem(
            k=key,
            s=sort,
            rev=posted.rev,
            due_shard=None if posted.due_at is None else due_shard(posted.id, self._shards),
            due_at=posted.due_at,
            body=body,
            codec=codec,
            digest=posted.digest,
            posted_at=posted.posted_at,
            traceparent=posted.traceparent,
            settlement=posted.settlement,
            looked=1 if posted.looked else None,
            woken=posted.woken,
            taken=1 if posted.taken else None,
            kept=1 if posted.kept else None,
            strikes=posted.strikes or None,
            ttl=over_at if posted.due_at is None else None,
        )


def count_woken(table: Table, also: CountWoken) -> list[Write]:
    """One more run woken, as long as nobody has recorded that all are: who comes later waits for another, or
    takes it if it is kept. Whoever read the event before records it anew."""
    actions = [EventItem.woken.set(EventItem.woken + 1), EventItem.rev.set(also.rev)]
    waking = EventItem.k.exists() & EventItem.looked.does_not_exist()
    return [table.update(*_place(also.posted), actions, waking)]


def take(table: Table, also: Take) -> list[Write]:
    """The event is nobody else's. That it is still open is the condition: of two runs that come to wait one
    takes it, and none takes what was found to have reached somebody. Whoever read it before records it
    anew."""
    actions = [EventItem.taken.set(1), EventItem.rev.set(also.rev)]
    return [
        table.delete(*_open_place(also.posted), OpenItem.k.exists()),
        table.update(*_place(also.posted), actions, EventItem.k.exists()),
    ]


def due_event(key: str, sort: str) -> EventKey:
    """The event that an index entry names by its place."""
    return EventKey(*event_of(key), sort.removeprefix(EVENT))


def _place(posted: Posted) -> tuple[str, str]:
    return event_key(posted.namespace, posted.name), EVENT + posted.id


def _open_place(posted: Posted) -> tuple[str, str]:
    return event_key(posted.namespace, posted.name), f"{OPEN}{place_at(posted.posted_at)}#{posted.id}"


def _open_item(posted: Posted) -> OpenItem:
    key, sort = _open_place(posted)
    over_at = posted.posted_at // 1000 + KEPT_SECONDS
    return OpenItem(k=key, s=sort, ttl=over_at + TTL_MARGIN_SECONDS)


def _posted_of(raw: Raw) -> Posted:
    item = EventItem.from_raw_data(raw)
    namespace, name = event_of(item.k)
    return Posted(
        namespace=namespace,
        name=name,
        id=item.s.removeprefix(EVENT),
        rev=item.rev,
        payload=inflate(raw),
        digest=item.digest,
        posted_at=int(item.posted_at),
        traceparent=item.traceparent,
        settlement=item.settlement,
        looked=bool(item.looked),
        woken=int(item.woken),
        taken=bool(item.taken),
        kept=bool(item.kept),
        due_at=whole(item.due_at),
        strikes=int(item.strikes or 0),
    )
