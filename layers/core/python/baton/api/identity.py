"""Who asks, and in which namespace: what the gateway's authoriser vouched for, held against the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from baton.config import Settings
from baton.domain import names
from baton.domain.clock import Millis, millis
from baton.domain.roles import Role
from baton.domain.tokens import EVERY_NAMESPACE, Token, shown
from baton.errors import Forbidden, InvalidRequest, Unauthenticated

DEFAULT_NAMESPACE = "default"
NAMESPACE_HEADER = "baton-namespace"
MAX_PRINCIPAL = 64
"""How much of what IAM calls somebody is kept, at most: rows and logs hold it."""
TOKEN_HEADER = "authorization"
_BEARER = "bearer"
NO_TOKEN = "this needs a token: send it as 'Authorization: Bearer ...'"
NOT_WHOLE = "what was sent is no token, or not all of one: 'Bearer', a space, and bt_... to its end"
NOT_GOOD = "the token that was sent is unknown here, or has expired, or was revoked"


class Caller(NamedTuple):
    """Someone with a role in one namespace.

    ``by`` is what the audit calls them, None where nobody is known: on a laptop that trusts everyone.
    ``token_id`` None: they came without a token. ``workflows`` are those a driver may drive (None: any).
    ``everywhere``: they may name any namespace. ``lasts_seconds``: for how long
    their token counts from now on, None where it does not expire.
    """

    namespace: str
    role: Role
    by: str | None = None
    token_id: str | None = None
    workflows: frozenset[str] | None = None
    everywhere: bool = False
    lasts_seconds: float | None = None

    def demand(self, role: Role, what: str) -> None:
        """Raise Forbidden unless the caller's role is at least ``role``."""
        if self.role < role:
            raise Forbidden(
                f"{what} needs the role {role.name.lower()}; this token has {self.role.name.lower()}"
            )

    def demand_workflow(self, workflow: str) -> None:
        """Raise Forbidden unless the caller may drive runs of ``workflow``."""
        if self.workflows is not None and workflow not in self.workflows:
            raise Forbidden(
                f"this token drives runs of {', '.join(sorted(self.workflows))}, not of {workflow}"
            )

    def demand_namespace(self, namespace: str) -> None:
        """Raise Forbidden unless the caller may act for ``namespace``, or for all of them."""
        if namespace != self.namespace and not self.everywhere:
            # Says whose the token is, which its id says too; not what was named, so that no answer names a
            # tenant to another.
            raise Forbidden(f"this token is of namespace {self.namespace} alone")

    def acting_in(self, named: str | None) -> Caller:
        """The caller in the namespace that the request names, if it names one. Raises InvalidRequest, and
        Forbidden when it is another one than the caller's."""
        if named is None:
            return self
        if not names.matches(names.NAMESPACE, named):
            raise InvalidRequest.at(["header", "Baton-Namespace"], f"must match {names.NAMESPACE}")
        self.demand_namespace(named)
        return self._replace(namespace=named)


ANONYMOUS = Caller("", Role.VIEWER)
"""Who asks where no one need be known; nothing is done for it in any namespace."""


def bearer(headers: Mapping[str, str]) -> str | None:
    """The token that was sent: what follows the scheme, which is of any case.

    Source: RFC 6750, 2.1, and RFC 9110, 11.1.
    """
    scheme, _, text = headers.get(TOKEN_HEADER, "").strip().partition(" ")
    return text.strip() if scheme.lower() == _BEARER else None


def vouched(token: Token | None) -> dict[str, str]:
    """What the authoriser says of who shows ``token``; nothing of who shows none that counts. It is all
    strings, which every gateway passes on as they are, and the same for every route: it may be remembered."""
    if token is None:
        return {}
    said = {"namespace": token.namespace, "role": token.role.name.lower(), "token_id": token.id}
    if token.workflows is not None:
        said["workflows"] = " ".join(token.workflows)
    if token.expires_at is not None:
        said["expires_at"] = str(token.expires_at)
    return said


def identify(event: Mapping[str, Any], settings: Settings, now: Millis) -> Caller:
    """The caller, in their own namespace, or in `default` where theirs are all. Raises Unauthenticated.

    The authoriser says what is *allowed*; what the request names is resolved by `Caller.acting_in`, so that a
    decision the gateway has cached never crosses tenants. Whom the gateway let in by IAM is what the
    deployment's settings say: of these IAM decides who may come, per method and path.
    """
    said = _said(event["requestContext"].get("authorizer") or {}, settings)
    allowed, role = said.get("namespace"), Role.named(said.get("role"))
    expires_at, token_id, workflows = said.get("expires_at"), said.get("token_id"), said.get("workflows")
    lasts = None if expires_at is None else (int(expires_at) - now) / millis(1)
    if not allowed or role is None or (lasts is not None and lasts <= 0):
        raise Unauthenticated(_what_is_wrong(bearer(event.get("headers") or {})))
    everywhere = allowed == EVERY_NAMESPACE
    return Caller(
        namespace=DEFAULT_NAMESPACE if everywhere else allowed,
        role=role,
        by=token_id or said.get("principal"),
        token_id=token_id,
        workflows=None if workflows is None else frozenset(workflows.split()),
        everywhere=everywhere,
        lasts_seconds=lasts,
    )


def refused() -> Unauthenticated:
    """Of a token that counted when the gateway asked, and counts no more."""
    return Unauthenticated(NOT_GOOD)


def _what_is_wrong(text: str | None) -> str:
    """Why nobody is known: as much as whoever sent ``text`` can see themselves."""
    if text is None:
        return NO_TOKEN
    return NOT_WHOLE if shown(text) is None else NOT_GOOD


def _said(authorizer: Mapping[str, Any], settings: Settings) -> Mapping[str, Any]:
    """What an authoriser of ours says, else what IAM's word stands for."""
    if "lambda" in authorizer:
        return authorizer["lambda"] or {}
    iam = authorizer.get("iam") or {}
    if iam.get("userArn"):
        principal = (iam.get("userId") or iam["userArn"])[:MAX_PRINCIPAL]
        return {"namespace": settings.iam_namespace, "role": settings.iam_role, "principal": principal}
    return {}
