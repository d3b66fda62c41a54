"""How a function ends is told to the service, once, and a clear error is told where it was made."""

from __future__ import annotations

import logging
import threading

import httpx
import pytest

from baton_sdk import Cancelled, NotFound, RetryableError, TerminalError
from baton_sdk.worker.endings import Completed, LeaseGone, Suspended
from baton_sdk.worker.failures import told
from tests.unit.sdk import service as faults
from tests.unit.sdk.service import problem


def perform(worker, baton, function, **run):
    worker.workflow("report")(function)
    row = baton.start("r1", **run)
    worker.run_once()
    return row


def test_a_terminal_error_fails_the_run_for_good(worker, baton):
    def report(ctx):
        raise TerminalError("no such path")

    row = perform(worker, baton, report)
    assert (row.run["state"], row.run["resumable"]) == ("failed", False)
    assert (row.run["error"]["message"], row.run["error"]["type"]) == ("no such path", "TerminalError")
    assert "in report" in row.run["error"]["stack"]


def test_any_other_error_is_logged_with_its_stack_and_tried_again(worker, baton):
    def report(ctx):
        raise OSError("disk full")

    row = perform(worker, baton, report)
    assert (row.run["state"], row.delay) == ("pending", None)
    (said,) = baton.said("r1", "error")
    assert said == row.error
    assert (said["message"], said["type"]) == ("disk full", "OSError")
    assert "raise OSError" in said["stack"]


def test_what_is_no_text_in_an_error_is_written_out():
    said = told(OSError("disk \ud800 full"))
    assert said["message"] == "disk \\ud800 full"
    assert "disk \\ud800 full" in said["stack"]


def test_of_a_long_stack_the_middle_is_left_out(worker, baton):
    def deeper(depth):
        if depth:
            deeper(depth - 1)
        raise OSError("x" * 40_000 + " full")

    def report(ctx):
        deeper(2)

    stack = perform(worker, baton, report).error["stack"]
    assert len(stack) == 32 * 1024
    assert "in report" in stack.splitlines()[1]
    assert "\n[…]\n" in stack and stack.endswith("x full\n")


def test_a_function_that_exits_its_program_has_failed_and_nothing_else(worker, baton):
    def report(ctx):
        raise SystemExit(3)

    assert perform(worker, baton, report).error["type"] == "SystemExit"


@pytest.mark.parametrize(("after", "delay"), [(None, None), (0, 0), (-1, 0), (7.5, 7.5), (1e9, 86_400)])
def test_a_retryable_error_says_when(after, delay, worker, baton):
    def report(ctx):
        raise RetryableError("busy", after=after)

    assert perform(worker, baton, report).delay == delay


@pytest.mark.parametrize("result", [{1, 2}, float("nan"), object(), "\ud800", "x" * 300_000])
def test_a_result_that_the_log_can_not_keep_is_told_with_its_step(result, worker, baton):
    caught = []

    def report(ctx):
        try:
            ctx.step("measure", lambda: result)
        except ValueError as error:
            caught.append(error)
            raise

    row = perform(worker, baton, report)
    assert (row.run["state"], row.run["error"]["type"]) == ("failed", "invalid-result")
    assert "the result of step 'measure'" in row.run["error"]["message"]
    assert isinstance(caught[0], TerminalError)
    assert baton.said("r1", "checkpoint") == []


def test_an_output_that_is_no_json_is_told(worker, baton):
    row = perform(worker, baton, lambda ctx: object())
    assert (row.run["state"], row.run["error"]["type"]) == ("failed", "invalid-result")
    assert "the output of report" in row.run["error"]["message"]


def test_the_largest_result_is_kept_and_found_again(worker, baton):
    largest = 262_144 - len(b'{"kind":"step","name":"a","position":0,"result":""}')

    def report(ctx):
        return len(ctx.step("a", lambda: "x" * largest))

    assert perform(worker, baton, report).run["output"] == largest


def test_a_step_is_tried_again_as_often_as_it_says(worker, baton, clock):
    tried = []

    def fails(times):
        tried.append(times)
        if len(tried) <= times:
            raise OSError("not yet")
        return len(tried)

    def report(ctx):
        policy = clock.policy(attempts=3)
        return ctx.step("a", fails, 2, retries=policy)

    row = perform(worker, baton, report)
    assert row.run["output"] == 3 and len(clock.slept) == 2


