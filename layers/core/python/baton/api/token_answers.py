"""What is answered about tokens, and about who did what."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from baton.api.answers import Time
from baton.api.token_models import RoleName


class Token(Struct, frozen=True):
    """A token, without its secret. ``namespace`` `*`: good in all of them. ``workflows``: what a driver may
    drive, null: any. ``used_at``: when it was used last, to the hour. ``created_by``: the id of a token."""

    id: str
    namespace: str
    role: RoleName
    workflows: tuple[str, ...] | None
    description: str | None
    created_at: Time
    created_by: str | None
    expires_at: Time | None
    used_at: Time | None


class Whoami(Struct, frozen=True):
    """Who asks: with which role, in which namespace. ``by`` is what the audit calls them, null where nobody
    is known; ``token`` null: they came without one."""

    namespace: str
    role: RoleName
    by: str | None
    token: Token | None


class Created(Struct, frozen=True):
    """A new token. ``secret`` is what to send as `Authorization: Bearer ...`: it is said this once."""

    token: Token
    secret: str


class TokensPage(Struct, frozen=True):
    """Some tokens, by id. Only the absence of ``next_token`` is the end."""

    tokens: list[Token]
    next_token: str | UnsetType = UNSET


class Audited(Struct, frozen=True):
    """What somebody did, to which run, workflow or token. ``by``: the id of their token, or what IAM calls
    them."""

    at: Time
    action: str
    subject: str
    by: str


class AuditPage(Struct, frozen=True):
    """What was done, the newest first. Only the absence of ``next_token`` is the end."""

    audit: list[Audited]
    next_token: str | UnsetType = UNSET
