"""A local stack whose publisher dies once, between its writes: what `baton demo` plays against.

`python -m infra.local.mishap --doomed RUN`. The stack that people run knows nothing of it.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infra.local.command import host_until_stopped, pairs, speak

if TYPE_CHECKING:
    from baton.bootstrap import Runtime
    from infra.local.functions import Invoker, Streamed
    from infra.manifest import Function

_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"})
PUBLISHER = "publish"


class Death(BaseException):
    """The process is gone: no `except Exception` lives to see it."""


class DyingPublisher:
    """Calls functions as ``inner`` does, but the publisher of the run ``doomed`` dies after its first write.

    Once; whoever called it learns what Lambda would tell: that the function failed.
    """

    def __init__(self, inner: Invoker, runtime: Runtime, doomed: str) -> None:
        self._inner = inner
        self._doomed = doomed
        self._publishing = threading.local()
        self._died = False
        client: Any = runtime.dynamo.connection.client
        client.meta.events.register_last("after-call.dynamodb", self._after_call)

    def call(self, function: Function, event: dict[str, Any], request_id: str) -> Any:
        if self._died or function.name != PUBLISHER or not self._concerns(event):
            return self._inner.call(function, event, request_id)
        self._publishing.now = True
        try:
            return self._inner.call(function, event, request_id)
        except Death:
            raise RuntimeError("the publisher died") from None
        finally:
            self._publishing.now = False

    def stream(self, function: Function, event: dict[str, Any], request_id: str) -> Streamed:
        return self._inner.stream(function, event, request_id)

    def _concerns(self, event: dict[str, Any]) -> bool:
        keys = [record["dynamodb"]["Keys"]["k"].get("S", "") for record in event.get("Records", ())]
        return any(key.endswith(f"#{self._doomed}") for key in keys)

    def _after_call(self, http_response: Any, model: Any, **_: Any) -> None:
        done = http_response.status_code < 300
        if done and model.name in _WRITES and getattr(self._publishing, "now", False) and not self._died:
            self._died = True
            print(f"the publisher of {self._doomed} died after its first write", file=sys.stderr, flush=True)
            raise Death


def serve(
    doomed: Annotated[str, typer.Option(metavar="RUN", help="The run whose publisher dies.")],
    port: Annotated[int, typer.Option(min=0, max=65535)] = 0,
    setting: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE")] = None,
) -> None:
    """Run Baton on this machine, but let the publisher of one run die once. Ctrl-C stops it."""
    speak(quiet=True, verbose=False)
    host_until_stopped(
        port=port,
        given=pairs(setting or []),
        around=lambda functions, runtime: DyingPublisher(functions, runtime, doomed),
    )


if __name__ == "__main__":
    typer.run(serve)
