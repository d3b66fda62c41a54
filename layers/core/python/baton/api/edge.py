"""Around every handler: who asks, what comes of it, what is told and noted. Nothing goes unanswered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from baton.api import render, response
from baton.api.contract import OPERATIONS
from baton.api.identity import ANONYMOUS, NAMESPACE_HEADER, Caller, identify
from baton.api.operation import Operation
from baton.api.problems import INTERNAL_DETAIL, problem
from baton.api.request import Request
from baton.api.response import Response
from baton.domain.roles import Role
from baton.domain.run import Run
from baton.errors import BatonError, Internal, NotFound, TryAgain
from baton.observability import logger, note

if TYPE_CHECKING:
    from baton.api import answers
    from baton.services.runtime import Runtime

Event = Mapping[str, Any]
Handle = Callable[[Request], Response]

_ROWS = {row.id: row for row in OPERATIONS}
REFUSAL = 400
SERVER_FAULT = 500


class Endpoint:
    """One operation of the contract and what performs it. Called with an event it is a Lambda handler."""

    def __init__(self, row: Operation, runtime: Runtime, handle: Handle) -> None:
        self.row = row
        self.runtime = runtime
        self._handle = handle

    def __call__(self, event: Event, context: Any) -> dict[str, Any]:
        """The answer to one request of payload format 2.0."""
        return self.answer(event, context).event()

    def answer(self, event: Event, context: Any, *, streaming: bool = False) -> Response:
        """The answer; ``streaming``: its body may still be to come."""

        def handle(caller: Caller) -> Response:
            return self._handle(
                Request(event, context, caller, streaming=streaming, permit=self._permit(caller))
            )

        return answered(self.runtime, event, self.row, handle)

    def _permit(self, caller: Caller) -> Callable[[str], None] | None:
        """What looks whether a driver of certain workflows may drive a run. What it may read is not narrowed.

        It costs such a driver a read. An id that begins another life, of another workflow, between this and
        what is then done is not seen.
        """
        if caller.workflows is None or (self.row.role or Role.VIEWER) < Role.DRIVER:
            return None
        return lambda run_id: caller.demand_workflow(self.runtime.workflow_of(caller.namespace, run_id))


def operation(id_: str, runtime: Runtime) -> Callable[[Handle], Endpoint]:
    """Make a function the operation of that id."""

    def endpoint(handle: Handle) -> Endpoint:
        return Endpoint(_ROWS[id_], runtime, handle)

    return endpoint


def answered(
    runtime: Runtime, event: Event, row: Operation | None, handle: Callable[[Caller], Response]
) -> Response:
    """What ``handle`` answers, or the problem that it raises; noted, and with every answer's headers."""
    began = runtime.clock.now()
    name = row.id if row else "none"
    request_id = event["requestContext"]["requestId"]
    logger.thread_safe_append_keys(request_id=request_id, operation=name)
    try:
        answer = _tried(runtime, event, row, handle)
        answer.headers = {
            "X-Request-Id": request_id,
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": response.NO_STORE,
            **answer.headers,
        }
        _note(name, answer.status, runtime.clock.now() - began)
        return answer
    finally:
        logger.thread_safe_clear_keys()


def _tried(
    runtime: Runtime, event: Event, row: Operation | None, handle: Callable[[Caller], Response]
) -> Response:
    caller = ANONYMOUS
    try:
        if row is not None and row.role is not None:
            caller = identify(event, runtime.settings, runtime.clock.now())
            if caller.token_id is not None:
                runtime.limiter.let_in(caller.token_id)
            caller = caller.acting_in((event.get("headers") or {}).get(NAMESPACE_HEADER))
            logger.thread_safe_append_keys(namespace=caller.namespace)
            caller.demand(row.role, "this")
        return handle(caller)
    except BatonError as error:
        answer = problem(error, _truth(runtime, caller, error.run))
        if answer.status >= SERVER_FAULT:
            logger.warning("refused", reason=error.detail, exc_info=True)
    except Exception:  # noqa: BLE001 - the edge: what nobody foresaw is logged here and told to no one
        logger.exception("a fault of ours")
        answer = problem(Internal(INTERNAL_DETAIL), None)
    if event["requestContext"]["http"]["method"] == "HEAD":
        answer.body = b""
    return answer


def _note(name: str, status: int, took_ms: int) -> None:
    kind = "failures" if status >= SERVER_FAULT else "refusals" if status >= REFUSAL else "successes"
    note(name, took_ms, **{kind: 1})


def _truth(runtime: Runtime, caller: Caller, run: Any) -> answers.Run | None:
    """The run a refusal is about, as it is now; nothing where it is gone or can't be read now."""
    if not isinstance(run, Run):
        return None
    try:
        return render.run(runtime.runs.get(caller.namespace, run.id))
    except (NotFound, TryAgain):
        return None
    except Exception:  # noqa: BLE001 - as above: the refusal stands without it
        logger.exception("the run that a refusal is about can't be shown")
        return None
