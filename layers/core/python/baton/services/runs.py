"""Runs as others see them: one, many, awaited, deleted."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec
from msgspec.structs import replace

from baton.domain.audit import Action
from baton.domain.clock import Millis, millis
from baton.domain.controlling import decide_delete
from baton.domain.log import Tail
from baton.domain.run import Run, Step
from baton.domain.states import State
from baton.errors import NotFound
from baton.services.audit import audited
from baton.services.context import Context
from baton.services.details import Details, RunDetail
from baton.services.lookup import Lookup
from baton.services.performing import Performer
from baton.store.rows import created_key, place_at
from baton.store.runs import Listed

MAX_EXAMINED = 1_000
BATCH = 100
MAX_ERRORS = 3_000_000
"""Bytes of errors in one page: an answer holds 4 MB, and the rest of 100 runs may take one."""
LAST = "~"
"""Sorts after every place in a listing."""


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs to list. ``since`` and ``until`` are creation times, both included."""

    workflow: str | None = None
    states: frozenset[State] = frozenset()
    context_ref: str | None = None
    tag: str | None = None
    since: Millis | None = None
    until: Millis | None = None

    def takes(self, run: Run, now: Millis) -> bool:
        """Whether a run belongs in the list."""
        return (
            not run.expired(now)
            and (self.workflow is None or run.workflow == self.workflow)
            and (not self.states or run.state in self.states)
            and (self.context_ref is None or run.context_ref == self.context_ref)
            and (self.tag is None or self.tag in run.tags)
        )

    def batch(self, lacking: int, examinable: int) -> int:
        """How many rows to fetch next when ``lacking`` more are wanted: more where the filter may drop
        some."""
        drops = bool(self.states or self.tag or (self.context_ref and self.workflow))
        return min(BATCH if drops else lacking, examinable)


class RunsPage(msgspec.Struct, frozen=True):
    """Some runs, newest first; ``after`` is where the next page goes on, None at the end."""

    runs: list[RunDetail]
    after: str | None


class Runs:
    """Where runs are read."""

    def __init__(self, context: Context, lookup: Lookup, performer: Performer, details: Details) -> None:
        self._context = context
        self._lookup = lookup
        self._performer = performer
        self._details = details

    def get(self, namespace: str, run_id: str) -> RunDetail:
        """The run now. Raises NotFound."""
        return self._details.load(namespace, run_id)

    def wait(self, namespace: str, run_id: str, timeout_seconds: float) -> RunDetail:
        """The run as soon as it is terminal, or as it is at the timeout. Raises NotFound."""
        context = self._context
        deadline = context.clock.now() + millis(timeout_seconds)
        run = self._lookup.run(namespace, run_id)
        while not run.state.terminal and (left := deadline - context.clock.now()) > 0:
            context.clock.sleep(min(context.settings.poll_seconds, left / 1000))
            run = self._glance(namespace, run_id)
        return self._details.load(namespace, run_id)

    def _glance(self, namespace: str, run_id: str) -> Run:
        """The run at half the price. That it is gone or has settled is read again: a replica that is behind
        may say so of an earlier life or attempt."""
        try:
            seen = self._lookup.run(namespace, run_id, consistent=False)
        except NotFound:
            return self._lookup.run(namespace, run_id)
        return self._lookup.run(namespace, run_id) if seen.state.terminal else seen

    def delete(self, namespace: str, run_id: str, *, by: str | None = None) -> None:
        """Put a settled run out of reach, at once and for good. That ``by`` did it, where somebody is known,
        is kept in the same transaction: of two at once, one did. Raises NotFound and InFlight."""
        context = self._context

        def decide(run: Run, _tail: Tail) -> Step:
            step = decide_delete(run, rev=context.nonce(), now=context.clock.now())
            return replace(step, also=audited(context, namespace, Action.RUN_DELETED, run_id, by=by))

        self._performer.perform(namespace, run_id, decide)
        self._lookup.forget(namespace, run_id)

    def list(self, namespace: str, wanted: Filter, *, limit: int, after: str | None) -> RunsPage:
        """One page, newest first by creation. It goes over all workflows ever started where none is named,
        and may be short, even empty, with more to come: it examines at most 1,000 runs, and ends early where
        their errors are large."""
        now = self._context.clock.now()
        places = self._places(namespace, wanted, after, wanted.batch(limit, BATCH))
        found: list[Run] = []
        examined = 0
        last = after
        while batch := list(islice(places, wanted.batch(limit - len(found), MAX_EXAMINED - examined))):
            rows = self._context.runs.get_many(namespace, dict.fromkeys(place.run_id for place in batch))
            for place in batch:
                examined += 1
                last = place.created_key
                run = rows.get(place.run_id)
                # An index that is behind may still name the place of an id's past life.
                if run is not None and created_key(run) == place.created_key and wanted.takes(run, now):
                    found.append(run)
                if len(found) == limit:
                    return self._page(namespace, found, last)
            if examined >= MAX_EXAMINED:
                return self._page(namespace, found, last)
        return self._page(namespace, found, None)

    def _page(self, namespace: str, found: Sequence[Run], after: str | None) -> RunsPage:
        shown = self._details.listed(namespace, found)
        size = 0
        for number, detail in enumerate(shown):
            size += len(detail.error or b"")
            if size > MAX_ERRORS:
                return RunsPage(shown[:number], created_key(found[number - 1]))
        return RunsPage(shown, after)

    def _places(self, namespace: str, wanted: Filter, after: str | None, size: int) -> Iterator[Listed]:
        """Places in the listing, newest first, merged over the workflows it goes over, of each ``size`` at a
        time."""
        since = place_at(wanted.since or 0)
        before = after if after is not None else LAST
        if wanted.until is not None:
            before = min(before, place_at(wanted.until + 1))
        if before <= since:
            return iter(())  # the store refuses a range that ends before it begins
        if wanted.context_ref is not None:
            return self._walk(namespace, None, wanted.context_ref, since, before, size)
        names = [wanted.workflow] if wanted.workflow else self._context.catalog.workflow_names(namespace)
        walks = [self._walk(namespace, name, None, since, before, size) for name in names]
        return heapq.merge(*walks, key=lambda place: place.created_key, reverse=True)

    def _walk(
        self,
        namespace: str,
        workflow: str | None,
        context_ref: str | None,
        since: str,
        before: str,
        size: int,
    ) -> Iterator[Listed]:
        start = None
        while True:
            page, start = self._context.runs.listing(
                namespace,
                workflow=workflow,
                context_ref=context_ref,
                since=since,
                before=before,
                start=start,
                limit=size,
            )
            yield from page
            if start is None:
                return
