"""The gateway's authoriser: who shows a token that counts, and nothing else. It refuses nobody: to whom it
knows nothing of the handlers say so, as the contract has it.

Source: "Control access to HTTP APIs with AWS Lambda authorizers", format 2.0 with simple responses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from baton.api.identity import vouched

if TYPE_CHECKING:
    from baton.services.runtime import Runtime

_BEARER = "bearer"


def authorize(runtime: Runtime, event: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to one event of the gateway. Raises Unavailable: a failure is answered by the gateway, and
    not remembered by it as anybody's rights."""
    text = _bearer((event.get("headers") or {}).get("authorization") or "")
    token = None if text is None else runtime.tokens.look_at(text)
    return {"isAuthorized": True, "context": vouched(token)}


def _bearer(header: str) -> str | None:
    """What follows the scheme, which is of any case. Source: RFC 6750, 2.1, and RFC 9110, 11.1."""
    scheme, _, text = header.strip().partition(" ")
    return text.strip() if scheme.lower() == _BEARER else None
