"""Workflows: registering them, and seeing who starts whom."""

from __future__ import annotations

from typing import NamedTuple

from baton.domain.audit import Action
from baton.domain.catalog import Link, Snapshot, Workflow, endings
from baton.domain.registering import SUBSCRIBES, Registration, check, register
from baton.errors import InvalidRequest, NotFound, Unavailable
from baton.services.audit import audited
from baton.services.catalog import Catalog
from baton.services.context import Context
from baton.services.registering import ROUNDS, change_of


class Registered(NamedTuple):
    """The workflow as it counts now, and whether none was registered under its name."""

    workflow: Workflow
    created: bool


class WorkflowsPage(NamedTuple):
    """Some workflows, by name; ``after`` is where the next page goes on, None at the end."""

    workflows: list[Workflow]
    after: str | None


class WorkflowDetail(NamedTuple):
    """A workflow, whom its endings start, and what starts it."""

    workflow: Workflow
    starts_on_settle: tuple[Link, ...]
    started_by: tuple[Link, ...]


class Graph(NamedTuple):
    """Every workflow, and every link."""

    workflows: tuple[Workflow, ...]
    edges: tuple[Link, ...]


class Workflows:
    """Where the catalog is changed and shown: as it is now, not as anyone remembers it."""

    def __init__(self, context: Context, catalog: Catalog) -> None:
        self._context = context
        self._catalog = catalog

    def put(self, wish: Registration, *, by: str | None = None) -> Registered:
        """Register a workflow, in the place of what was under its name.

        What says the same again writes nothing. What workers announced stays, and counts where the
        registration says nothing. A new or another subscription is healed: what settled shortly
        before, by an older catalog, is gone over. That ``by`` did it, where somebody is known, is kept in
        the same transaction. Raises InvalidRequest, PayloadTooLarge, and Unavailable when others keep
        changing the catalog.
        """
        check(wish)
        self._check_retention(wish)
        context, store = self._context, self._context.catalog
        rev = context.nonce()
        for round_ in range(ROUNDS):
            revision, registered = store.read(wish.namespace)
            standing = {each.name: each for each in registered}
            before, now = standing.get(wish.name), context.clock.now()
            after = register(before, wish, rev=rev, now=now)
            if after is before:
                return Registered(after.at(now) or after, created=False)
            change = change_of(
                standing, after, revision=revision, loc=SUBSCRIBES, now=now, settings=context.settings
            )
            done = audited(context, wish.namespace, Action.WORKFLOW_PUT, wish.name, by=by)
            if store.register(change, *done):
                self._catalog.forget(wish.namespace)
                return Registered(after.at(now) or after, created=before is None or not before.registered)
            context.stand_back(round_)
        raise Unavailable("the catalog changes faster than it can be written")

    def list(self, namespace: str, *, limit: int, after: str | None) -> WorkflowsPage:
        """One page, by name. It may be short, even empty, with more to come."""
        found, more = self._context.catalog.page(namespace, after=after, limit=limit)
        now = self._context.clock.now()
        counting = [each for row in found if (each := row.at(now)) is not None]
        return WorkflowsPage(counting, found[-1].name if more and found else None)

    def get(self, namespace: str, name: str) -> WorkflowDetail:
        """A workflow with its links. Raises NotFound."""
        snapshot = self._now(namespace)
        workflow = snapshot.workflow(name)
        if workflow is None:
            raise NotFound(f"no workflow {name!r} is in the catalog")
        starts = tuple(link for event in endings(name) for link in snapshot.edges_from(event))
        return WorkflowDetail(workflow, starts, snapshot.edges_to(name))

    def delete(self, namespace: str, name: str, *, by: str | None = None) -> None:
        """Take a workflow out of the catalog, with what workers announced of it, until one says something
        new: nothing starts it any more. Its runs stay. That ``by`` did it, where somebody is known, is kept
        in the same transaction. Raises NotFound."""
        context = self._context
        rev = context.nonce()
        for round_ in range(ROUNDS):
            standing, now = context.catalog.workflow(namespace, name), context.clock.now()
            if standing is None or standing.at(now) is None:
                raise NotFound(f"no workflow {name!r} is in the catalog")
            done = audited(context, namespace, Action.WORKFLOW_DELETED, name, by=by)
            if context.catalog.delete(standing, now, rev, *done):
                self._catalog.forget(namespace)
                return
            context.stand_back(round_)
        raise Unavailable("the workflow changes faster than it can be deleted")

    def graph(self, namespace: str) -> Graph:
        """Who starts whom."""
        snapshot = self._now(namespace)
        edges = tuple(link for name in snapshot.workflows for link in snapshot.edges_to(name))
        return Graph(tuple(snapshot.workflows.values()), edges)

    def _now(self, namespace: str) -> Snapshot:
        return self._catalog.snapshot(namespace, fresh=True)

    def _check_retention(self, wish: Registration) -> None:
        least = self._context.settings.least_retention_seconds
        if wish.retention_seconds is not None and wish.retention_seconds < least:
            raise InvalidRequest.at(["body", "retention_seconds"], f"must be at least {least:g}")
