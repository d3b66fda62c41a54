"""What is used up by how many there are of something, or how busy one of it is, and not by settles."""

from __future__ import annotations

from typing import NamedTuple

from baton.config import Settings
from infra.model import quotas
from infra.model.lives import Assumptions
from infra.model.operations import APPEND


class Single(NamedTuple):
    """So many of ``what`` and no more, because of ``why``."""

    what: str
    most: float
    why: str
    moved_by: str


def singles(assumed: Assumptions, settings: Settings) -> list[Single]:
    """All of them."""
    return [
        Single(
            "appends of 5 KB of prose a second to one run",
            quotas.PARTITION_WRITES.most / APPEND.writes["log"],
            "its log is one partition",
            "nothing: more runs",
        ),
        Single(
            "changes a second of one run's row, in transactions",
            quotas.PARTITION_WRITES.most / 2,
            "it is in one partition",
            "nothing: more runs",
        ),
        Single(
            "inputs a second that join windows of one subscriber and key",
            1 / (2 * assumed.trip_seconds),
            "each reads the window's header and writes it",
            "`key` of the batch: a window for each",
        ),
        Single(
            "live readers at once (long poll, SSE)",
            quotas.CONTAINERS.most,
            "each holds a container while it waits",
            "quota: concurrent executions",
        ),
        Single(
            "workers at once that wait for a claim",
            quotas.CONTAINERS.most,
            "each holds a container while it waits",
            "quota: concurrent executions; wait_seconds of 0",
        ),
        Single(
            "containers at once that read one namespace's catalog",
            quotas.PARTITION_READS.most * 2 * settings.catalog_seconds,
            "each looks at its revision, half a unit",
            "catalog_seconds",
        ),
    ]
