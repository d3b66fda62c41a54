"""Asks for runs until it is answered, however often that takes."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from baton_sdk.client import Client
from baton_sdk.errors import BatonError, Fault, TryAgain
from baton_sdk.retry import RetryPolicy
from baton_sdk.run import Run
from baton_sdk.worker.terms import Terms
from baton_sdk.worker.workflows import Workflows

MOST_AT_ONCE = 25
MOST_WORKFLOWS = 32


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """Runs that are ours. ``since``: a moment of monotonic time at which none of their leases had begun."""

    runs: Sequence[Run]
    since: float


@dataclass(frozen=True, kw_only=True)
class _Asked:
    key: str
    max: int
    wait_seconds: float
    workflows: tuple[str, ...]
    since: float


class Claims:
    """One worker's claims, one at a time. A claim whose answer did not come may have been taken all the same:
    it is asked again as it was, under its key, before any other is made."""

    def __init__(self, client: Client, workflows: Workflows, terms: Terms) -> None:
        self._client = client
        self._workflows = workflows
        self._terms = terms
        self._unanswered: _Asked | None = None
        self._turn = 0

    def ask(self, most: int, wait_seconds: float, retry: RetryPolicy | None = None) -> Claimed:
        """Up to ``most`` runs: those of the claim before, if it was not answered. Raises BatonError."""
        asked = self._unanswered or self._next(most, wait_seconds)
        self._unanswered = asked
        try:
            runs = self._client.claim(
                self._terms.worker_id,
                asked.workflows,
                max=asked.max,
                lease_seconds=self._terms.lease_seconds,
                wait_seconds=asked.wait_seconds,
                idempotency_key=asked.key,
                retry=retry,
            )
        except (TryAgain, Fault):
            raise
        except BatonError:
            self._unanswered = None
            raise
        self._unanswered = None
        return Claimed(runs=runs, since=asked.since)

    def _next(self, most: int, wait_seconds: float) -> _Asked:
        return _Asked(
            key=str(uuid.uuid4()),
            max=min(most, MOST_AT_ONCE),
            # A lease may begin when the claim is sent or when its waiting ends: it must live for longer.
            wait_seconds=min(wait_seconds, self._terms.lease_seconds / 3),
            workflows=self._whose_turn(),
            since=self._terms.clock.monotonic(),
        )

    def _whose_turn(self) -> tuple[str, ...]:
        """A claim names a bounded number of workflows: with more, they take turns."""
        names = tuple(self._workflows.names)
        if len(names) <= MOST_WORKFLOWS:
            return names
        begin = self._turn % len(names)
        self._turn += MOST_WORKFLOWS
        return (names + names)[begin : begin + MOST_WORKFLOWS]
