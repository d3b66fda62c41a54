"""Logs in DynamoDB: one item per slot, its body opaque bytes.

The store knows nothing of what a body holds, only how many units (entries, of a run's log) stand in it: a log
of any content type fits. Items of one log share a partition and sort by birth, then slot, so the newest item
of an id's newest life is found without knowing its birth.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from pynamodb.attributes import BinaryAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.models import Model

from baton.domain.clock import Millis
from baton.domain.log import Header, Tail
from baton.domain.offset import MAX_SLOT, SLOT_DIGITS
from baton.errors import PayloadTooLarge, Unavailable
from baton.store.dynamo import Dynamo, Raw, Table, Write
from baton.store.schema import LOG

MAX_ITEM = 390 * 1024
"""Bytes of one item, as stored: DynamoDB takes 400 KB with its names and overhead."""

COMPRESS_FROM = 200
DEFLATE = 1
PURGE_BATCH = 25

_headers = msgspec.json.Decoder(Header)


class LogItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item: ``count`` units from ``slot`` on. ``nonce`` is the write that made it; items never change."""

    birth: str
    slot: int
    count: int
    header: Header
    ts: Millis
    nonce: str
    body: bytes

    def tail(self, *, fenced: bool, seen_at: Millis) -> Tail:
        """The end of the log if this is its newest item."""
        return Tail(
            birth=self.birth,
            next=self.slot + self.count,
            header=self.header,
            fenced=fenced,
            newest_ts=self.ts,
            seen_at=seen_at,
        )


class LogPage(NamedTuple):
    """Consecutive items, to be taken once; ``more``: the call ended before the log did.

    Each is unpacked as it is taken: a page of well compressed ones holds many times what an answer does.
    """

    items: Iterable[LogItem]
    more: bool


class LogRow(Model):
    """An item of the log table."""

    k = UnicodeAttribute(hash_key=True)
    s = UnicodeAttribute(range_key=True)
    units = NumberAttribute(attr_name="n")
    header = UnicodeAttribute(attr_name="h")
    ts = NumberAttribute(attr_name="t")
    nonce = UnicodeAttribute(attr_name="w")
    body = BinaryAttribute(attr_name="b", legacy_encoding=False)
    codec = NumberAttribute(attr_name="z", null=True)


