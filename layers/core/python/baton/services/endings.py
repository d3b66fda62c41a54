"""The endings that the settled index names, as they stand: what healing and republishing go over."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from baton.domain.clock import Millis
from baton.domain.handoff import Apart, Settled, in_row
from baton.domain.run import Run
from baton.errors import TryAgain
from baton.observability import logger
from baton.services.context import Context
from baton.store.runs import EndingPlace

PAGE = 100


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """The endings of one name that settled from ``since`` to ``until``, both included."""

    namespace: str
    event: str
    since: Millis
    until: Millis

    def holds(self, settled: Settled) -> bool:
        """Whether an ending is one of them."""
        return settled.event == self.event and self.since <= settled.at <= self.until


class Cursor(NamedTuple):
    """Where someone who goes over the index stops for now: in which of its ``part``s, counted as he counts
    them, and after which place there (None: at its beginning). As text it can be kept, or handed out."""

    part: int = 0
    start: str | None = None

    def __str__(self) -> str:
        return f"{self.part} {self.start or ''}"

    @classmethod
    def of(cls, text: str | None) -> Cursor:
        """The one that was kept; without one, the beginning of all."""
        part, _, start = (text or "0").partition(" ")
        return cls(int(part), start or None)


class Passed(msgspec.Struct, frozen=True):
    """A place in the index that was gone over: the endings found there, and how to go on after it.
    ``unreadable`` is the run that stands there, where this version of the code can't read it."""

    endings: tuple[Settled, ...]
    place: str
    unreadable: str | None = None


class EndingsPage(msgspec.Struct, frozen=True):
    """Some places of one shard; ``more`` is where the next page goes on, None at the shard's end."""

    passed: tuple[Passed, ...]
    more: str | None


class Endings:
    """Where endings are found by their name and settle time."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def page(
        self, stretch: Stretch, shard: int, *, start: str | None = None, limit: int = PAGE
    ) -> EndingsPage:
        """One page of a shard, earliest first: one query, and a batch of reads for all that it names.

        The endings are as some replica has them, so they may owe what has been delivered since. Where a
        replica and the index disagree the run is read consistently: an ending that moved into an item of its
        own meanwhile is not missed. None that has expired is given. Raises Unavailable; what can't be read is
        told of, and keeps no other from being given.
        """
        runs = self._context.runs
        page = runs.endings(
            stretch.namespace,
            stretch.event,
            shard,
            stretch.since,
            stretch.until,
            start=start,
            limit=limit,
        )
        seen = self._seen(stretch.namespace, page.places)
        return EndingsPage(
            tuple(self._passed(stretch, place, seen.get(place)) for place in page.places), page.more
        )

    def of_run(self, namespace: str, run_id: str) -> tuple[Settled, ...] | None:
        """Every ending of a run that is anybody's business, of all its attempts, consistently; None when the
        run is absent."""
        around = self._context.runs.around(namespace, run_id)
        if around is None or around.run.expired(self._context.clock.now()):
            return None
        return around.endings

    def _seen(self, namespace: str, places: tuple[EndingPlace, ...]) -> dict[EndingPlace, Settled]:
        """What some replica has where the index names it."""
        runs = self._context.runs
        try:
            rows = runs.get_many(namespace, {place.run_id for place in places})
            aparts = runs.apart_many(namespace, places)
        except TryAgain:
            raise
        except Exception:  # noqa: BLE001 - one of them can't be read: each is read by itself then
            return {}
        seen: dict[EndingPlace, Settled] = {}
        for place in places:
            row, apart = rows.get(place.run_id), aparts.get((place.run_id, place.attempt))
            if row is not None and _agree(row, place, apart):
                seen[place] = Settled(row, apart)
        return seen

    def _passed(self, stretch: Stretch, place: EndingPlace, seen: Settled | None) -> Passed:
        now = self._context.clock.now()
        try:
            if seen is not None and stretch.holds(seen):
                found = [seen]
            else:
                found = self._consistently(stretch, place)
        except TryAgain:
            raise
        except Exception:  # noqa: BLE001 - an edge of its own: the others are gone over all the same
            logger.exception("an ending can't be read", namespace=stretch.namespace, run=place.run_id)
            return Passed((), place.place, unreadable=place.run_id)
        return Passed(tuple(each for each in found if not each.run.expired(now)), place.place)

    def _consistently(self, stretch: Stretch, place: EndingPlace) -> list[Settled]:
        found = self.of_run(stretch.namespace, place.run_id) or ()
        return [each for each in found if stretch.holds(each)]


def _agree(row: Run, place: EndingPlace, apart: Apart | None) -> bool:
    """Whether what was read is what the index names."""
    if place.attempt is None:
        return in_row(row)
    return apart is not None and row.birth == apart.birth
