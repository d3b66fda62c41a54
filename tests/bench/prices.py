"""What a run costs in dollars: arithmetic on list prices, not a bill.

Prices of us-east-1 in November 2026, from AWS's price pages of DynamoDB (on-demand throughput, storage of
the Standard class, point-in-time recovery), API Gateway (HTTP APIs, first tier) and Lambda (arm64, first
tier). Free tiers, logs and traffic are left out. Free are DynamoDB's removals by time to live and Lambda's
reads of a stream.
"""

from dataclasses import dataclass

USD_PER_MILLION_WRU = 0.625
USD_PER_MILLION_RRU = 0.125
USD_PER_GB_MONTH = 0.25
USD_PER_GB_MONTH_RECOVERABLE = 0.20
USD_PER_MILLION_HTTP_REQUESTS = 1.00
USD_PER_MILLION_INVOCATIONS = 0.20
USD_PER_GB_SECOND = 0.0000133334

DAYS_KEPT = 30
DAYS_A_MONTH = 730 / 24
GB = 1024**3

ASSUMED_SECONDS = 0.015
"""Billed per warm invocation: three DynamoDB calls of 4 ms and the handler's own time. An assumption: it is
not measured here, and not on Lambda."""
ASSUMED_GB = 0.5


@dataclass(frozen=True)
class Cost:
    """Dollars for a million."""

    writes: float
    reads: float
    purge: float
    storage: float
    http: float
    functions: float

    @property
    def total(self) -> float:
        return self.writes + self.reads + self.purge + self.storage + self.http + self.functions


def per_million(
    *,
    wru: float,
    rru: float,
    purge_wru: float,
    purge_rru: float,
    requests: int,
    invocations: int,
    kept_bytes: int,
) -> Cost:
    """The cost of a million runs that each take this. ``purge_…`` is what removing the log takes later."""
    months = DAYS_KEPT / DAYS_A_MONTH
    stored = USD_PER_GB_MONTH + USD_PER_GB_MONTH_RECOVERABLE
    billed = ASSUMED_SECONDS * ASSUMED_GB * USD_PER_GB_SECOND * 1_000_000
    return Cost(
        writes=wru * USD_PER_MILLION_WRU,
        reads=rru * USD_PER_MILLION_RRU,
        purge=purge_wru * USD_PER_MILLION_WRU + purge_rru * USD_PER_MILLION_RRU,
        storage=kept_bytes * 1_000_000 / GB * stored * months,
        http=requests * USD_PER_MILLION_HTTP_REQUESTS,
        functions=invocations * (USD_PER_MILLION_INVOCATIONS + billed),
    )
