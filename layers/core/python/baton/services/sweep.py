"""The sweep: what nobody did in time. It reads the due index and nothing else, so its cost follows the
work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import msgspec

from baton.domain.catalog import DEFAULT_BACKOFF
from baton.domain.clock import Millis, millis
from baton.domain.log import Tail
from baton.domain.run import Run, Step
from baton.domain.settling import Outcome
from baton.domain.sweeping import Patience, decide_due, publishers, pushers, put_off
from baton.errors import Conflict, NotFound, TryAgain
from baton.observability import logger, told
from baton.outbound.invoke import Onward
from baton.services.catalog import Catalog
from baton.services.coalescing import Coalescer, Tended
from baton.services.context import Context
from baton.services.events import Events
from baton.services.performing import Performer
from baton.services.publishing import LEASED, Publisher
from baton.services.pushing import Pushed, Pusher
from baton.services.retention import Retention
from baton.services.waits import Waits
from baton.store.due import (
    DueClearing,
    DueItem,
    DuePurge,
    DueRun,
    DueSettlement,
    DueWindow,
    named,
)
from baton.store.dynamo import Raw
from baton.store.events import EventKey

MAX_LINKS = 10
"""Invocations that hand a shard on to one another, so that a fault of ours can't go on for ever where Lambda
is told to let loops be: the last link does what is left as far as its time goes, the next sweep the rest."""

PUT_OFF_TRIES = 3


class Swept(msgspec.Struct, kw_only=True):
    """What one sweep did: runs settled, endings published, targets told of runs, windows fired, items put off
    to when they are due, past lives and fired windows cleared away, entries that were not due any more, and
    items that failed and are put off. ``handed_on``: pages left to another invocation. ``more``: time ran
    out before the index did. ``owed_seconds``: how long ago the longest owed of the endings settled that the
    sweep came by and that are owed still."""

    settled: int = 0
    published: int = 0
    pushed: int = 0
    fired: int = 0
    postponed: int = 0
    purged: int = 0
    stale: int = 0
    failed: int = 0
    handed_on: int = 0
    more: bool = False
    owed_seconds: int = 0


class Part(msgspec.Struct, frozen=True):
    """One shard, from ``start`` in it on, after so many invocations that handed it on (``links``)."""

    shard: int
    start: Raw | None = None
    links: int = 0


class Hint(msgspec.Struct, frozen=True):
    """Word that the item at a partition and sort key may be due."""

    k: str
    s: str


class Did(Enum):
    """What became of a due item."""

    SETTLED = "settled"
    PUBLISHED = "published"
    PUSHED = "pushed"
    FIRED = "fired"
    POSTPONED = "postponed"
    PURGED = "purged"
    NOTHING = "stale"


class Sweep:
    """Settles the silent, forces the cancelled, delivers what is owed, pushes what waits, fires windows,
    purges past lives.

    An item in trouble is logged and put off, so that it leaves the head of its shard: however many there are,
    each other item has its turn when its time comes. Sweeps may overlap: each change is conditional.
    """

    def __init__(
        self,
        context: Context,
        *,
        catalog: Catalog,
        performer: Performer,
        publisher: Publisher,
        pusher: Pusher,
        coalescer: Coalescer,
        waits: Waits,
        events: Events,
        retention: Retention,
    ) -> None:
        self._context = context
        self._catalog = catalog
        self._performer = performer
        self._publisher = publisher
        self._pusher = pusher
        self._coalescer = coalescer
        self._waits = waits
        self._events = events
        self._retention = retention
        self._attend: Mapping[type, Callable[[Any, DueItem], Did]] = {
            DueRun: self._run,
            DueSettlement: self._settlement,
            DuePurge: self._purge,
            DueWindow: self._window,
            DueClearing: self._clearing,
            EventKey: self._event,
        }

    def run(self) -> Swept:
        """Go over every shard once, beginning at any: time that runs out must not fall on the same ones
        always. A shard with more than a page is left to an invocation of its own, if it can be."""
        context = self._context
        shards = context.settings.due_shards
        first = int(context.jitter() * shards)
        swept, deadline = Swept(), self._deadline()
        for step in range(shards):
            shard = (first + step) % shards
            try:
                self._shard(Part(shard), deadline, swept, whole=True)
            except TryAgain as trouble:
                swept.failed += 1
                logger.warning("a shard was left to the next sweep", shard=shard, reason=trouble.detail)
            if swept.more:
                break
        return swept

    def part(self, part: Part) -> Swept:
        """Go over what is left of one shard, page by page; all but the first page are handed on, if they can
        be. Raises Unavailable."""
        swept = Swept()
        self._shard(part, self._deadline(), swept, whole=False)
        return swept

    def look(self, hint: Hint) -> bool:
        """Attend to the one item that a timer hinted at, if it is due now: False when that failed."""
        swept = Swept()
        self._item(hint.k, hint.s, swept)
        return swept.failed == 0

    def _deadline(self) -> Millis:
        return self._context.clock.now() + millis(self._context.settings.sweep_seconds)

    def _shard(self, part: Part, deadline: Millis, swept: Swept, *, whole: bool) -> None:
        context, start = self._context, part.start
        while True:
            page = context.due.page(part.shard, context.clock.now(), start=start)
            handed_on = False
            if page.more is not None:
                rest = Part(part.shard, start if whole else page.more, part.links + 1)
                handed_on = self._hand_on(rest, swept)
                if handed_on and whole:
                    return
            for entry in page.items:
                if context.clock.now() >= deadline:
                    swept.more = True
                    return
                self._item(entry["k"]["S"], entry["s"]["S"], swept)
            if page.more is None or handed_on:
                return
            start = page.more

    def _hand_on(self, rest: Part, swept: Swept) -> bool:
        onward: Onward | None = self._context.onward
        if onward is None or rest.links > MAX_LINKS:
            return False
        try:
            onward.later(msgspec.to_builtins(rest))
        except TryAgain as trouble:
            logger.warning("a shard could not be handed on", shard=rest.shard, reason=trouble.detail)
            return False
        swept.handed_on += 1
        return True

    def _item(self, key: str, sort: str, swept: Swept) -> None:
        """Attend to one item, if it is due: what is gone or not due any more costs this one read."""
        item: DueItem | None = None
        try:
            item = self._context.due.look(key, sort)
            if item is None or not self._is_due(item):
                swept.stale += 1
                return
            did = self._attended(item)
            setattr(swept, did.value, getattr(swept, did.value) + 1)
            if did is Did.POSTPONED:
                self._note_owed(item, swept)
        except Exception as trouble:  # noqa: BLE001 - an edge of its own: one item's fault must not stop the rest
            swept.failed += 1
            expected = isinstance(trouble, (Conflict, TryAgain))
            tell = logger.warning if expected else logger.exception
            tell("a due item could not be attended to", key=key, sort=sort, reason=told(trouble))
            self._note_owed(item, swept)
            self._put_off(item)

    def _note_owed(self, item: DueItem | None, swept: Swept) -> None:
        """Remember how long an ending has been owed that is owed still. It rests on no one's being right:
        what can't be read is told of elsewhere."""
        settled_at = None if item is None else _owed_since(item)
        if settled_at is not None:
            seconds = (self._context.clock.now() - settled_at) // 1000
            swept.owed_seconds = max(swept.owed_seconds, seconds)

    def _attended(self, item: DueItem) -> Did:
        due = named(item.key, item.sort)
        try:
            did = self._attend[type(due)](due, item)
        except NotFound:
            did = Did.NOTHING
        if did is Did.NOTHING:
            # Somebody else moved it since it was read; else it would stand here for good.
            self._put_off_once(item)
        return did

    def _is_due(self, item: DueItem) -> bool:
        return item.due_at is not None and item.due_at <= self._context.clock.now()

    def _put_off(self, item: DueItem | None) -> None:
        """Have an item leave the head of its shard. What can't even be put off is met again."""
        try:
            for _ in range(PUT_OFF_TRIES):
                if item is None or not self._is_due(item) or self._put_off_once(item):
                    return
                item = self._context.due.look(item.key, item.sort)
        except Exception:  # noqa: BLE001 - as above
            logger.warning("a due item could not be put off", exc_info=True)

    def _put_off_once(self, item: DueItem) -> bool:
        context = self._context
        later = put_off(item.strikes, context.clock.now())
        return context.due.put_off(item, rev=context.nonce(), due_at=later)

    def _run(self, due: DueRun, item: DueItem) -> Did:
        context, run = self._context, item.run()
        if publishers(run):
            return self._publish(due.namespace, due.run_id, run.attempt, run.birth)
        if pushers(run, context.settings.cancel_grace_seconds, context.clock.now()):
            return _OF_PUSH[self._pusher.push(due.namespace, due.run_id)]

        def decide(now_run: Run, tail: Tail) -> Step | Outcome | None:
            return decide_due(
                now_run,
                tail,
                self._patience(now_run),
                rev=context.nonce(),
                now=context.clock.now(),
                kept=self._waits.kept_for(now_run),
            )

        done = self._performer.perform(due.namespace, due.run_id, decide, settles=True)
        if done.outcome is not None:
            return Did.SETTLED
        return Did.POSTPONED if done.changed else Did.NOTHING

    def _patience(self, run: Run) -> Patience:
        settings = self._context.settings
        backoff = DEFAULT_BACKOFF
        if run.lease is not None and (snapshot := self._catalog.at_hand(run.namespace)) is not None:
            backoff = snapshot.backoff(run.workflow)
        return Patience(
            grace_seconds=settings.cancel_grace_seconds,
            skew_seconds=settings.skew_seconds,
            backoff=backoff,
            chance=self._context.jitter(),
        )

    def _settlement(self, due: DueSettlement, _item: DueItem) -> Did:
        return self._publish(due.namespace, due.run_id, due.attempt, due.birth)

    def _publish(self, namespace: str, run_id: str, attempt: int, birth: str) -> Did:
        done = self._publisher.publish(namespace, run_id, attempt, LEASED, birth=birth)
        if not done.recorded:
            return Did.NOTHING
        return Did.POSTPONED if any(each.delivery is None for each in done.outcomes) else Did.PUBLISHED

    def _purge(self, _due: DuePurge, item: DueItem) -> Did:
        return Did.PURGED if self._retention.purge(item.purge()) else Did.POSTPONED

    def _window(self, due: DueWindow, _item: DueItem) -> Did:
        return _OF_WINDOW[self._coalescer.fire(due.key)]

    def _clearing(self, due: DueClearing, _item: DueItem) -> Did:
        self._coalescer.clear(due.key)
        return Did.PURGED

    def _event(self, due: EventKey, _item: DueItem) -> Did:
        posted = self._events.tend(due)
        if posted is None:
            return Did.NOTHING
        return Did.PUBLISHED if posted.due_at is None else Did.POSTPONED


def _owed_since(item: DueItem) -> Millis | None:
    """When the ending settled whose settlement an item holds; None where it holds none."""
    try:
        due = named(item.key, item.sort)
        if isinstance(due, DueRun):
            run = item.run()
            return run.ending.at if run.ending is not None and publishers(run) else None
        return item.apart().ending.at if isinstance(due, DueSettlement) else None
    except Exception:  # noqa: BLE001 - an edge of its own: it is about an item that may be the trouble itself
        return None


_OF_PUSH = {
    Pushed.TAKEN: Did.PUSHED,
    Pushed.PUT_OFF: Did.POSTPONED,
    Pushed.SETTLED: Did.SETTLED,
    Pushed.NOTHING: Did.NOTHING,
}
_OF_WINDOW = {Tended.FIRED: Did.FIRED, Tended.PUT_OFF: Did.POSTPONED, Tended.STALE: Did.NOTHING}
