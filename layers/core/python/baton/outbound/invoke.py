"""What an invocation leaves to another of the same function."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from baton.errors import Unavailable
from baton.outbound.clients import Client, LazyClient


class Onward(Protocol):
    """Who takes on what one invocation can't finish."""

    def later(self, function_event: dict[str, Any]) -> None:
        """Have the function that calls this called with ``function_event``, soon and apart from this
        invocation; at least once. Raises Unavailable: then nobody will."""
        ...


class SelfInvocation:
    """An asynchronous invocation of the function of that name, by Lambda.

    Lambda ends a chain of a function's calls of itself after some 16 of them, as a loop, unless the
    deployment says that it is meant, as ours does. Whoever hands on must not depend on the last link all the
    same: it may be lost.
    """

    def __init__(self, function_name: str, *, region: str, client: Client | None = None) -> None:
        self._function_name = function_name
        self._client = client or LazyClient("lambda", region=region)

    def later(self, function_event: dict[str, Any]) -> None:
        payload = msgspec.json.encode(function_event)
        try:
            self._client().invoke(FunctionName=self._function_name, InvocationType="Event", Payload=payload)
        except (BotoCoreError, ClientError) as exc:
            raise Unavailable("the function can't be called on") from exc
