"""The terms on which a worker claims runs and performs them."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from baton_sdk.retry import FOREVER, PATIENT, RetryPolicy
from baton_sdk.worker.clock import Clock


@dataclass(frozen=True, kw_only=True)
class Terms:
    """``patience`` outlasts outages as long as the lease is held, or the worker goes on; ``last_patience``
    when it is told how an attempt ended."""

    worker_id: str
    lease_seconds: float
    clock: Clock
    logger: logging.Logger
    patience: RetryPolicy = FOREVER
    last_patience: RetryPolicy = PATIENT
