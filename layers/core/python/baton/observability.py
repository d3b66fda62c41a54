"""One logger, and a note of what each invocation did. Neither is ever given payloads or secrets."""

from __future__ import annotations

import logging
import os
import traceback
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from baton.errors import BatonError, InvalidRequest

SERVICE = os.environ.get("POWERTOOLS_SERVICE_NAME", "baton")
"""Tells the stages of one account apart. Powertools' own setting."""

for _chatty in ("aws_lambda_powertools", "botocore", "pynamodb", "urllib3"):
    # At DEBUG, to which a deployment may set Lambda's own level, they log what is sent and by whose rights.
    logging.getLogger(_chatty).setLevel(max(logging.INFO, logging.getLogger().level))


def told(trouble: BaseException) -> str:
    """What a log line may repeat of an exception: its type, and what it says where that is a sentence of
    ours. Any other may quote what it met, as what refuses a request may; so may AWS's, but for their code."""
    kind = type(trouble).__qualname__
    if isinstance(trouble, BatonError) and not isinstance(trouble, InvalidRequest):
        return f"{kind}: {trouble.detail}"
    answer = getattr(trouble, "response", None)  # of botocore's ClientError
    code = answer.get("Error", {}).get("Code") if isinstance(answer, dict) else None
    return kind if code is None else f"{kind}: {code}"


class _Formatter(LambdaPowertoolsFormatter):
    """Tells of an exception where it was raised, and of it and of what it comes from what may be told."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        trouble, said = ei[1], list[str]()
        while trouble is not None:
            said[:0] = [*traceback.format_tb(trouble.__traceback__), f"{told(trouble)}\n"]
            trouble = trouble.__cause__ or (None if trouble.__suppress_context__ else trouble.__context__)
        return "".join(said).rstrip()


logger = Logger(service=SERVICE, logger_formatter=_Formatter(serialize_stacktrace=False))


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
