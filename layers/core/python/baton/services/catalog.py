"""The catalog as a container sees it: read when it is old, by one for all who ask at once."""

from __future__ import annotations

from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotInTime
from threading import Lock

from baton.bounded import Bounded
from baton.domain.catalog import Snapshot
from baton.domain.clock import Millis, millis, recent
from baton.errors import Unavailable
from baton.observability import logger, told
from baton.services.context import Context

RETRY_AFTER = 1_000
"""Milliseconds before a catalog that could not be read is asked for again by who can do without."""

MAX_REMEMBERED = 256


class Catalog:
    """Snapshots of namespaces' catalogs, at most ``catalog_seconds`` old."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._reads = Bounded[str, tuple[Millis, Future[Snapshot]]](MAX_REMEMBERED)
        self._lock = Lock()

    def prepare(self, namespace: str) -> None:
        """Have the catalog read beside what the caller does, if it is old. Never raises."""
        self._read(namespace, patient=True)

    def at_hand(self, namespace: str) -> Snapshot | None:
        """The catalog that ``prepare`` has had read; None when it could not be, or not soon enough. Never
        raises, and waits ``catalog_patience_seconds`` at most."""
        try:
            return self._read(namespace, patient=True).result(self._context.settings.catalog_patience_seconds)
        except (Exception, CancelledError, NotInTime) as trouble:  # noqa: BLE001 - a settle goes on without
            logger.warning("the catalog is not at hand", namespace=namespace, reason=told(trouble))
            return None

    def snapshot(self, namespace: str, *, fresh: bool = False) -> Snapshot:
        """The catalog, read now if it is old; ``fresh``: as it is now, with every change that was answered.
        Raises Unavailable."""
        try:
            return self._read(namespace, fresh=fresh).result()
        except CancelledError as exc:
            raise Unavailable("the catalog can't be read") from exc

    def forget(self, namespace: str) -> None:
        """What was read is none any more: this container has changed the catalog."""
        with self._lock:
            self._reads.pop(namespace, None)

    def gone_since(self, namespace: str, workflow: str) -> Millis | None:
        """When a workflow left the catalog, as far as that is remembered; None: it never was there, or is.
        Raises Unavailable."""
        store = self._context.catalog
        gone_since = store.gone_since(namespace, workflow)
        if gone_since is not None:
            return gone_since
        row = store.workflow(namespace, workflow)
        if row is None or row.announced is None or row.at(self._context.clock.now()) is not None:
            return None
        return row.announced.until

    def _read(self, namespace: str, *, fresh: bool = False, patient: bool = False) -> Future[Snapshot]:
        """The newest read, under way or done, of those that serve; else one that begins now."""
        now = self._context.clock.now()
        with self._lock:
            began, read = self._reads.get(namespace, (0, None))
            if read is not None and not fresh:  # one under way may have looked before the change in question
                failed = read.done() and read.exception() is not None
                lasts = millis(self._context.settings.catalog_seconds)
                if recent(began, now, (RETRY_AFTER if patient else 0) if failed else lasts):
                    return read
            before = read
            read = self._context.dynamo.begin(lambda: self._load(namespace, now, before, consistent=fresh))
            self._reads[namespace] = (now, read)
            return read

    def _load(
        self, namespace: str, read_at: Millis, before: Future[Snapshot] | None, *, consistent: bool
    ) -> Snapshot:
        """The catalog as it is: what was read ``before``, if it has not changed since, which costs the
        reading of one small item; else all of it."""
        store = self._context.catalog
        if before is not None and before.done() and before.exception() is None:
            known = before.result()
            if store.revision(namespace, consistent=consistent) == known.revision:
                return known.still(read_at)
        revision, workflows = store.read(namespace)
        return Snapshot(namespace=namespace, read_at=read_at, workflows=workflows, revision=revision)
