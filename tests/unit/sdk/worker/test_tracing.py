from __future__ import annotations

import importlib.util
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from baton_sdk import Run
from baton_sdk.worker import tracing
from baton_sdk.worker.errors import Cancelled, Draining, Lost, Suspending, Wait
from baton_sdk.worker.tracing import attempt_span, step_span
from tests.unit.sdk.service import run_json

TRACE_ID, SPAN_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
RUN = Run.from_json(
    run_json(workflow="report", attempt=3, namespace="acme", traceparent=f"00-{TRACE_ID}-{SPAN_ID}-01")
)


@pytest.fixture
def spans(monkeypatch):
    """The finished spans; of a provider that no other test sees."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter.get_finished_spans


def test_an_attempt_says_of_which_run_and_is_linked_to_what_started_it(spans):
    with attempt_span(RUN):
        pass
    (span,) = spans()
    assert (span.name, span.kind, span.parent) == ("attempt report", SpanKind.CONSUMER, None)
    assert dict(span.attributes) == {
        "baton.run_id": "r1", "baton.workflow": "report", "baton.attempt": 3, "baton.namespace": "acme",
    }  # fmt: skip
    (link,) = span.links
    assert link.context.trace_id == int(TRACE_ID, 16) != span.context.trace_id
    assert link.context.span_id == int(SPAN_ID, 16)
    assert span.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("traceparent", [None, "", "nonsense", f"00-{'0' * 32}-{SPAN_ID}-01"])
def test_a_run_without_a_trace_has_no_link(traceparent, spans):
    with attempt_span(Run.from_json(run_json(traceparent=traceparent))):
        pass
    assert spans()[0].links == ()


def test_an_attempt_below_another_span_is_its_child(spans):
    with trace.get_tracer("the platform's own").start_as_current_span("invocation"), attempt_span(RUN):
        pass
    attempt, invocation = spans()
    assert attempt.parent.span_id == invocation.context.span_id


def test_steps_are_children_of_their_attempt_and_say_which_they_are(spans):
    with attempt_span(RUN):
        with step_span("count", 0):
            pass
        with step_span("build", 4):
            pass
    first, second, attempt = spans()
    assert [span.parent.span_id for span in (first, second)] == [attempt.context.span_id] * 2
    assert (first.name, dict(first.attributes)) == (
        "step count",
        {"baton.step": "count", "baton.position": 0},
    )
    assert (second.name, dict(second.attributes)) == (
        "step build",
        {"baton.step": "build", "baton.position": 4},
    )


def test_what_a_function_raises_is_recorded_where_it_passes(spans):
    with pytest.raises(OSError, match="no room"), attempt_span(RUN), step_span("count", 0):
        raise OSError("no room")
    step, attempt = spans()
    for span in (step, attempt):
        (event,) = span.events
        assert event.name == "exception"
        assert event.attributes["exception.type"] == "OSError"
        assert "no room" in event.attributes["exception.stacktrace"]
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description == "OSError: no room"


def test_a_step_that_failed_and_was_done_with_does_not_fail_its_attempt(spans):
    with attempt_span(RUN), pytest.raises(LookupError), step_span("count", 0):
        raise LookupError
    step, attempt = spans()
    assert step.status.status_code is StatusCode.ERROR
    assert attempt.status.status_code is StatusCode.UNSET and attempt.events == ()


@pytest.mark.parametrize(
    "unwinding", [Suspending(Wait(position=1, event="approved")), Draining(), Lost(), Cancelled("enough")]
)
def test_a_function_that_is_suspended_or_told_to_stop_has_not_failed(unwinding, spans):
    with pytest.raises(type(unwinding)), attempt_span(RUN):
        raise unwinding
    (span,) = spans()
    assert span.status.status_code is StatusCode.UNSET and span.events == ()
    assert span.end_time is not None


def test_a_worker_has_a_span_for_each_attempt_and_each_step_that_it_performs(spans, worker, baton):
    @worker.workflow("report")
    def report(ctx):
        ctx.step("count", int)
        if ctx.attempt == 1:
            raise KeyboardInterrupt
        ctx.step("build", int)

    baton.start("r1", traceparent=RUN.traceparent)
    with pytest.raises(KeyboardInterrupt):
        worker.run_once()
    assert worker.run_once() == 1
    count, first, build, second = spans()
    assert [span.name for span in spans()] == ["step count", "attempt report", "step build", "attempt report"]
    assert [span.attributes["baton.attempt"] for span in (first, second)] == [1, 2]
    assert count.parent.span_id == first.context.span_id
    assert build.parent.span_id == second.context.span_id
    assert {span.status.status_code for span in spans()} == {StatusCode.UNSET}
    assert first.links[0].context.trace_id == second.links[0].context.trace_id == int(TRACE_ID, 16)


def test_a_run_that_failed_has_a_span_that_says_so(spans, worker, baton):
    @worker.workflow("report")
    def report(ctx):
        ctx.step("count", int, "no number")

    baton.start("r1")
    worker.run_once()
    step, attempt = spans()
    assert step.status.status_code is attempt.status.status_code is StatusCode.ERROR
    assert attempt.status.description.startswith("ValueError: invalid literal")


def test_without_opentelemetry_nothing_is_traced_and_nothing_fails(spans, monkeypatch):
    monkeypatch.delitem(sys.modules, "baton_sdk.worker.spans")
    for name in [name for name in sys.modules if name.partition(".")[0] == "opentelemetry"]:
        monkeypatch.setitem(sys.modules, name, None)
    spec = importlib.util.spec_from_file_location("tracing_alone", tracing.__file__)
    assert spec is not None and spec.loader is not None
    alone = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(alone)
    with alone.attempt_span(RUN), alone.step_span("count", 0):
        pass
    with pytest.raises(LookupError), alone.attempt_span(RUN), alone.step_span("count", 0):
        raise LookupError
    assert spans() == ()
