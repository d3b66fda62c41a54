"""What workers are answered."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from baton.api.answers import CancelRequested, Run, Time


class ClaimedRuns(Struct, frozen=True):
    """The runs that the worker holds now, with their inputs; none when none came to be there in time."""

    runs: list[Run]


class ClaimedRun(Struct, frozen=True):
    """The run, held by the worker."""

    run: Run


class Renewed(Struct, frozen=True):
    """Until when the worker holds the run, and whether it is asked to end it."""

    expires_at: Time
    cancel_requested: CancelRequested | None


class ReleasedRun(Struct, frozen=True):
    """The run, held by nobody."""

    run: Run


class Heard(Struct, frozen=True):
    """For how long the worker counts as alive from now on, unless it is heard again."""

    ttl_seconds: float


class Worker(Struct, frozen=True):
    """A worker that is alive: what it serves, when it was heard, and until when it counts as alive."""

    worker_id: str
    runtime: str | None
    workflows: tuple[str, ...]
    seen_at: Time
    expires_at: Time


class WorkersPage(Struct, frozen=True):
    """Some live workers, by id. Only the absence of ``next_token`` is the end."""

    workers: list[Worker]
    next_token: str | UnsetType = UNSET
