"""A local stack whose time stands still until it is moved: nothing happens in it by itself, and what is to
happen does when it is told to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from baton.domain.clock import Millis
from baton.store.rows import PLACES
from infra.local.clock import HandClock
from infra.local.stack import Stack
from infra.local.testing import running_stack


class ByHand:
    """Such a stack, in this process."""

    def __init__(self, stack: Stack, clock: HandClock) -> None:
        self._stack = stack
        self.clock = clock

    @property
    def url(self) -> str:
        """Where it serves."""
        return self._stack.url

    def round(self) -> bool:
        """Have everything that calls functions call them once; whether there was anything to do."""
        return self._stack.round() > 0

    def next_at(self) -> Millis | None:
        """When the next thing falls due that has not yet: a timer, a lease's end, a run that is to be claimed
        later; None: never."""
        now = self.clock.now()
        return min((at for item in self._timed() for at in _times(item) if at > now), default=None)

    def _timed(self) -> Iterator[dict[str, Any]]:
        # A whole look at the table: it is as small as a test's, and in this process.
        runtime = self._stack.runtime
        client: Any = runtime.dynamo.connection.client
        table = runtime.settings.runs_table
        request: dict[str, Any] = {"TableName": table, "ProjectionExpression": "du, qp"}
        while True:
            page = client.scan(**request)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def _times(item: dict[str, Any]) -> Iterator[Millis]:
    if "du" in item:
        yield int(item["du"]["N"])
    if "qp" in item:
        yield int(item["qp"]["N"]) % PLACES


@contextmanager
def stack_by_hand(at: Millis, **settings: Any) -> Iterator[ByHand]:
    """A stack whose time begins at ``at``. ``settings`` as for the local stack. Every AWS client that this
    process makes meanwhile talks to moto."""
    os.environ.setdefault("POWERTOOLS_METRICS_DISABLED", "true")
    os.environ.setdefault("POWERTOOLS_LOG_LEVEL", "ERROR")
    clock = HandClock(at)
    with running_stack(clock=clock, by_hand=True, **settings) as stack:
        yield ByHand(stack, clock)
