"""What workers are answered."""

from __future__ import annotations

from msgspec import Struct

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
