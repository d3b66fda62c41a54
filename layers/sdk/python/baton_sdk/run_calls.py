"""The calls of a run's life: start, get, list, wait, finish, cancel, resume, delete."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import httpx

from baton_sdk.calls import Calls, json_object, present, rfc3339, run_path
from baton_sdk.producer import TAIL_HEADER
from baton_sdk.retry import Listener, RetryPolicy
from baton_sdk.run import ContinueAsNew, Finished, Resumed, Run, RunDetail, Started
from baton_sdk.transport import Request
from baton_sdk.wish import plain

WAIT_WINDOW_SECONDS = 25
"""The longest single wait the service grants; longer ones are several."""


class RunCalls(Calls):
    """A run from its start to its deletion."""

    def start(
        self,
        workflow: str,
        *,
        input: Any = None,
        run_id: str | None = None,
        context_ref: str | None = None,
        agent_id: str | None = None,
        tags: Sequence[str] = (),
        mode: str | None = None,
        inactivity_timeout_seconds: float | None = None,
        max_attempts: int | None = None,
        available_at: datetime | str | None = None,
        priority: int | None = None,
        idempotency_key: str | None = None,
        traceparent: str | None = None,
        retry: RetryPolicy | None = None,
        listener: Listener | None = None,
    ) -> Started:
        """Start a run, once. A key makes it safe to repeat; one is made up when neither key nor ``run_id`` is
        given.

        ``started`` is False when the caller's own key had started the run before. With a ``run_id`` alone a
        lost reply is not repeated: RunExists would not tell whose run it is.
        """
        made_up = idempotency_key is None and run_id is None
        key = str(uuid.uuid4()) if made_up else idempotency_key
        response = self._post(
            "/v1/runs",
            {
                "workflow": workflow,
                "run_id": run_id,
                "input": input,
                "context_ref": context_ref,
                "agent_id": agent_id,
                "tags": list(tags) or None,
                "mode": mode,
                "inactivity_timeout_seconds": inactivity_timeout_seconds,
                "max_attempts": max_attempts,
                "available_at": rfc3339(available_at),
                "priority": priority,
            },
            headers=present({"idempotency-key": key, "traceparent": traceparent}),
            repeatable=key is not None,
            retry=retry,
            listener=listener,
        )
        document = json_object(response)
        return Started(
            run=Run.from_json(document.get("run")),
            # Under a key nobody else can know, "started before" was this very request, its reply lost.
            started=made_up or bool(document.get("started")),
            tail=response.headers.get(TAIL_HEADER),
        )

    def get(self, run_id: str) -> RunDetail:
        """The run as it is now, its deliveries and what waits."""
        response = self._get(run_path(run_id))
        return RunDetail.from_json(json_object(response), response.headers.get("etag"))

    def get_if_changed(self, run_id: str, etag: str) -> RunDetail | None:
        """The run, or None while it still is what ``etag`` named."""
        response = self._get(run_path(run_id), headers={"if-none-match": etag})
        if response.status_code == httpx.codes.NOT_MODIFIED:
            return None
        return RunDetail.from_json(json_object(response), response.headers.get("etag"))

    def list(
        self,
        *,
        workflow: str | None = None,
        states: Sequence[str] = (),
        context_ref: str | None = None,
        tag: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        page_size: int | None = None,
    ) -> Iterator[Run]:
        """Every run that fits, newest first, page after page."""
        params = {
            "workflow": workflow,
            "state": list(states) or None,
            "context_ref": context_ref,
            "tag": tag,
            "since": rfc3339(since),
            "until": rfc3339(until),
            "limit": page_size,
        }
        return map(Run.from_json, self._pages("/v1/runs", params, "runs"))

    def wait(
        self, run_id: str, timeout_seconds: float | None = None, *, listener: Listener | None = None
    ) -> Run:
        """Block until the run is terminal, or for ``timeout_seconds``: look at ``run.terminal``."""
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while True:
            left = WAIT_WINDOW_SECONDS if deadline is None else deadline - time.monotonic()
            window = max(0, min(WAIT_WINDOW_SECONDS, round(left, 1)))
            request = Request(
                method="GET",
                path=f"{run_path(run_id)}/wait",
                params={"timeout_seconds": f"{window:g}"},
                repeatable=True,
                read_timeout=WAIT_WINDOW_SECONDS + 15.0,
            )
            document = json_object(self._transport.send(request, retry=self._patient, listener=listener))
            if document.get("terminal") or (deadline is not None and time.monotonic() >= deadline):
                return Run.from_json(document.get("run"))

    def finish(
        self,
        run_id: str,
        status: str,
        *,
        output: Any = None,
        error: Mapping[str, Any] | str | None = None,
        code: int | None = None,
        signal: str | None = None,
        resumable: bool | None = None,
        session_ref: str | None = None,
        continue_as_new: ContinueAsNew | Mapping[str, Any] | None = None,
        attempt: int | None = None,
        tail: str | None = None,
        idempotency_key: str | None = None,
        retry: RetryPolicy | None = None,
        listener: Listener | None = None,
    ) -> Finished:
        """Settle the run, once: ``finished`` is False when someone else's outcome stands, which ``run`` then
        tells.

        ``continue_as_new`` (with completed) starts a successor in the same write: ``run.continued_as`` names
        it, no ending is published, and who waits for this run goes on waiting for that one.
        ``tail`` (``writer.tail``) saves a read. ``attempt`` is the driver's fence (LeaseLost when another has
        taken over). Always sent with a key, so a lost reply is repeated and answered as the first was.
        """
        response = self._post(
            f"{run_path(run_id)}/finish",
            {
                "status": status,
                "output": output,
                "error": {"message": error} if isinstance(error, str) else error,
                "code": code,
                "signal": signal,
                "resumable": resumable,
                "session_ref": session_ref,
                "continue_as_new": plain(continue_as_new),
            },
            headers=present(
                {
                    "idempotency-key": idempotency_key or str(uuid.uuid4()),
                    "baton-attempt": None if attempt is None else str(attempt),
                    TAIL_HEADER: tail,
                }
            ),
            repeatable=True,
            retry=retry,
            listener=listener,
        )
        document = json_object(response)
        return Finished(run=Run.from_json(document.get("run")), finished=bool(document.get("finished")))

    def cancel(self, run_id: str, *, reason: str | None = None, force: bool = False) -> Run:
        """Ask the driver to stop (the first wish stands); ``force`` settles the run without asking."""
        fields = {"reason": reason, "force": force or None}
        document = json_object(self._post(f"{run_path(run_id)}/cancel", fields, repeatable=True))
        return Run.from_json(document.get("run"))

    def resume(self, run_id: str, *, force: bool = False, idempotency_key: str | None = None) -> Resumed:
        """Open a settled, resumable run again under the next attempt. Not eligible is ``resumed`` False, no
        error."""
        response = self._post(
            f"{run_path(run_id)}/resume",
            {"force": force or None},
            headers={"idempotency-key": idempotency_key or str(uuid.uuid4())},
            repeatable=True,
        )
        document = json_object(response)
        return Resumed(run=Run.from_json(document.get("run")), resumed=bool(document.get("resumed")))

    def delete(self, run_id: str) -> None:
        """Delete a terminal run and its log at once. InFlight or StillOwed when that is too early."""
        self._delete(run_path(run_id))
