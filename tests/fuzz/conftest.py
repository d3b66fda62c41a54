"""Stacks for all that is thrown at them, one a module: DynamoDB in process is one for all who are in there.

Tests share them: each brings its own run ids or namespace.
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from infra.local.stack import Stack
from infra.local.testing import running_stack
from tests.functions.conftest import quiet_metrics

__all__ = ["quiet_metrics"]

PATIENCE = 60.0


@pytest.fixture(scope="module")
def stack(quiet_metrics: None) -> Iterator[Stack]:
    """Its live reads are short: nothing waits for a real window."""
    with running_stack(long_poll_seconds=0.05, sse_window_seconds=0.05, poll_seconds=0.01) as running:
        yield running


@pytest.fixture(scope="module")
def http(stack: Stack) -> Iterator[httpx.Client]:
    """A client of it."""
    with httpx.Client(base_url=stack.url, timeout=PATIENCE) as client:
        yield client


@pytest.fixture(scope="module")
def patient(quiet_metrics: None) -> Iterator[Stack]:
    """Its event streams last as long as a test does."""
    with running_stack(
        sse_window_seconds=50, sse_comment_seconds=0.05, long_poll_seconds=5, poll_seconds=0.05
    ) as running:
        yield running


@pytest.fixture(scope="module")
def client(patient: Stack) -> Iterator[httpx.Client]:
    """A client of the patient one, with room for a crowd."""
    limits = httpx.Limits(max_connections=200)
    with httpx.Client(base_url=patient.url, timeout=PATIENCE, limits=limits) as client:
        yield client
