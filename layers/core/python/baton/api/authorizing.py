"""The gateway's authoriser: who shows a token that counts, and nothing else. It refuses nobody: to whom it
knows nothing of the handlers say so, as the contract has it.

Source: "Control access to HTTP APIs with AWS Lambda authorizers", format 2.0 with simple responses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from baton.api.identity import bearer, vouched

if TYPE_CHECKING:
    from baton.services.runtime import Runtime


def authorize(runtime: Runtime, event: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to one event of the gateway. Raises Unavailable: a failure is answered by the gateway, and
    not remembered by it as anybody's rights."""
    text = bearer(event.get("headers") or {})
    token = None if text is None else runtime.tokens.authenticate(text)
    return {"isAuthorized": True, "context": vouched(token)}
