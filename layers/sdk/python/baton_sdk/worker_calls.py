"""The calls of a worker: claim runs, keep them, give them back, and be known as alive."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from baton_sdk.calls import Calls, json_object, path_of, run_path
from baton_sdk.errors import BadAnswer
from baton_sdk.lease import Renewed, WorkerInfo
from baton_sdk.retry import RetryPolicy
from baton_sdk.run import Run
from baton_sdk.wish import plain
from baton_sdk.workflow import Subscription

ANSWER_SECONDS = 15.0
"""How long a claim's answer may take beyond what it waits for runs."""


class WorkerCalls(Calls):
    """A run under a lease, from the claim to the release; ``finish`` and ``suspend`` end one, too."""

    def claim(
        self,
        worker_id: str,
        workflows: Sequence[str],
        *,
        max: int = 1,
        lease_seconds: float | None = None,
        wait_seconds: float = 0,
        idempotency_key: str | None = None,
        retry: RetryPolicy | None = None,
    ) -> list[Run]:
        """Claim up to ``max`` (25) runs of these workflows (32), by priority, then the oldest: each is given
        to one worker alone. None there: wait for one for ``wait_seconds`` (20), then answer none.

        Always sent with a key, so a lost reply is repeated and finds the same runs while their leases
        (``lease_seconds``, 10 to 43200, by default 60) live. ``run.attempt`` is the fence of what follows.
        """
        fields = {
            "worker_id": worker_id,
            "workflows": list(workflows),
            "max": max,
            "lease_seconds": lease_seconds,
            "wait_seconds": wait_seconds,
        }
        response = self._post(
            "/v1/claims",
            fields,
            headers=_key(idempotency_key),
            repeatable=True,
            retry=retry,
            read_timeout=wait_seconds + ANSWER_SECONDS,
        )
        found = json_object(response).get("runs")
        if not isinstance(found, list):
            raise BadAnswer("the server's answer to a claim has no runs")
        return [Run.from_json(entry) for entry in found]

    def claim_run(
        self,
        run_id: str,
        worker_id: str,
        *,
        lease_seconds: float | None = None,
        idempotency_key: str | None = None,
    ) -> Run:
        """Claim this one. InFlight when it is not pending, or not yet available; RunTerminal when it has
        settled. A lost reply is repeated and finds it claimed."""
        fields = {"worker_id": worker_id, "lease_seconds": lease_seconds}
        return self._about(f"{run_path(run_id)}/claim", fields, headers=_key(idempotency_key))

    def renew(
        self,
        run_id: str,
        worker_id: str,
        attempt: int,
        *,
        lease_seconds: float | None = None,
        timeout_seconds: float | None = None,
        retry: RetryPolicy | None = None,
    ) -> Renewed:
        """Keep the lease for ``lease_seconds`` from now, by default as long as it was. LeaseLost when this
        worker does not hold this attempt any more, RunTerminal when the run has settled: stop driving it.

        ``timeout_seconds`` bounds the waiting for one answer: a lease that can't be renewed is to be known
        before it has ended.
        """
        fields = {"worker_id": worker_id, "attempt": attempt, "lease_seconds": lease_seconds}
        response = self._post(
            f"{run_path(run_id)}/renew", fields, repeatable=True, retry=retry, read_timeout=timeout_seconds
        )
        return Renewed.from_json(json_object(response))

    def release(
        self,
        run_id: str,
        worker_id: str,
        attempt: int,
        *,
        delay_seconds: float | None = None,
        error: Mapping[str, Any] | str | None = None,
        retry: RetryPolicy | None = None,
    ) -> Run:
        """Give the run back: pending again, for any worker, after ``delay_seconds`` (86400 at most).

        With ``error`` it is a failure to be tried again: it counts toward the run's ``max_attempts``, which
        used up settle it ``dead``, and without a delay the service waits longer from failure to failure.
        LeaseLost for who does not hold it. Repeated after a lost reply it is answered as the first was.
        """
        fields = {
            "worker_id": worker_id,
            "attempt": attempt,
            "delay_seconds": delay_seconds,
            "error": {"message": error} if isinstance(error, str) else error,
        }
        return self._about(f"{run_path(run_id)}/release", fields, retry=retry)

    def announce(
        self,
        worker_id: str,
        workflows: Mapping[str, Sequence[Subscription | Mapping[str, Any]] | None],
        *,
        runtime: str | None = None,
    ) -> float:
        """Say that this worker is alive, which workflows (128) it serves and what each is started by; answers
        for how many seconds that holds.

        None for a workflow says nothing of its subscriptions, an empty sequence that it has none. To announce
        any takes an operator's token; what ``put_workflow`` registered outranks them.
        """
        served = [
            {"name": name}
            if subscribes is None
            else {"name": name, "subscribes": [plain(each) for each in subscribes]}
            for name, subscribes in workflows.items()
        ]
        answer = json_object(self._put(worker_path(worker_id), {"runtime": runtime, "workflows": served}))
        ttl = answer.get("ttl_seconds")
        if not isinstance(ttl, int | float):
            raise BadAnswer("the server's answer to an announcement has no ttl_seconds")
        return float(ttl)

    def workers(self, *, page_size: int | None = None) -> Iterator[WorkerInfo]:
        """Every live worker, page after page."""
        return map(WorkerInfo.from_json, self._pages("/v1/workers", {"limit": page_size}, "workers"))

    def _about(
        self,
        path: str,
        fields: Mapping[str, Any],
        *,
        headers: Mapping[str, str] | None = None,
        retry: RetryPolicy | None = None,
    ) -> Run:
        response = self._post(path, fields, headers=headers, repeatable=True, retry=retry)
        return Run.from_json(json_object(response).get("run"))


def worker_path(worker_id: str) -> str:
    """The path of a worker. Raises InvalidRequest."""
    return path_of("workers", worker_id, "a worker's id")


def _key(given: str | None) -> dict[str, str]:
    return {"idempotency-key": given or str(uuid.uuid4())}
