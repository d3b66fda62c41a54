"""What a function says of a batch: `ReportBatchItemFailures`, as event source mappings read it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def failures(answer: Any, batch: Collection[str]) -> frozenset[str] | None:
    """Which of ``batch`` the function could not do. None: its answer makes no sense, which fails the whole.

    Source: "Implementing partial batch responses" in the Lambda developer guide: nothing, or an empty list,
    is success; a name that is missing, empty or not of the batch is nonsense.
    """
    if answer is None or answer == {}:
        return frozenset()
    try:
        named = [each["itemIdentifier"] for each in answer.get("batchItemFailures") or ()]
    except (AttributeError, KeyError, TypeError):
        return None
    return frozenset(named) if all(name in batch for name in named) else None
