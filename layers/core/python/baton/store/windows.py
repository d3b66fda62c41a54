"""Windows in DynamoDB: a header that joins and firings contend on, the payloads it counts, the events that
joined.

    <namespace>##window#<subscriber>#<key mark>  open            the header, due like everything else
    <namespace>##window#<run id>                 member#<place>  a payload; debounced, the last one only
    <namespace>##window#<run id>                 spent           its payloads are still to be removed
    <namespace>#<run id>                         run             that an input joined, and which window

The last stands where the run of its own would that the input was not given: a start of that and a join
contend there, so of one input at most one of the two is ever done, whatever the subscriber is registered as
meanwhile.

A window's payloads have a partition of their own, and so has each input: none grows with the subscriber's
past, and none gets hotter than its header.
"""

from __future__ import annotations

from typing import NamedTuple

from pynamodb.attributes import BinaryAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.models import Model

from baton.domain.catalog import BatchMode
from baton.domain.clock import Millis
from baton.domain.coalescing import Window
from baton.domain.run import TriggeredBy
from baton.domain.starting import HandOff
from baton.store.dynamo import Dynamo, Raw, Table, Write, changes
from baton.store.log import deflate, inflate
from baton.store.rows import ROW, JsonAttribute, due_shard, run_key, whole
from baton.store.schema import RUNS

OPEN = "open"
SPENT = "spent"
_MEMBER = "member#"

ALONG = 4
"""Payloads that leave in the transaction that fires their window. There each costs twice what it does alone:
of more, a reminder stays behind, which costs as much as five, and the sweep removes them."""

REMOVE_BATCH = 25


class HeaderItem(Model):
    """The header of an open window."""

    k = UnicodeAttribute(hash_key=True)
    s = UnicodeAttribute(range_key=True)
    rev = UnicodeAttribute(attr_name="rv")
    due_shard = UnicodeAttribute(attr_name="dk")
    due_at = NumberAttribute(attr_name="du")
    window_id = UnicodeAttribute(attr_name="wi")
    mode = UnicodeAttribute(attr_name="wm")
    members = NumberAttribute(attr_name="wn")
    bytes = NumberAttribute(attr_name="wb")
    opened_at = NumberAttribute(attr_name="wo")
    last_at = NumberAttribute(attr_name="wl")
    fires_at = NumberAttribute(attr_name="we")
    latest_at = NumberAttribute(attr_name="wx")
    depth = NumberAttribute(attr_name="dp")
    triggered_by = JsonAttribute[TriggeredBy](TriggeredBy, attr_name="tb", null=True)
    traceparent = UnicodeAttribute(attr_name="tp", null=True)
    inactivity_timeout = NumberAttribute(attr_name="it", null=True)
    max_attempts = NumberAttribute(attr_name="ma", null=True)
    pushed = NumberAttribute(attr_name="pu", null=True)
    strikes = NumberAttribute(attr_name="sx", null=True)


class PayloadItem(Model):
    """A payload of an open window, or of one that was fired and is not cleared away yet."""

    k = UnicodeAttribute(hash_key=True)
    s = UnicodeAttribute(range_key=True)
    body = BinaryAttribute(attr_name="b", legacy_encoding=False)
    codec = NumberAttribute(attr_name="z", null=True)


class JoinedItem(Model):
    """An input that joined; whoever looks for its own run finds an alias of the window's. ``rev`` is the
    write of the header that took it."""

    k = UnicodeAttribute(hash_key=True)
    s = UnicodeAttribute(range_key=True)
    rev = UnicodeAttribute(attr_name="rv")
    birth = UnicodeAttribute(attr_name="b")
    alias_of = UnicodeAttribute(attr_name="al")
    window_id = UnicodeAttribute(attr_name="wi")
    key_mark = UnicodeAttribute(attr_name="wk")
    ttl = NumberAttribute()


class SpentItem(Model):
    """A reminder that a fired window's payloads are still there."""

    k = UnicodeAttribute(hash_key=True)
    s = UnicodeAttribute(range_key=True)
    due_shard = UnicodeAttribute(attr_name="dk")
    due_at = NumberAttribute(attr_name="du")


