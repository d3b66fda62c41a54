"""From requests to the runs they go over: those of a list, those whose endings are delivered again."""

from __future__ import annotations

from msgspec.structs import replace

from baton.api import models, shapes
from baton.api.moments import floor
from baton.api.request import Request
from baton.api.signing import Pages, Signatures
from baton.domain.payload import canonical, digest
from baton.domain.states import State
from baton.services.republish import END_OF_TIME, Republish, RepublishRange
from baton.services.runs import Filter

_ENDS = {
    None: (State.COMPLETED, State.FAILED),
    models.Ends.COMPLETED: (State.COMPLETED,),
    models.Ends.FAILED: (State.FAILED,),
}


def filter_of(query: models.RunsQuery) -> Filter:
    """Which runs a list is to hold."""
    return Filter(
        workflow=query.workflow,
        states=frozenset(query.state or ()),
        context_ref=query.context_ref,
        tag=query.tag,
        since=None if query.since is None else -floor(query.since, -1),
        until=None if query.until is None else floor(query.until),
    )


def filter_digest(wanted: Filter) -> str:
    """What tells one filter from another, in a cursor."""
    states = sorted(state.value for state in wanted.states)
    return digest(
        canonical(
            [wanted.workflow, states, wanted.context_ref, wanted.tag, wanted.since, wanted.until],
        )
    )


def republish(request: Request) -> Republish:
    """POST /v1/runs/{id}/republish. Raises InvalidRequest, UnsupportedMediaType."""
    body = shapes.convert(request.json(), models.RepublishRun)
    return Republish(namespace=request.namespace, subscriber=body.subscriber, by=request.caller.by)


def republish_range(request: Request, signatures: Signatures) -> tuple[RepublishRange, Pages]:
    """POST /v1/republish: the wish, and the places to go on from with it, which are of all but the limit.
    Raises InvalidRequest, UnsupportedMediaType."""
    body = shapes.convert(shapes.numbers(request.json()), models.RepublishRange)
    wish = RepublishRange(
        namespace=request.namespace,
        workflow=body.workflow,
        endings=_ENDS[body.ending],
        since=0 if body.since is None else max(0, -floor(body.since, -1)),
        until=END_OF_TIME if body.until is None else max(-1, floor(body.until)),
        limit=body.limit,
        subscriber=body.subscriber,
        dry_run=bool(body.dry_run),
        by=request.caller.by,
    )
    endings = [state.value for state in wish.endings]
    asked = [wish.workflow, endings, wish.since, wish.until, wish.subscriber, wish.dry_run]
    pages = signatures.pages(request.namespace, "republish", digest(canonical(asked)))
    return replace(wish, place=pages.after(body.next_token, where="body")), pages
