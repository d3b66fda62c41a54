"""Tokens: made, listed, revoked, and proven when somebody shows one."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from baton.domain.audit import Action
from baton.domain.clock import millis
from baton.domain.tokens import Minted, Token, Wish, mint, namespace_of, shown
from baton.errors import InvalidRequest, NotFound, TryAgain, Unavailable
from baton.observability import logger
from baton.services.audit import audited
from baton.services.context import Context

ROUNDS = 8
USED_EVERY_SECONDS = 3600
"""How coarse it is known when a token was used last."""


class TokensPage(NamedTuple):
    """Some tokens, by id; ``after`` is where the next page goes on, None at the end."""

    tokens: list[Token]
    after: str | None


class Tokens:
    """Where tokens are made, listed, revoked, and proven."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def create(self, wish: Wish, *, by: str | None) -> Minted:
        """A new token. Its text is said here and never again; a repeated wish makes another one.

        Raises InvalidRequest when it would have expired already, Unavailable.
        """
        context = self._context
        for _ in range(ROUNDS):
            now, rev = context.clock.now(), context.nonce()
            if wish.expires_at is not None and wish.expires_at <= now:
                raise InvalidRequest.at(["body", "expires_at"], "is past already")
            made = mint(wish, entropy=context.entropy, by=by, rev=rev, now=now)
            done = audited(context, wish.namespace, Action.TOKEN_CREATED, made.token.id, by=by)
            if context.tokens.create(made.token, *done):
                return made
        raise Unavailable("no id was free")

    def list(self, namespace: str, *, limit: int, after: str | None) -> TokensPage:
        """One page of a namespace's tokens, by id; those that have expired are shown for some days."""
        found, more = self._context.tokens.page(namespace, after=after, limit=limit)
        return TokensPage(found, found[-1].id if more and found else None)

    def revoke(self, token_id: str, *, within: Collection[str], by: str | None) -> None:
        """Have a token count no more: at once for whoever asks the store, for the others when what they
        remember has aged. Raises NotFound unless it is one of the namespaces ``within``."""
        context, namespace = self._context, namespace_of(token_id)
        token = context.tokens.get(namespace, token_id) if namespace in within else None
        if token is None:
            raise NotFound("no such token here")
        done = audited(context, namespace, Action.TOKEN_REVOKED, token_id, by=by)
        if not context.tokens.delete(token, *done):
            raise NotFound("no such token here")

    def authenticate(self, text: str) -> Token | None:
        """The token that ``text`` is, if it is one that counts. Raises Unavailable.

        That it was used is noted at most once an hour, and not at all where that fails.
        """
        parts = shown(text)
        if parts is None:
            return None
        token = self._context.tokens.get(parts.namespace, parts.id)
        if token is None or not parts.proves(token) or not token.good(self._context.clock.now()):
            return None
        self._used(token)
        return token

    def still_good(self, token_id: str) -> Token | None:
        """A token that was good, if it still is: neither revoked nor expired. Raises Unavailable."""
        token = self._context.tokens.get(namespace_of(token_id), token_id)
        return token if token is not None and token.good(self._context.clock.now()) else None

    def _used(self, token: Token) -> None:
        now = self._context.clock.now()
        if token.used_at is not None and now - token.used_at < millis(USED_EVERY_SECONDS):
            return
        try:
            self._context.tokens.use(token, now)
        except TryAgain as error:
            logger.warning("it could not be noted that a token is used", reason=error.detail)
