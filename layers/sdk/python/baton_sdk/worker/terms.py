"""The terms on which a worker claims runs and performs them."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from baton_sdk.retry import FOREVER, PATIENT, RetryPolicy
from baton_sdk.worker.clock import Clock
from baton_sdk.worker.names import check_worker_id

LEAST_LEASE_SECONDS, MOST_LEASE_SECONDS = 1, 43_200
"""What any deployment may take; most take no less than 10."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """``patience`` outlasts outages as long as the lease is held, or the worker goes on; ``last_patience``
    when it is told how an attempt ended. Raises ValueError for an id that is none and a lease that no
    deployment takes."""

    worker_id: str
    lease_seconds: float
    clock: Clock
    logger: logging.Logger
    patience: RetryPolicy = FOREVER
    last_patience: RetryPolicy = PATIENT

    def __post_init__(self) -> None:
        check_worker_id(self.worker_id)
        if not LEAST_LEASE_SECONDS <= self.lease_seconds <= MOST_LEASE_SECONDS:
            allowed = f"lease_seconds is {LEAST_LEASE_SECONDS} to {MOST_LEASE_SECONDS}"
            raise ValueError(f"{allowed}, not {self.lease_seconds:g}")
