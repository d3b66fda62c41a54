"""Who asks, and in which namespace: what the gateway's authoriser vouched for, held against the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from baton.api.roles import Role
from baton.config import Settings
from baton.domain import names
from baton.errors import Forbidden, InvalidRequest, Unauthenticated

ANY_NAMESPACE = "*"
DEFAULT_NAMESPACE = "default"
NAMESPACE_HEADER = "baton-namespace"


class Caller(NamedTuple):
    """Someone with a role in one namespace."""

    namespace: str
    role: Role

    def demand(self, role: Role, what: str) -> None:
        """Raise Forbidden unless the caller's role is at least ``role``."""
        if self.role < role:
            raise Forbidden(
                f"{what} needs the role {role.name.lower()}; this token has {self.role.name.lower()}"
            )


ANONYMOUS = Caller("", Role.VIEWER)
"""Who asks where no one need be known; nothing is done for it in any namespace."""


def identify(event: Mapping[str, Any], settings: Settings) -> Caller:
    """The caller. Raises Unauthenticated, InvalidRequest, and Forbidden when a token of one namespace names
    another.

    The authoriser says what is *allowed*; the header is resolved here, so that a decision the gateway has
    cached never crosses tenants. Whom the gateway let in by IAM is what the deployment's settings say: of
    these IAM decides who may come, per method and path.
    """
    vouched = _vouched(event["requestContext"].get("authorizer") or {}, settings)
    allowed, role = vouched.get("namespace"), Role.named(vouched.get("role"))
    if not allowed or role is None:
        raise Unauthenticated("this needs a token: send it as 'Authorization: Bearer ...'")
    named = (event.get("headers") or {}).get(NAMESPACE_HEADER)
    if named is not None and not names.matches(names.NAMESPACE, named):
        raise InvalidRequest.at(["header", "Baton-Namespace"], f"must match {names.NAMESPACE}")
    if allowed == ANY_NAMESPACE:
        return Caller(named or DEFAULT_NAMESPACE, role)
    if named is not None and named != allowed:
        raise Forbidden("this token belongs to another namespace")
    return Caller(allowed, role)


def _vouched(authorizer: Mapping[str, Any], settings: Settings) -> Mapping[str, Any]:
    """What an authoriser of ours says, else what IAM's word stands for."""
    if "lambda" in authorizer:
        return authorizer["lambda"] or {}
    if (authorizer.get("iam") or {}).get("userArn"):
        return {"namespace": settings.iam_namespace, "role": settings.iam_role}
    return {}
