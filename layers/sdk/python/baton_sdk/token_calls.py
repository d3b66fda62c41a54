"""The calls of an admin: make, list and revoke tokens, and see who did what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from baton_sdk.calls import Calls, json_object, path_of, rfc3339
from baton_sdk.errors import InvalidRequest
from baton_sdk.tokens import Audited, NewToken, Token, id_of
from baton_sdk.transport import Transport


class TokenCalls(Calls):
    """``client.tokens``: who may, and what. ``namespace`` is the one that is acted in unless it is given; a
    token of every namespace may also name another one, or ``*``."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        role: str,
        *,
        namespace: str | None = None,
        workflows: Sequence[str] | None = None,
        description: str | None = None,
        expires_at: datetime | str | None = None,
    ) -> NewToken:
        """Make a token: its ``secret`` is told this once.

        ``role`` is ``viewer``, ``driver``, ``operator`` or ``admin``; ``workflows`` (32) narrow a driver to
        runs of these. Never repeated where a first request may have arrived: that would make a second token.
        After Unreachable or Unavailable there may be one whose secret nobody knows: ``list`` shows it, to
        ``revoke``.
        """
        fields = {
            "role": role,
            "namespace": namespace,
            "workflows": None if workflows is None else list(workflows),
            "description": description,
            "expires_at": rfc3339(expires_at),
        }
        return NewToken.from_json(json_object(self._post("/v1/tokens", fields, repeatable=False)))

    def list(self, *, namespace: str | None = None, page_size: int | None = None) -> Iterator[Token]:
        """Every token of a namespace, by id, page after page; one that has expired is there for some days."""
        params = {"namespace": namespace, "limit": page_size}
        return map(Token.from_json, self._pages("/v1/tokens", params, "tokens"))

    def revoke(self, token_id: str) -> None:
        """Have a token count no more. A gateway may remember it for a minute, and a live stream end as late
        as its window does. NotFound for a token of a namespace that is not acted in; InvalidRequest for a
        token's text, whose secret would go into a URL, and from there into logs."""
        if (known := id_of(token_id)) is not None:
            raise InvalidRequest(f"this is a token itself; its id is {known}")
        self._delete(path_of("tokens", token_id, "a token's id"))


class AuditCalls(Calls):
    """``client.audit``: what was done, beside what the runs' own logs tell."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, namespace: str | None = None, page_size: int | None = None) -> Iterator[Audited]:
        """What was done in a namespace, the newest first, page after page."""
        params = {"namespace": namespace, "limit": page_size}
        return map(Audited.from_json, self._pages("/v1/audit", params, "audit"))
