"""The client: one object, one method per thing a caller may ask of the service."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from baton_sdk.calls import json_object
from baton_sdk.handoff_calls import HandoffCalls
from baton_sdk.log_calls import LogCalls
from baton_sdk.retry import DEFAULT, PATIENT, RetryPolicy
from baton_sdk.run_calls import RunCalls
from baton_sdk.token_calls import AuditCalls, TokenCalls
from baton_sdk.tokens import Whoami
from baton_sdk.transport import Address, Transport
from baton_sdk.worker_calls import WorkerCalls
from baton_sdk.workflow_calls import WorkflowCalls


class Client(RunCalls, LogCalls, WorkflowCalls, HandoffCalls, WorkerCalls):
    """Talks to one Baton service as one caller. Use it as a context manager, or ``close`` it; threads may
    share it.

    ``url``, ``token`` and ``namespace`` come from ``BATON_URL``, ``BATON_TOKEN`` and ``BATON_NAMESPACE``
    where not given; without any, the stack on this laptop. ``retry`` bounds each call, ``patient`` what is
    to survive an outage: waiting, following and writing. Every method raises BatonError; see
    ``baton_sdk.errors``. What admins may ask is at ``tokens`` and ``audit``.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        namespace: str | None = None,
        *,
        timeout: float = 30.0,
        retry: RetryPolicy = DEFAULT,
        patient: RetryPolicy = PATIENT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.address = Address.resolve(url, token, namespace)
        self._patient = patient
        self._transport = Transport(self.address, timeout=timeout, retry=retry, transport=transport)
        self.tokens = TokenCalls(self._transport)
        self.audit = AuditCalls(self._transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._transport.close()

    def health(self) -> Mapping[str, Any]:
        """``{"status": "ok"}`` from a service that serves."""
        return json_object(self._get("/v1/health"))

    def openapi(self) -> Mapping[str, Any]:
        """The contract this service speaks."""
        return json_object(self._get("/v1/openapi.json"))

    def whoami(self) -> Whoami:
        """Whom the service takes the caller for: role, namespace, token."""
        return Whoami.from_json(json_object(self._get("/v1/whoami")))

    def date(self) -> str | None:
        """The service's own clock, as its ``Date`` header tells it."""
        found: str | None = self._get("/v1/health").headers.get("date")
        return found
