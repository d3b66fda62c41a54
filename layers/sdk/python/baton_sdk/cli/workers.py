"""``baton workers``: who is alive to claim runs."""

from __future__ import annotations

from typing import Any

from baton_sdk.cli.session import Session
from baton_sdk.cli.views import present, when
from baton_sdk.lease import WorkerInfo

COLUMNS = ("WORKER", "WORKFLOWS", "RUNTIME", "SEEN")


def workers(session: Session) -> None:
    """List the live workers and the workflows each serves.

    A worker tells that it lives every 15 s; unheard for a minute it is not listed any more.

    \b
    Examples:
      baton workers
      baton workers --json | jq -r '.workers[] | select(.workflows | index("report")) | .worker_id'
    """
    with session.client() as client:
        found = list(client.workers(page_size=100))
    if session.out.as_json:
        session.out.document({"workers": [worker.raw for worker in found]})
    elif found or not session.out.for_person:
        session.out.table(COLUMNS, (_row(worker, for_person=session.out.for_person) for worker in found))
    else:
        session.out.note("no workers: `baton worker MODULE` starts one")


def _row(worker: WorkerInfo, *, for_person: bool) -> tuple[Any, ...]:
    now = present() if for_person else None
    return (worker.worker_id, ", ".join(worker.workflows), worker.runtime, when(worker.seen_at, now))
