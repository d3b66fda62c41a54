"""Tokens, as the service tells of them, and who did what by which."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from baton_sdk.errors import BadAnswer
from baton_sdk.run import moment

EVERY_NAMESPACE = "*"
"""What stands for a namespace where all of them are meant."""

_ID = r"(?:[a-z0-9-]+_)?[a-z2-7]{8}"
_TEXT = re.compile(rf"bt_({_ID})_[a-z2-7]{{32}}")


def id_of(secret: str) -> str | None:
    """The id that a token's text begins with, and that anyone may know; None where it is no such text."""
    found = _TEXT.fullmatch(secret)
    return None if found is None else found[1]


def is_id(text: str) -> bool:
    """Whether a token's id reads so."""
    return re.fullmatch(_ID, text) is not None


def namespace_of(token_id: str) -> str:
    """Whose a token is, by its id: a namespace, or `EVERY_NAMESPACE`."""
    return token_id.rpartition("_")[0] or EVERY_NAMESPACE


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token, without its secret. ``namespace`` ``*``: good in all of them. ``workflows``: what a driver may
    drive, None: any. ``used_at``: when it was used last, to the hour. ``created_by``: the id of a token.
    ``raw`` is the JSON object as it came."""

    id: str
    namespace: str
    role: str
    workflows: tuple[str, ...] | None
    description: str | None
    created_at: datetime | None
    created_by: str | None
    expires_at: datetime | None
    used_at: datetime | None
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, data: Any) -> Token:
        """Read a token object. Raises BadAnswer."""
        try:
            workflows = data.get("workflows")
            return cls(
                id=data["id"],
                namespace=data["namespace"],
                role=data["role"],
                workflows=None if workflows is None else tuple(workflows),
                description=data.get("description"),
                created_at=moment(data.get("created_at")),
                created_by=data.get("created_by"),
                expires_at=moment(data.get("expires_at")),
                used_at=moment(data.get("used_at")),
                raw=data,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise BadAnswer(f"the server's token object is not one: {exc!r}") from exc


@dataclass(frozen=True, kw_only=True)
class NewToken:
    """A token that has just been made. ``secret`` is what to send: nobody is told it again, and no ``repr``
    shows it."""

    token: Token
    secret: str = field(repr=False)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> NewToken:
        """Read the answer of a creation. Raises BadAnswer."""
        token, secret = Token.from_json(data.get("token")), data.get("secret")
        if not isinstance(secret, str):
            raise BadAnswer("the server's answer to the making of a token has no secret")
        return cls(token=token, secret=secret)


@dataclass(frozen=True, kw_only=True)
class Whoami:
    """Whom the service takes the caller for: the role, the namespace that is acted in, the token (None: they
    came without one). ``by`` is what the audit calls them, None where everyone is trusted. ``raw`` is the
    JSON object as it came."""

    namespace: str
    role: str
    by: str | None
    token: Token | None
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, data: Any) -> Whoami:
        """Read the object. Raises BadAnswer."""
        try:
            token = data.get("token")
            return cls(
                namespace=data["namespace"],
                role=data["role"],
                by=data.get("by"),
                token=None if token is None else Token.from_json(token),
                raw=data,
            )
        except (KeyError, TypeError, AttributeError) as exc:
            raise BadAnswer(f"the server's word on who asks is none: {exc!r}") from exc


@dataclass(frozen=True, kw_only=True)
class Audited:
    """What somebody did, to which run, workflow or token. ``by``: the id of their token, or what IAM calls
    them. ``raw`` is the JSON object as it came."""

    at: datetime
    action: str
    subject: str
    by: str
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, data: Any) -> Audited:
        """Read one entry of the audit. Raises BadAnswer."""
        try:
            return cls(
                at=datetime.fromisoformat(data["at"]),
                action=data["action"],
                subject=data["subject"],
                by=data["by"],
                raw=data,
            )
        except (KeyError, TypeError, ValueError) as exc:
            raise BadAnswer(f"the server's audit entry is not one: {exc!r}") from exc
