"""One logger, and a note of what each invocation did. Neither is ever given payloads or secrets."""

from __future__ import annotations

import os

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

SERVICE = os.environ.get("POWERTOOLS_SERVICE_NAME", "baton")
"""Tells the stages of one account apart. Powertools' own setting."""

logger = Logger(service=SERVICE)


def note(operation: str, took_ms: int, **counts: int) -> None:
    """Tell the metrics what an invocation did and how long it took: one line, on its own.

    Counts, but ``…_seconds``, which are how long something has been so. A buffer of its own each time,
    because the library's shared one is not for threads.
    """
    metrics = EphemeralMetrics(namespace="Baton", service=SERVICE)
    metrics.add_dimension("operation", operation)
    metrics.add_metric("took", MetricUnit.Milliseconds, took_ms)
    for name, count in counts.items():
        metrics.add_metric(name, MetricUnit.Seconds if name.endswith("_seconds") else MetricUnit.Count, count)
    metrics.flush_metrics()
