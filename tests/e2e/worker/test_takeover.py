"""On the real service: who takes a run over goes on from what is recorded, and who has lost it changes
nothing."""

from __future__ import annotations

import pytest

from baton_sdk import Cancelled, RetryableError
from baton_sdk.worker.execution import Execution
from tests.e2e.worker.conftest import LEASE_SECONDS, Line

LONGER_THAN_A_LEASE = LEASE_SECONDS + 5


def hire_two(place, function):
    workers = [place.hire("first"), place.hire("second")]
    for worker in workers:
        worker.workflow("report")(function)
    return workers


def pass_time(place, seconds):
    """Time passes, and what has to happen by then happens."""
    place.stack.clock.advance(seconds)
    while place.stack.round():
        pass


def outlive_backoff(place):
    """The run that came back is available again."""
    place.go_on()


def test_a_lease_that_is_lost_in_the_middle_of_a_step_takes_its_result_along(place):
    done = []

    def compute(ctx):
        done.append(ctx.attempt)
        if ctx.attempt == 1:
            pass_time(place, LONGER_THAN_A_LEASE)
            outlive_backoff(place)
            assert second.run_once() == 1
        return ctx.attempt

    def report(ctx):
        ctx.step("before", lambda: done.append("before"))
        got = ctx.step("compute", compute, ctx)
        ctx.emit("note", got)
        return got

    first, second = hire_two(place, report)
    run_id = place.start("report")
    first.run_once()
    run = place.run(run_id)
    assert (run.state, run.output, run.attempt) == ("completed", 2, 2)
    assert done == ["before", 1, 2]
    assert place.said(run_id, "note") == [2]
    assert place.types(run_id) == [
        "start", "checkpoint", "claimed", "checkpoint", "note", "end",
    ]  # fmt: skip


def test_an_owner_whose_clock_stood_still_is_refused_by_the_service(place, monkeypatch):
    """It does not know that its lease is over: everything it says comes from an attempt that is over."""
    told: list[str] = []

    def perform():
        told.append("performed")
        return 1

    def report(ctx):
        if ctx.attempt == 2:
            return ctx.step("a", lambda: 2)
        stands_at = first.terms.clock.monotonic()
        monkeypatch.setattr(first.terms.clock, "monotonic", lambda: stands_at)
        pass_time(place, LONGER_THAN_A_LEASE)
        outlive_backoff(place)
        second.run_once()
        ctx.emit("note", "too late")
        try:
            return ctx.step("a", perform)
        except Exception:  # noqa: BLE001 - as users do
            told.append("swallowed")
            return 1

    first, second = hire_two(place, report)
    run_id = place.start("report")
    first.run_once()
    assert (place.run(run_id).state, place.run(run_id).output) == ("completed", 2)
    assert told == ["performed"]
    assert place.said(run_id, "note") == []
    assert [each["result"] for each in place.said(run_id, "checkpoint")] == [2]


def test_a_worker_that_loses_the_network_for_longer_than_its_lease_stops_its_work(place, caplog):
    seen: list[object] = []

    def report(ctx):
        if ctx.attempt == 2:
            return ctx.step("a", lambda: 2)
        line.cut = True
        executions[0]._keeper.renew()
        pass_time(place, LONGER_THAN_A_LEASE)
        seen.append(ctx.cancelled)
        outlive_backoff(place)
        second.run_once()
        line.cut = False
        ctx.step("a", lambda: seen.append("performed"))
        return 1

    line = Line()
    executions: list[Execution] = []
    first, second = place.hire("first", line=line), place.hire("second")
    for worker in (first, second):
        worker.workflow("report")(report)
    run_id = place.start("report")
    (claimed,) = first.client.claim("first", ["report"], lease_seconds=LEASE_SECONDS)
    executions.append(first.execution(claimed))
    executions[0].perform()
    assert (place.run(run_id).state, place.run(run_id).output) == ("completed", 2)
    assert seen == [True]
    lost = [record for record in caplog.records if "is lost" in record.getMessage()]
    assert [record.levelname for record in lost] == ["WARNING"]


def test_a_lease_is_kept_over_a_step_that_takes_longer(place):
    executions: list[Execution] = []

    def compute():
        for _ in range(5):
            place.stack.clock.advance(LEASE_SECONDS / 2)
            executions[0]._keeper.renew()  # what its thread does by the machine's clock
            while place.stack.round():
                pass
        return "done"

    worker = place.hire("first")
    worker.workflow("report")(lambda ctx: ctx.step("compute", compute))
    run_id = place.start("report")
    (claimed,) = worker.client.claim("first", ["report"], lease_seconds=LEASE_SECONDS)
    executions.append(worker.execution(claimed))
    executions[0].perform()
    run = place.run(run_id)
    assert (run.state, run.output, run.attempt) == ("completed", "done", 1)


