"""What a run costs in dollars: arithmetic on list prices, not a bill.

Prices of us-east-1 in November 2026, from AWS's price pages of DynamoDB (on-demand throughput), API Gateway
(HTTP APIs, first tier) and Lambda (arm64, first tier). Free tiers, storage, logs and traffic are left out.
"""

from dataclasses import dataclass

USD_PER_MILLION_WRU = 0.625
USD_PER_MILLION_RRU = 0.125
USD_PER_MILLION_HTTP_REQUESTS = 1.00
USD_PER_MILLION_INVOCATIONS = 0.20
USD_PER_GB_SECOND = 0.0000133334

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
    http: float
    functions: float

    @property
    def total(self) -> float:
        return self.writes + self.reads + self.purge + self.http + self.functions


def per_million(*, wru: float, rru: float, purge_wru: float, requests: int) -> Cost:
    """The cost of a million runs that each take this. ``purge_wru`` is what removing the log takes later."""
    return Cost(
        writes=wru * USD_PER_MILLION_WRU,
        reads=rru * USD_PER_MILLION_RRU,
        purge=purge_wru * USD_PER_MILLION_WRU,
        http=requests * USD_PER_MILLION_HTTP_REQUESTS,
        functions=requests
        * (USD_PER_MILLION_INVOCATIONS + ASSUMED_SECONDS * ASSUMED_GB * USD_PER_GB_SECOND * 1_000_000),
    )