class Joined(NamedTuple):
    """The window that an event joined, and the write that took it in."""

    window_id: str
    key_mark: str
    rev: str


class StartedAlone(Exception):
    """The input that was to join has a run of its own, or a stranger's stands there."""


class WindowStore:
    """The windows in the runs table."""

    def __init__(self, dynamo: Dynamo, table_name: str, *, due_shards: int) -> None:
        self._dynamo = dynamo
        self._table = Table(dynamo, RUNS, table_name)
        self._shards = due_shards
        self._attributes = HeaderItem.get_attributes()

    def open(self, namespace: str, subscriber: str, key_mark: str) -> Window | None:
        """The open window of one subscriber and key, consistently."""
        return self.at(header_key(namespace, subscriber, key_mark))

    def at(self, key: str) -> Window | None:
        """The open window whose header an index entry names by its partition, consistently."""
        raw = self._table.get(key, OPEN, consistent=True)
        return None if raw is None else _window_of(HeaderItem.from_raw_data(raw))

    def joined(self, namespace: str, run_id: str) -> Joined | None:
        """The window that an input joined, open or fired; None: it joined none. ``run_id`` is that of the run
        it would have of its own. Consistent. Raises StartedAlone."""
        raw = self._table.get(run_key(namespace, run_id), ROW, consistent=True)
        return None if raw is None else _joined_of(raw)

    def join(
        self, before: Window | None, after: Window, wish: HandOff, place: int, *, forget_at: Millis
    ) -> Joined | None:
        """Take the input of ``wish`` into a window: that it joined, the header and the payload in one
        transaction.

        It must not have joined before and the header must be the one that was read: an input joins
        this window or opens the next one, whatever is fired meanwhile, and none counts twice. Gives what
        stands there of the input now. When it had joined before, that is another's write, as its ``rev``
        tells; our own, found standing, is this very one, its reply lost (I9). None when the header moved.
        Raises StartedAlone.
        """
        ours = Joined(after.id, after.key_mark, after.rev)
        input_ = JoinedItem(
            k=run_key(wish.namespace, wish.run_id),
            s=ROW,
            rev=after.rev,
            birth=after.id,
            alias_of=after.run_id,
            window_id=after.id,
            key_mark=after.key_mark,
            ttl=forget_at // 1000,
        )
        body, codec = deflate(wish.input)
        payload = PayloadItem(k=_payloads_key(after), s=_place(place), body=body, codec=codec)
        clash = self._dynamo.write(
            self._table.put(input_, JoinedItem.k.does_not_exist()),
            self._header_write(before, after),
            self._table.put(payload),
        )
        if clash is None:
            return ours
        standing = clash.existing[0]
        return None if standing is None else _joined_of(standing)

    def put_off(self, before: Window, after: Window) -> bool:
        """Move a window's due time; False when somebody wrote its header since it was read."""
        clash = self._dynamo.write(self._header_write(before, after))
        if clash is None:
            return True
        standing = clash.existing[0]
        return standing is not None and standing["rv"]["S"] == after.rev

    def payloads(self, window: Window) -> list[bytes] | None:
        """What the window keeps, in order of arrival; None when it was fired since its header was read. That
        nothing joined since is for ``fire`` to see."""
        raws = self._table.query_all(
            _payloads_key(window), PayloadItem.s.startswith(_MEMBER), consistent=True
        )
        found = [inflate(raw) for raw in raws]
        return found if len(found) >= window.kept else None

    def fire(self, window: Window, creation: list[Write], *, now: Millis) -> bool:
        """Turn a window into the run that ``creation`` writes, in one transaction; False when an input joined
        since the header was read.

        The header goes on condition that it is the one that was read, so of all that fire a window one does,
        and what joined later is in none of its payloads. True also when another one fired it, or this very
        write did, its reply lost (I9): a window's header goes in no other way, and no id is given twice.
        """
        header = self._table.delete(_key_of(window), OPEN, HeaderItem.rev == window.rev)
        clash = self._dynamo.write(header, *self._clearing(window, now), *creation)
        if clash is None:
            return True
        standing = clash.existing[0]
        return clash.failed[0] and (standing is None or standing["wi"]["S"] != window.id)

    def clear(self, key: str) -> None:
        """Remove the payloads of a fired window, then the reminder that an index entry names by its
        partition. May be repeated, and done by two at once."""
        raws = self._table.query_all(key, PayloadItem.s.startswith(_MEMBER), consistent=True)
        keys = [(key, raw["s"]["S"]) for raw in raws]
        for first in range(0, len(keys), REMOVE_BATCH):
            self._table.delete_many(keys[first : first + REMOVE_BATCH])
        self._dynamo.write(self._table.delete(key, SPENT))

    def keeps(self, namespace: str, run_id: str) -> bool:
        """Whether payloads stand in the window that becomes, or became, the run."""
        return self._table.get(_run_key(namespace, run_id), _place(0), consistent=True) is not None

    def _header_write(self, before: Window | None, after: Window) -> Write:
        item = _header_item(after, self._shards)
        if before is None:
            return self._table.put(item, HeaderItem.k.does_not_exist())
        standing = _header_item(before, self._shards)
        actions = changes(standing.serialize(), item.serialize(), self._attributes)
        actions.append(HeaderItem.strikes.remove())  # of the sweep, before anybody came
        return self._table.update(_key_of(before), OPEN, actions, HeaderItem.rev == before.rev)

    def _clearing(self, window: Window, now: Millis) -> list[Write]:
        """What the firing does about the payloads."""
        key = _payloads_key(window)
        if window.kept <= ALONG:
            return [self._table.delete(key, _place(place)) for place in range(window.kept)]
        reminder = SpentItem(k=key, s=SPENT, due_shard=due_shard(window.id, self._shards), due_at=now)
        return [self._table.put(reminder)]