def test_code_that_has_changed_is_told_and_goes_on_once_it_is_right_again(place):
    names = iter(["old", "new", "old"])
    done = []

    def report(ctx):
        ctx.step(next(names), lambda: done.append("done"))
        if ctx.attempt == 1:
            raise RetryableError("once", after=0)
        return "right"

    first, _ = hire_two(place, report)
    run_id = place.start("report")
    first.run_once()
    first.run_once()
    run = place.run(run_id)
    assert (run.state, run.resumable, run.error["type"]) == ("failed", True, "code-changed")
    assert "the log has step 'old', and the function asks for step 'new'" in run.error["message"]
    assert place.client.resume(run_id).resumed
    first.run_once()
    assert (place.run(run_id).state, place.run(run_id).output, done) == ("completed", "right", ["done"])


def test_what_fails_for_too_often_is_dead_and_says_of_what(place):
    def report(ctx):
        raise OSError("the disk is full")

    worker = place.hire("first")
    worker.workflow("report")(report)
    run_id = place.client.start("report", mode="queued", max_attempts=3).run.id
    for _ in range(10):
        worker.run_once()
        place.go_on()
    run = place.run(run_id)
    assert (run.state, run.attempt) == ("dead", 3)
    assert "the disk is full" in run.error["message"]
    assert [each["message"] for each in place.said(run_id, "error")] == ["the disk is full"] * 3


def test_a_cancel_reaches_a_function_that_works_and_the_run_can_be_resumed(place):
    heard = []

    def report(ctx):
        ctx.step("a", lambda: heard.append("a"))
        if ctx.attempt == 1:
            place.client.cancel(run_id, reason="too expensive")
            executions[0]._keeper.renew()
        try:
            ctx.sleep(3600)
        except Cancelled as cancelled:
            heard.append(str(cancelled))
            ctx.step("tidy", lambda: heard.append("tidy"))
            raise
        return "slept"

    executions: list[Execution] = []
    worker = place.hire("first")
    worker.workflow("report")(report)
    run_id = place.start("report")
    (claimed,) = worker.client.claim("first", ["report"])
    executions.append(worker.execution(claimed))
    executions[0].perform()
    run = place.run(run_id)
    assert (run.state, run.resumable, run.error["message"]) == ("cancelled", True, "too expensive")
    assert place.client.resume(run_id).resumed
    worker.run_once()
    assert place.run(run_id).state == "suspended"
    place.go_on()
    worker.run_once()
    assert (place.run(run_id).output, heard) == ("slept", ["a", "too expensive", "tidy"])


@pytest.mark.parametrize("result", [float("nan"), {"a": {1}}, "x" * 262_144])
def test_a_result_that_can_not_be_kept_fails_at_its_line(result, place):
    worker = place.hire("first")
    worker.workflow("report")(lambda ctx: ctx.step("measure", lambda: result))
    run_id = place.start("report")
    worker.run_once()
    run = place.run(run_id)
    assert (run.state, run.error["type"]) == ("failed", "invalid-result")
    assert "step 'measure'" in run.error["message"]


def test_the_largest_step_result_and_the_largest_output_are_kept(place):
    largest = 262_144 - len(b'{"kind":"step","name":"a","position":0,"result":""}')
    worker = place.hire("first")
    worker.workflow("report")(lambda ctx: (ctx.step("a", lambda: "x" * largest) + "x" * 100)[: 262_144 - 2])
    run_id = place.start("report")
    worker.run_once()
    run = place.run(run_id)
    assert (run.state, len(run.output)) == ("completed", min(largest + 100, 262_142))


def test_a_run_goes_on_as_a_new_one_which_is_what_others_wait_for(place):
    def report(ctx, input):
        n = input["n"]
        if n < 3:
            ctx.continue_as_new({"n": n + 1})
        return n

    worker = place.hire("first")
    worker.workflow("report")(report)
    worker.workflow("parent")(lambda ctx: ctx.wait_for_run(ctx.start("report", input={"n": 1})).output)
    run_id = place.start("parent")
    for _ in range(10):
        worker.run_once()
        place.go_on()
    assert (place.run(run_id).state, place.run(run_id).output) == ("completed", 3)


@pytest.mark.slow
def test_a_run_of_many_waits_can_still_be_written_to(place):
    """Each claim is an attempt, and each attempt's writer another producer."""

    def report(ctx):
        for _ in range(20):
            ctx.sleep(60)
        return ctx.attempt

    worker = place.hire("first")
    worker.workflow("report")(report)
    run_id = place.start("report")
    for _ in range(21):
        worker.run_once()
        place.go_on()
    assert (place.run(run_id).state, place.run(run_id).output) == ("completed", 21)


def test_what_is_announced_starts_a_worker_where_a_plain_start_is_queued(place):
    worker = place.hire("first")
    worker.workflow("build")(lambda ctx: {"artefact": ctx.run.id})
    worker.workflow("report", on_completed=["build"])(lambda ctx, input: input["run"]["output"])
    worker.announce()
    built = place.client.start("build").run
    assert (built.mode, built.state) == ("queued", "pending")
    for _ in range(4):
        worker.run_once()
        place.go_on()
    (report,) = place.client.list(workflow="report")
    assert place.run(report.id).output == {"artefact": built.id}
