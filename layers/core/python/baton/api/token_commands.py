"""From requests about tokens to what services are asked for."""

from __future__ import annotations

from baton.api import shapes, token_models
from baton.api.moments import sayable
from baton.api.request import Request
from baton.api.token_models import RoleName
from baton.domain.tokens import EVERY_NAMESPACE, Wish
from baton.errors import InvalidRequest


def create(request: Request) -> Wish:
    """POST /v1/tokens. Raises InvalidRequest, UnsupportedMediaType, Forbidden."""
    body = shapes.convert(request.json(), token_models.CreateToken)
    if body.workflows is not None and body.role is not RoleName.DRIVER:
        raise InvalidRequest.at(["body", "workflows"], "narrows drivers alone")
    return Wish(
        namespace=namespace(request, body.namespace),
        role=body.role.role,
        workflows=None if body.workflows is None else tuple(dict.fromkeys(body.workflows)),
        description=body.description,
        expires_at=sayable(body.expires_at, "expires_at"),
    )


def namespace(request: Request, wanted: str | None) -> str:
    """Whose tokens a request is about. Raises Forbidden unless the caller may act for that namespace."""
    if wanted is None:
        return request.namespace
    request.caller.demand_namespace(wanted)
    return wanted


def within(request: Request) -> tuple[str, ...]:
    """Whose tokens a request may be about that names one: of the namespace that is acted in, and of all where
    the caller is one of those."""
    mine = request.namespace
    return (mine, EVERY_NAMESPACE) if request.caller.everywhere else (mine,)