@pytest.mark.parametrize("error", [TerminalError("no"), RetryableError("later"), Cancelled("enough")])
def test_a_step_that_says_what_its_failure_means_is_not_tried_again(error, worker, baton):
    tried = []

    def fails():
        tried.append(1)
        raise error

    perform(worker, baton, lambda ctx: ctx.step("a", fails, retries=5))
    assert len(tried) == 1


def test_what_is_used_up_is_raised_as_it_was(worker, baton, clock):
    def fails():
        raise OSError("never")

    policy = clock.policy(attempts=4)
    row = perform(worker, baton, lambda ctx: ctx.step("a", fails, retries=policy))
    assert row.error["message"] == "never" and len(clock.slept) == 3


def test_a_step_inside_of_a_step_is_refused_at_its_line(worker, baton):
    def report(ctx):
        ctx.step("outer", lambda: ctx.step("inner", lambda: 1))

    row = perform(worker, baton, report)
    assert row.run["error"]["type"] == "misuse"
    assert "step inside of step 'outer'" in row.run["error"]["message"]


def test_a_step_that_is_no_function_is_refused_at_its_line(worker, baton):
    row = perform(worker, baton, lambda ctx: ctx.step("x", None))
    assert (row.run["state"], row.run["error"]["type"]) == ("failed", "misuse")
    assert row.run["error"]["message"] == (
        "a step is a function and its arguments: ctx.step('x', fn, *args); got NoneType"
    )


def test_a_step_without_a_name_is_refused_at_its_line(worker, baton):
    row = perform(worker, baton, lambda ctx: ctx.step(len, "abc"))
    assert (row.run["state"], row.run["error"]["type"]) == ("failed", "misuse")


def test_a_call_from_another_thread_is_refused_and_a_word_to_the_log_is_not(worker, baton):
    refused = []

    def elsewhere(ctx):
        ctx.emit("note", "from elsewhere")
        ctx.log.warning("and %s", "this")
        assert ctx.cancelled is False
        with pytest.raises(RuntimeError, match="the function's own thread") as error:
            ctx.step("a", lambda: 1)
        refused.append(error)

    def report(ctx):
        thread = threading.Thread(target=elsewhere, args=(ctx,))
        thread.start()
        thread.join()

    perform(worker, baton, report)
    assert len(refused) == 1
    assert baton.said("r1", "note") == ["from elsewhere"]
    assert baton.said("r1", "log") == [{"level": "WARNING", "message": "and this"}]


