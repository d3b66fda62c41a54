"""What workers' requests may say."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from baton.api.models import MAX_SAFE, Body, NewSubscription, RunError
from baton.api.patterns import AnyRunId, Workflow, printable
from baton.domain.catalog import MAX_SUBSCRIPTIONS

WorkerId = AnyRunId
"""A worker's id has the form of a run's."""
LeaseSeconds = Annotated[
    float, Meta(ge=1, le=43_200, description="At least 10, where the deployment allows no shorter ones.")
]
Attempt = Annotated[int, Meta(ge=1, le=MAX_SAFE)]
MAX_CLAIMED_OF = 32
"""Workflows of one claim. A worker that serves more of them has them take turns."""
MAX_SERVED = 128
"""Workflows of one worker."""
MAX_CLAIMED = 25


class ClaimRuns(Body, frozen=True):
    """A worker's wish for runs of ``workflows``, which it waits for up to ``wait_seconds``."""

    worker_id: WorkerId
    workflows: Annotated[list[Workflow], Meta(min_length=1, max_length=MAX_CLAIMED_OF)]
    max: Annotated[int, Meta(ge=1, le=MAX_CLAIMED)] | None = None
    lease_seconds: LeaseSeconds | None = None
    wait_seconds: Annotated[float, Meta(ge=0, le=20)] | None = None


class ClaimRun(Body, frozen=True):
    """A worker's wish for one run."""

    worker_id: WorkerId
    lease_seconds: LeaseSeconds | None = None


class RenewLease(Body, frozen=True):
    """A holder's wish to go on; without ``lease_seconds`` for as long as its lease was for."""

    worker_id: WorkerId
    attempt: Attempt
    lease_seconds: LeaseSeconds | None = None


class ReleaseRun(Body, frozen=True):
    """A holder's word that it drives the run no more. With ``error`` it is a failure to be tried again, which
    counts toward ``max_attempts``."""

    worker_id: WorkerId
    attempt: Attempt
    delay_seconds: Annotated[float, Meta(ge=0, le=86_400)] | None = None
    error: RunError | None = None


class ServedWorkflow(Body, frozen=True):
    """A workflow that the worker serves, and what is to start it: without ``subscribes`` it has nothing to
    say about that, with an empty one nothing starts it."""

    name: Workflow
    subscribes: Annotated[list[NewSubscription], Meta(max_length=MAX_SUBSCRIPTIONS)] | None = None


class PutWorker(Body, frozen=True):
    """A worker's word that it is alive, and which workflows it serves. ``runtime``: what it is made of."""

    workflows: Annotated[list[ServedWorkflow], Meta(min_length=1, max_length=MAX_SERVED)]
    runtime: Annotated[str, printable(256)] | None = None
