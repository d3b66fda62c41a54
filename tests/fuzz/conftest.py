"""One stack for all that is thrown at it, its live reads short: nothing here waits for a real window."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from infra.local.stack import Stack
from infra.local.testing import running_stack


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """In this process, one per worker; tests share it, so each brings its own run ids or namespace."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POWERTOOLS_METRICS_DISABLED", "true")
        with running_stack(long_poll_seconds=0.05, sse_window_seconds=0.05, poll_seconds=0.01) as running:
            yield running


@pytest.fixture(scope="session")
def http(stack: Stack) -> Iterator[httpx.Client]:
    """A client of it."""
    with httpx.Client(base_url=stack.url, timeout=20) as client:
        yield client
