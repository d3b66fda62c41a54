"""The catalog as the contract spells it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import UNSET

from baton.api import answers
from baton.domain import catalog
from baton.domain.clock import rfc3339
from baton.services.workflows import Graph, WorkflowDetail, WorkflowsPage


def workflow(of: catalog.Workflow) -> answers.Workflow:
    """A workflow, every field of it."""
    return answers.Workflow(
        name=of.name,
        namespace=of.namespace,
        description=of.description,
        target=_target(of.target),
        subscribes=tuple(answers.Subscription(each.event, each.where, each.input) for each in of.subscribes),
        batch=_batch(of.batch),
        inactivity_timeout_seconds=of.inactivity_timeout_seconds,
        max_attempts=of.max_attempts,
        backoff=_backoff(of.backoff),
        retention_seconds=of.retention_seconds,
        announced=of.announced is not None,
        created_at=rfc3339(of.created_at),
        updated_at=rfc3339(of.updated_at),
    )


def page(found: WorkflowsPage, token: Callable[[str], str]) -> answers.WorkflowsPage:
    """A page of the list; ``token`` makes one of the place where the list goes on."""
    return answers.WorkflowsPage(
        list(map(workflow, found.workflows)), UNSET if found.after is None else token(found.after)
    )


def detail(found: WorkflowDetail) -> answers.WorkflowDetail:
    """A workflow with its links."""
    return answers.WorkflowDetail(
        workflow(found.workflow), _links(found.starts_on_settle), _links(found.started_by)
    )


def graph(found: Graph) -> answers.Graph:
    """Who starts whom."""
    nodes = tuple(
        answers.GraphNode(
            name=each.name,
            description=each.description,
            target=_target(each.target),
            batch=_batch(each.batch),
            announced=each.announced is not None,
        )
        for each in found.workflows
    )
    return answers.Graph(nodes, _links(found.edges))


def _links(found: Iterable[catalog.Link]) -> tuple[answers.Link, ...]:
    return tuple(
        answers.Link(each.workflow, each.event, each.where, each.input, _batch(each.batch), each.announced)
        for each in found
    )


def _target(of: catalog.Target | None) -> answers.Target | None:
    return None if of is None else answers.Target(of.kind, of.arn)


def _backoff(of: catalog.Backoff | None) -> answers.Backoff | None:
    return None if of is None else answers.Backoff(of.base_seconds, of.max_seconds)


def _batch(of: catalog.Batch | None) -> answers.Batch | None:
    if of is None:
        return None
    return answers.Batch(of.mode, of.window_seconds, of.key, of.max_size, of.max_wait_seconds)
