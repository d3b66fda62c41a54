"""Tokens: what a caller shows, and what is kept of it.

A token reads ``bt_<id>_<secret>``. The id says whose it is: ``<namespace>_<mark>``, or the mark alone of one
that is good in every namespace. Of the secret, 160 bits of chance, only a digest is kept: nothing so long can
be guessed from it, so it needs no slow hash.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from baton.domain import names
from baton.domain.clock import Millis
from baton.domain.roles import Role

EVERY_NAMESPACE = "*"
"""What stands for a namespace where all are meant; none is called so."""

PREFIX = "bt_"
_MARK_BYTES, _SECRET_BYTES = 5, 20
_NAMESPACE = names.NAMESPACE[1:-1]
ID = rf"^(?:{_NAMESPACE}_)?[a-z2-7]{{8}}$"
_TEXT = re.compile(rf"{PREFIX}(?P<id>(?:{_NAMESPACE}_)?[a-z2-7]{{8}})_(?P<secret>[a-z2-7]{{32}})")
TEXT = re.compile(rf"{PREFIX}[a-z0-9_-]*_[a-z2-7]{{32}}")
"""Finds a token in whatever text it stands: what scanners for secrets look for."""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a token: all but its secret.

    ``workflows``: what a driver may drive, None where that is any. ``used_at`` is coarse. ``rev`` marks the
    write that made it.
    """

    namespace: str
    id: str
    role: Role
    secret_digest: str
    created_at: Millis
    rev: str
    created_by: str | None = None
    workflows: tuple[str, ...] | None = None
    description: str | None = None
    expires_at: Millis | None = None
    used_at: Millis | None = None

    def good(self, now: Millis) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or now < self.expires_at


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """A wish for a token."""

    namespace: str
    role: Role
    workflows: tuple[str, ...] | None = None
    description: str | None = None
    expires_at: Millis | None = None


class Minted(NamedTuple):
    """A new token, and the only text of it there will ever be."""

    token: Token
    text: str


class Shown(NamedTuple):
    """A token's text as a caller shows it, taken apart: nothing in it is proven."""

    namespace: str
    id: str
    secret: str

    def proves(self, token: Token) -> bool:
        """Whether the secret is the token's; it takes the same time whatever differs."""
        return hmac.compare_digest(_digest(self.secret), token.secret_digest)


def mint(wish: Wish, *, entropy: Callable[[int], bytes], by: str | None, rev: str, now: Millis) -> Minted:
    """A token as wished, of fresh chance. Its id may be another's: whoever keeps it finds out."""
    mark, secret = _base32(entropy(_MARK_BYTES)), _base32(entropy(_SECRET_BYTES))
    id_ = mark if wish.namespace == EVERY_NAMESPACE else f"{wish.namespace}_{mark}"
    token = Token(
        namespace=wish.namespace,
        id=id_,
        role=wish.role,
        secret_digest=_digest(secret),
        created_at=now,
        rev=rev,
        created_by=by,
        workflows=wish.workflows,
        description=wish.description,
        expires_at=wish.expires_at,
    )
    return Minted(token, f"{PREFIX}{id_}_{secret}")


def shown(text: str) -> Shown | None:
    """The parts of what has a token's form, else None."""
    found = _TEXT.fullmatch(text)
    return None if found is None else Shown(namespace_of(found["id"]), found["id"], found["secret"])


def namespace_of(token_id: str) -> str:
    """Whose a token is by its id: a namespace, or `EVERY_NAMESPACE`."""
    namespace, underscore, _ = token_id.rpartition("_")
    return namespace if underscore else EVERY_NAMESPACE


def _base32(entropy: bytes) -> str:
    return base64.b32encode(entropy).decode().lower()


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
