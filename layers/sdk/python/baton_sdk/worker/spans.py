"""A span for each attempt, and below it one for each step that is really performed.

Where they go is for the program that runs the worker to say, with the OpenTelemetry SDK.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from opentelemetry import trace
from opentelemetry.trace import Link, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from baton_sdk.run import Run
from baton_sdk.worker.errors import Cancelled

TRACER = "baton_sdk.worker"
_W3C = TraceContextTextMapPropagator()


def attempt_span(run: Run) -> AbstractContextManager[None]:
    """Around the workflow's function, in its thread. Linked to the trace that started the run, not a part of
    it: a run may wait for days, and each attempt be somebody else's."""
    about: dict[str, AttributeValue] = {
        "baton.run_id": run.id,
        "baton.workflow": run.workflow,
        "baton.attempt": run.attempt,
        "baton.namespace": run.namespace,
    }
    return _span(f"attempt {run.workflow}", SpanKind.CONSUMER, about, _source(run.traceparent))


def step_span(name: str, position: int) -> AbstractContextManager[None]:
    """Around a step that is performed, with its retries; a step that is replayed has none."""
    return _span(f"step {name}", SpanKind.INTERNAL, {"baton.step": name, "baton.position": position}, ())


@contextmanager
def _span(
    name: str, kind: SpanKind, about: dict[str, AttributeValue], links: tuple[Link, ...]
) -> Iterator[None]:
    with trace.get_tracer(TRACER).start_as_current_span(
        name, kind=kind, attributes=about, links=links, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield
        except Cancelled:
            raise  # as somebody wished
        except Exception as error:
            # Not what unwinds a function that is suspended or told to stop: that has not failed.
            span.record_exception(error)
            span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
            raise


def _source(traceparent: str | None) -> tuple[Link, ...]:
    if traceparent is None:
        return ()
    found = trace.get_current_span(_W3C.extract({"traceparent": traceparent})).get_span_context()
    return (Link(found),) if found.is_valid else ()