class LogStore:
    """The log table. ``log`` names one log within its namespace: a run's id."""

    def __init__(self, dynamo: Dynamo, table_name: str) -> None:
        self._dynamo = dynamo
        self._table = Table(dynamo, LOG, table_name)

    def put(self, namespace: str, log: str, item: LogItem) -> Write:
        """The write of ``item``, on condition that its slot is free: of two appends to one slot one wins, and
        nothing follows an ``end`` or overtakes a successor. Raises PayloadTooLarge."""
        body, codec = deflate(item.body)
        header = msgspec.json.encode(item.header)
        size = len(body) + len(header)
        if size > MAX_ITEM:
            raise PayloadTooLarge(f"the append takes {size} bytes as stored, over the limit of {MAX_ITEM}")
        row = LogRow(
            k=_log_key(namespace, log),
            s=_slot_key(item.birth, item.slot),
            units=item.count,
            header=header.decode(),
            ts=item.ts,
            nonce=item.nonce,
            body=body,
            codec=codec,
        )
        return self._table.put(row, LogRow.k.does_not_exist())

    def append(self, write: Write) -> bool:
        """Carry out one put: whether the item stands (also when it stood already, by a reply that was
        lost)."""
        return self.taken(write) is None

    def taken(self, write: Write) -> LogItem | None:
        """Carry out one put: None when the item stands, else the other one that stands in its slot."""
        clash = self._dynamo.write(write)
        if clash is None or is_own(write, clash.existing[0]):
            return None
        standing = clash.existing[0]
        if standing is None:
            raise Unavailable("the log changes faster than it can be read")
        return _item(standing)

    def newest(self, namespace: str, log: str, *, consistent: bool) -> LogItem | None:
        """The newest item of the newest life of ``log``."""
        page = self._table.query(_log_key(namespace, log), consistent=consistent, forward=False, limit=1)
        return _item(page.items[0]) if page.items else None

    def newest_of(self, namespace: str, log: str, birth: str, *, consistent: bool) -> LogItem | None:
        """The newest item of one life of ``log``."""
        life = LogRow.s.between(_slot_key(birth, 0), _slot_key(birth, MAX_SLOT))
        page = self._table.query(
            _log_key(namespace, log), life, consistent=consistent, forward=False, limit=1
        )
        return _item(page.items[0]) if page.items else None

    def get(self, namespace: str, log: str, birth: str, slot: int) -> LogItem | None:
        """One item, consistently."""
        raw = self._table.get(_log_key(namespace, log), _slot_key(birth, slot), consistent=True)
        return None if raw is None else _item(raw)

    def get_many(self, namespace: str, places: Sequence[tuple[str, str, int]]) -> dict[str, LogItem]:
        """Of up to 100 (log, birth, slot), no log twice, the items that stand there, by log. Eventually
        consistent."""
        if not places:
            return {}
        keys = [(_log_key(namespace, log), _slot_key(birth, slot)) for log, birth, slot in places]
        return {raw["k"]["S"].split("#", 1)[1]: _item(raw) for raw in self._table.get_many(keys)}

    def read(self, namespace: str, log: str, birth: str, slot: int, *, consistent: bool) -> LogPage:
        """One call's worth (1 MB) of items from ``slot`` on."""
        rest = LogRow.s.between(_slot_key(birth, slot), _slot_key(birth, MAX_SLOT))
        page = self._table.query(_log_key(namespace, log), rest, consistent=consistent)
        return LogPage(map(_item, page.items), page.more is not None)

    def purge(self, namespace: str, log: str, birth: str) -> bool:
        """Remove some items of one life; False once there are none. The caller has made sure that nobody
        still remembers a tail of it: a slot that is free again must not be written again."""
        key = _log_key(namespace, log)
        life = LogRow.s.between(_slot_key(birth, 0), _slot_key(birth, MAX_SLOT))
        page = self._table.query(key, life, limit=PURGE_BATCH)
        self._table.delete_many([(key, raw["s"]["S"]) for raw in page.items])
        return bool(page.items)


def is_own(write: Write, standing: Raw | None) -> bool:
    """Whether the item that stands in a slot is the one that ``write`` puts there."""
    return standing is not None and standing["w"] == write.request["Item"]["w"]


def _log_key(namespace: str, log: str) -> str:
    return f"{namespace}#{log}"


def _slot_key(birth: str, slot: int) -> str:
    return f"{birth}#{slot:0{SLOT_DIGITS}d}"


def _item(raw: Raw) -> LogItem:
    # Not by the model: a replay reads thousands of them, and that would be half of its time.
    birth, slot = raw["s"]["S"].split("#")
    return LogItem(
        birth=birth,
        slot=int(slot),
        count=int(raw["n"]["N"]),
        header=_headers.decode(raw["h"]["S"]),
        ts=int(raw["t"]["N"]),
        nonce=raw["w"]["S"],
        body=inflate(raw),
    )


def deflate(body: bytes) -> tuple[bytes, int | None]:
    """A body as it is stored: compressed where that is smaller, with the codec that says so."""
    if len(body) < COMPRESS_FROM:
        return body, None
    smaller = zlib.compress(body)
    return (smaller, DEFLATE) if len(smaller) < len(body) else (body, None)


def inflate(raw: Raw) -> bytes:
    """The body that an item holds."""
    return inflated(raw["b"]["B"], compressed="z" in raw)


def inflated(stored: bytes, *, compressed: bool) -> bytes:
    """The body that was stored so."""
    return zlib.decompress(stored) if compressed else stored
