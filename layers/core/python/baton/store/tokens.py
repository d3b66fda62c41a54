"""Tokens: one item each, in the catalog's table, beside what is read as the catalog."""

from __future__ import annotations

import msgspec
from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.models import Model

from baton.domain.clock import Millis
from baton.domain.roles import Role
from baton.domain.tokens import Token
from baton.store.dynamo import Dynamo, Raw, Table, Write
from baton.store.schema import CATALOG

PREFIX = "bearer#"
"""Sorts before all that is read with the workflows."""
EXPIRED_FOR_SECONDS = 7 * 24 * 3600
"""How long an expired token is still listed, at least."""

_workflows = msgspec.json.Decoder(tuple[str, ...])


class TokenRow(Model):
    """A token's item."""

    k = UnicodeAttribute(hash_key=True)
    s = UnicodeAttribute(range_key=True)
    rev = UnicodeAttribute(attr_name="rv")
    role = UnicodeAttribute(attr_name="o")
    secret_digest = UnicodeAttribute(attr_name="g")
    workflows = UnicodeAttribute(attr_name="w", null=True)
    """As JSON."""
    description = UnicodeAttribute(attr_name="d", null=True)
    created_at = NumberAttribute(attr_name="t")
    created_by = UnicodeAttribute(attr_name="by", null=True)
    expires_at = NumberAttribute(attr_name="x", null=True)
    used_at = NumberAttribute(attr_name="u", null=True)
    ttl = NumberAttribute(null=True)


class TokenStore:
    """The tokens in the catalog's table."""

    def __init__(self, dynamo: Dynamo, table_name: str) -> None:
        self._dynamo = dynamo
        self._table = Table(dynamo, CATALOG, table_name)

    def get(self, namespace: str, token_id: str) -> Token | None:
        """The token, consistently: one that was revoked is gone at once."""
        raw = self._table.get(namespace, PREFIX + token_id, consistent=True)
        return None if raw is None else token_of(raw)

    def create(self, token: Token, *also: Write) -> bool:
        """Keep a new token, and write ``also`` with it; False when its id is another's.

        Our own ``rev`` found standing is this very write, its reply lost (I9).
        """
        expires = token.expires_at
        row = TokenRow(
            k=token.namespace,
            s=PREFIX + token.id,
            rev=token.rev,
            role=token.role.name,
            secret_digest=token.secret_digest,
            workflows=None if token.workflows is None else msgspec.json.encode(token.workflows).decode(),
            description=token.description,
            created_at=token.created_at,
            created_by=token.created_by,
            expires_at=expires,
            ttl=None if expires is None else expires // 1000 + EXPIRED_FOR_SECONDS,
        )
        clash = self._dynamo.write(self._table.put(row, TokenRow.k.does_not_exist()), *also)
        found = None if clash is None else clash.existing[0]
        return clash is None or (found is not None and found["rv"]["S"] == token.rev)

    def delete(self, token: Token, *also: Write) -> bool:
        """Revoke a token as it was read; also when it is gone by now, by this very write or another (I9).
        ``also`` is written with it.
        False when another stands under its id."""
        gone = self._table.delete(token.namespace, PREFIX + token.id, TokenRow.rev == token.rev)
        clash = self._dynamo.write(gone, *also)
        return clash is None or clash.existing[0] is None

    def use(self, token: Token, now: Millis) -> None:
        """Note that a token is used, while there is one."""
        self._dynamo.write(
            self._table.update(
                token.namespace,
                PREFIX + token.id,
                [TokenRow.used_at.set(now)],
                TokenRow.rev == token.rev,
            )
        )

    def page(self, namespace: str, *, after: str | None, limit: int) -> tuple[list[Token], bool]:
        """Up to ``limit`` tokens after an id, and whether there may be more. Consistent."""
        start = None if after is None else {"k": {"S": namespace}, "s": {"S": PREFIX + after}}
        page = self._table.query(
            namespace, TokenRow.s.startswith(PREFIX), consistent=True, start=start, limit=limit
        )
        return [token_of(raw) for raw in page.items], page.more is not None


def token_of(raw: Raw) -> Token:
    """The token that an item is."""
    return Token(
        namespace=raw["k"]["S"],
        id=raw["s"]["S"].removeprefix(PREFIX),
        role=Role[raw["o"]["S"]],
        secret_digest=raw["g"]["S"],
        created_at=int(raw["t"]["N"]),
        rev=raw["rv"]["S"],
        created_by=raw["by"]["S"] if "by" in raw else None,
        workflows=_workflows.decode(raw["w"]["S"]) if "w" in raw else None,
        description=raw["d"]["S"] if "d" in raw else None,
        expires_at=int(raw["x"]["N"]) if "x" in raw else None,
        used_at=int(raw["u"]["N"]) if "u" in raw else None,
    )
