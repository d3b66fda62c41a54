"""Tokens, and who did what, as the contract spells them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET

from baton.api import token_answers
from baton.api.identity import Caller
from baton.api.token_models import RoleName
from baton.domain.clock import Millis, rfc3339
from baton.domain.tokens import Token
from baton.services.audit import AuditPage
from baton.services.tokens import TokensPage


def token(known: Token) -> token_answers.Token:
    """All that is known of a token: its secret is not."""
    return token_answers.Token(
        id=known.id,
        namespace=known.namespace,
        role=RoleName[known.role.name],
        workflows=known.workflows,
        description=known.description,
        created_at=rfc3339(known.created_at),
        created_by=known.created_by,
        expires_at=_moment(known.expires_at),
        used_at=_moment(known.used_at),
    )


def whoami(caller: Caller, shown: Token | None) -> token_answers.Whoami:
    """Who asks, and all that is known of the token they have shown."""
    return token_answers.Whoami(
        namespace=caller.namespace,
        role=RoleName[caller.role.name],
        by=caller.by,
        token=None if shown is None else token(shown),
    )


def page(found: TokensPage, cursor: Callable[[str], str]) -> token_answers.TokensPage:
    """A page of the list; ``cursor`` makes a token of the place where the list goes on."""
    after = UNSET if found.after is None else cursor(found.after)
    return token_answers.TokensPage([token(each) for each in found.tokens], after)


def audit(found: AuditPage, cursor: Callable[[str], str]) -> token_answers.AuditPage:
    """The same of what was done."""
    done = [
        token_answers.Audited(rfc3339(each.at), each.action.value, each.subject, each.by)
        for each in found.done
    ]
    return token_answers.AuditPage(done, UNSET if found.after is None else cursor(found.after))


def _moment(at: Millis | None) -> str | None:
    return None if at is None else rfc3339(at)
