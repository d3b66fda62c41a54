"""The one request that tells the service how an attempt ended."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial

from baton_sdk.client import Client
from baton_sdk.run import ContinueAsNew, Run
from baton_sdk.worker.endings import (
    CancelHeeded,
    Completed,
    Continued,
    Ending,
    Failed,
    GivenBack,
    LeaseGone,
    Suspended,
    TryAgainLater,
)


def request_of(
    ending: Ending, client: Client, run: Run, worker_id: str, tail: str | None
) -> Callable[[], object]:
    """What to call for ``ending``. Called again after an unknown outcome, it is the same request: a finish
    and a suspension have a key, and a release is known by its worker and its attempt."""
    finish = partial(client.finish, run.id, attempt=run.attempt, tail=tail, idempotency_key=str(uuid.uuid4()))
    release = partial(client.release, run.id, worker_id, run.attempt)
    match ending:
        case Completed(output):
            return partial(finish, status="completed", output=output)
        case Continued(input_):
            return partial(finish, status="completed", continue_as_new=ContinueAsNew(input=input_))
        case Failed(error=error, resumable=resumable):
            return partial(finish, status="failed", error=error, resumable=resumable)
        case CancelHeeded(error):
            return partial(finish, status="cancelled", error=error, resumable=True)
        case Suspended(wait):
            return partial(
                client.suspend,
                run.id,
                until=wait.until,
                run=wait.run,
                event=wait.event,
                attempt=run.attempt,
                # Not of the position alone: a run that is resumed while it waits begins to wait again.
                idempotency_key=f"{run.attempt}:{wait.position}",
            )
        case TryAgainLater(error=error, after_seconds=after):
            return partial(release, error=error, delay_seconds=after)
        case GivenBack() | LeaseGone():
            return release
