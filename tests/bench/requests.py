"""The requests that the scripts send, by what they wish for."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from tests.bench.house import Request, run_path

WORKFLOW = "bench"
WORKER = "ip-10-0-12-34.eu-central-1.compute.internal-4711-5f2c9a1b"
NO_WATCHDOG = {"inactivity_timeout_seconds": 0}


def start(key: str | None = None, *, traceparent: str | None = None, **fields: Any) -> Request:
    """A start of the bench's workflow."""
    headers = {} if key is None else {"idempotency-key": key}
    headers |= {} if traceparent is None else {"traceparent": traceparent}
    return _post("start", "/v1/runs", {"workflow": WORKFLOW} | fields, headers)


def append(run: str, body: str, *, echo: str | None, producer: str, seq: int) -> Request:
    """An append of a producer's ``seq``-th batch, with the tail that it was given last."""
    headers = {"producer-id": producer, "producer-epoch": "0", "producer-seq": str(seq)} | _echoed(echo)
    return Request("append", "POST", run_path(run, "stream"), headers=headers, body=body.encode())


def finish(run: str, *, echo: str | None = None, key: str = "finish", **fields: Any) -> Request:
    """A finish as the client sends it, by default without output."""
    headers = {"idempotency-key": key} | _echoed(echo)
    return _post("finish", run_path(run, "finish"), {"status": "completed"} | fields, headers)


def cancel(run: str) -> Request:
    """A wish that the run end."""
    return _post("control", run_path(run, "cancel"), {"reason": "enough"})


def resume(run: str, key: str) -> Request:
    """A wish that the run go on."""
    return _post("control", run_path(run, "resume"), {}, {"idempotency-key": key})


def claim(*workflows: str, key: str | None = None, **fields: Any) -> Request:
    """A worker's wish for runs of these workflows."""
    headers = {} if key is None else {"idempotency-key": key}
    return _post("workers", "/v1/claims", {"worker_id": WORKER, "workflows": workflows} | fields, headers)


def claim_one(run: str, key: str) -> Request:
    """A worker's wish for one run."""
    return _post("workers", run_path(run, "claim"), {"worker_id": WORKER}, {"idempotency-key": key})


def renew(run: str) -> Request:
    """A worker's wish to go on at the first attempt."""
    return _post("workers", run_path(run, "renew"), {"worker_id": WORKER, "attempt": 1})


def release(run: str, **fields: Any) -> Request:
    """A worker's word that it has done with the first attempt."""
    return _post("workers", run_path(run, "release"), {"worker_id": WORKER, "attempt": 1} | fields)


def get(run: str) -> Request:
    """The run and all around it."""
    return Request("runs", "GET", run_path(run))


def listing(query: str) -> Request:
    """A page of runs."""
    return Request("runs", "GET", "/v1/runs", query)


def delete(run: str) -> Request:
    """The end of a settled run."""
    return Request("runs", "DELETE", run_path(run))


def read(run: str, offset: str, live: str | None = None) -> Request:
    """What the log has from an offset on."""
    query = f"offset={offset}" + ("" if live is None else f"&live={live}")
    return Request("stream", "GET", run_path(run, "stream"), query)


def register(workflow: str, fields: Mapping[str, Any]) -> Request:
    """The registration of a workflow."""
    body = json.dumps(fields).encode()
    return Request("workflows", "PUT", f"/v1/workflows/{quote(workflow, safe='')}", body=body)


SWEEP = Request("sweep")
HEAL = Request("heal")


def _echoed(echo: str | None) -> dict[str, str]:
    return {} if echo is None else {"baton-tail": echo}


def _post(
    function: str, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> Request:
    return Request(function, "POST", path, headers=headers, body=json.dumps(body).encode())