def header_key(namespace: str, subscriber: str, key_mark: str) -> str:
    """The partition of the header of a subscriber's window for one key."""
    return f"{namespace}##window#{subscriber}#{key_mark}"


def _key_of(window: Window) -> str:
    return header_key(window.namespace, window.subscriber, window.key_mark)


def _run_key(namespace: str, run_id: str) -> str:
    return f"{namespace}##window#{run_id}"


def _payloads_key(window: Window) -> str:
    return _run_key(window.namespace, window.run_id)


def _place(place: int) -> str:
    return f"{_MEMBER}{place:08d}"


def _joined_of(raw: Raw) -> Joined:
    if "wi" not in raw:
        raise StartedAlone
    return Joined(raw["wi"]["S"], raw["wk"]["S"], raw["rv"]["S"])


def _header_item(window: Window, shards: int) -> HeaderItem:
    return HeaderItem(
        k=_key_of(window),
        s=OPEN,
        rev=window.rev,
        due_shard=due_shard(window.id, shards),
        due_at=window.due_at,
        window_id=window.id,
        mode=window.mode.value,
        members=window.count,
        bytes=window.bytes,
        opened_at=window.opened_at,
        last_at=window.last_at,
        fires_at=window.fires_at,
        latest_at=window.latest_at,
        depth=window.depth,
        triggered_by=window.triggered_by,
        traceparent=window.traceparent,
        inactivity_timeout=window.inactivity_timeout_seconds,
        max_attempts=window.max_attempts,
        pushed=1 if window.pushed else None,
    )


def _window_of(item: HeaderItem) -> Window:
    namespace, _, rest = item.k.partition("##window#")
    subscriber, _, key_mark = rest.rpartition("#")
    return Window(
        namespace=namespace,
        subscriber=subscriber,
        key_mark=key_mark,
        id=item.window_id,
        rev=item.rev,
        mode=BatchMode(item.mode),
        count=int(item.members),
        bytes=int(item.bytes),
        opened_at=int(item.opened_at),
        last_at=int(item.last_at),
        fires_at=int(item.fires_at),
        latest_at=int(item.latest_at),
        due_at=int(item.due_at),
        depth=int(item.depth),
        triggered_by=item.triggered_by,
        traceparent=item.traceparent,
        inactivity_timeout_seconds=item.inactivity_timeout,
        max_attempts=whole(item.max_attempts),
        pushed=bool(item.pushed),
    )
