"""Spans of what a worker does; nothing where OpenTelemetry is not installed (the extra ``otel``)."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from baton_sdk.run import Run

try:
    from baton_sdk.worker.spans import attempt_span, step_span
except ModuleNotFoundError:  # nobody asked for spans

    def attempt_span(run: Run) -> AbstractContextManager[None]:
        """No span."""
        return nullcontext()

    def step_span(name: str, position: int) -> AbstractContextManager[None]:
        """No span."""
        return nullcontext()


__all__ = ["attempt_span", "step_span"]