def test_a_context_that_is_kept_says_that_its_attempt_is_over(worker, baton):
    kept = []
    perform(worker, baton, lambda ctx: kept.append(ctx))
    (ctx,) = kept
    calls = [
        lambda: ctx.step("a", lambda: 1), lambda: ctx.emit("note"), ctx.now, ctx.raise_if_cancelled,
        lambda: ctx.sleep(1), lambda: ctx.wait_for_event("go"), lambda: ctx.continue_as_new(),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(RuntimeError, match="attempt 1 of run r1 is over"):
            call()
    ctx.log.info("says nothing, and fails nobody")


def test_log_records_go_into_the_log_and_on_to_the_workers_own(worker, baton, caplog):
    def report(ctx):
        ctx.log.debug("not this")
        try:
            raise OSError("no")
        except OSError:
            ctx.log.exception("it failed: %s", 7)

    with caplog.at_level(logging.DEBUG, "baton_sdk.worker"):
        perform(worker, baton, report)
    (said,) = baton.said("r1", "log")
    assert (said["level"], said["message"]) == ("ERROR", "it failed: 7")
    assert "OSError: no" in said["exception"]
    passed_on = [record.getMessage() for record in caplog.records if record.name.endswith(".r1")]
    assert passed_on == ["it failed: 7"]


@pytest.mark.parametrize("type_", ["checkpoint", "end", "Not a type"])
def test_a_word_that_is_not_the_functions_to_say_is_refused_at_its_line(type_, worker, baton):
    row = perform(worker, baton, lambda ctx: ctx.emit(type_))
    assert (row.run["state"], row.run["error"]["type"]) == ("failed", "InvalidRequest")


@pytest.mark.parametrize("name", ["", "a b", "x" * 161])
def test_an_event_that_can_not_be_is_refused_at_its_line(name, worker, baton):
    row = perform(worker, baton, lambda ctx: ctx.wait_for_event(name))
    assert row.run["error"]["type"] == "misuse" and "is not an event's name" in row.run["error"]["message"]


def test_a_run_waits_neither_for_itself_nor_for_one_that_is_not_there(worker, baton):
    def report(ctx):
        with pytest.raises(NotFound):
            ctx.wait_for_run("absent")
        ctx.wait_for_run("r1")

    row = perform(worker, baton, report)
    assert row.run["error"]["message"] == "a run can't wait for itself"


def page(request, handler):
    """The service has taken it, and a proxy answers."""
    handler(request)
    return httpx.Response(200, html="<p>please log in</p>")


@pytest.mark.parametrize("fault", [faults.broken, page])
@pytest.mark.parametrize("verb", ["finish", "suspend", "release"])
def test_an_answer_that_says_nothing_of_an_ending_is_no_refusal(verb, fault, worker, baton):
    baton.fate[verb].extend([fault, fault])

    @worker.workflow("report")
    def report(ctx):
        if ctx.wait_for_event("go") and ctx.attempt == 2:
            raise RetryableError("once", after=0)

    row = baton.start("r1")
    worker.run_once()
    baton.wake("r1", kind="event", event="go", payload=True)
    worker.run_once()
    worker.run_once()
    assert (row.run["state"], row.run["attempt"]) == ("completed", 3)
    assert baton.types("r1").count("suspended") == 1


@pytest.mark.parametrize("fault", [faults.lost_reply, faults.lost_before, faults.refused, faults.unavailable])
@pytest.mark.parametrize("verb", ["claims", "stream", "finish", "suspend", "release", "runs", "get"])
def test_no_failure_of_the_network_is_a_failure_of_the_run(verb, fault, worker, baton):
    baton.fate[verb].extend([fault, fault])

    def report(ctx):
        ctx.step("a", lambda: 1)
        child = ctx.start("build")
        if ctx.wait_for_event("go") and ctx.attempt == 2:
            raise RetryableError("once", after=0)
        return ctx.start("build") != child

    worker.workflow("report")(report)
    baton.start("r1")
    worker.run_once()
    baton.wake("r1", kind="event", event="go", payload=True)
    worker.run_once()
    worker.run_once()
    assert baton.rows["r1"].run["output"] is True
    assert sorted(baton.rows) == ["k~0", "k~1", "r1"]
    assert baton.types("r1").count("suspended") == 1


def test_an_ending_that_is_refused_is_reported_once_and_not_repeated(worker, baton, caplog):
    baton.fate["finish"].append(lambda *_: problem(409, "lease-lost", "another has it"))
    worker.workflow("report")(lambda ctx: 7)
    baton.start("r1")
    (run,) = worker.client.claim("w1", ["report"])
    ending = worker.execute(run)
    assert ending == LeaseGone("another has it")
    assert baton.seen.count("finish") == 1
    (warning,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "another has it" in warning.getMessage()


def test_an_ending_that_can_not_be_as_it_is_fails_the_run(worker, baton):
    baton.fate["suspend"].append(lambda *_: problem(400, "invalid-request", "not so long"))
    row = perform(worker, baton, lambda ctx: ctx.sleep(1e7))
    assert (row.run["state"], row.run["error"]["message"]) == ("failed", "not so long")


def test_what_became_of_an_attempt_is_answered(worker, baton):
    worker.workflow("report")(lambda ctx: ctx.sleep(60) or 7)
    baton.start("r1")
    (run,) = worker.client.claim("w1", ["report"])
    ending = worker.execute(run)
    assert isinstance(ending, Suspended) and ending.wait.position == 0
    baton.wake("r1", kind="time")
    (run,) = worker.client.claim("w1", ["report"])
    assert worker.execute(run) == Completed(7)


def test_a_number_of_retries_is_of_tries_after_the_first(worker, baton, monkeypatch):
    monkeypatch.setattr("tenacity.sleep_using_event", lambda _event: lambda _seconds: None)
    tried = []

    def fails():
        tried.append(1)
        raise OSError

    perform(worker, baton, lambda ctx: ctx.step("a", fails, retries=2))
    assert len(tried) == 3
