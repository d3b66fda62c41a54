"""What users test their workflows with: the whole stack, by hand."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from baton_sdk import Context, RetryableError, Subscription, Worker
from baton_sdk.testing import local_stack


def seconds_between(begin: datetime | None, end: datetime | None) -> float:
    assert begin is not None
    assert end is not None
    return (end - begin).total_seconds()


@pytest.fixture
def worker():
    worker: Any = Worker(lease_seconds=60)
    worker.calls = []

    def counted(name, result=None):
        worker.calls.append(name)
        return result

    @worker.workflow("report", on_completed=["build"])
    def report(ctx: Context, input: dict) -> dict:
        rows = ctx.step("count", counted, "count", 3)
        ctx.sleep(1800)
        ctx.step("send", counted, "send")
        return {"rows": rows, "slept": seconds_between(ctx.run.created_at, ctx.now())}

    @worker.workflow("flaky")
    def flaky(ctx: Context) -> int:
        ctx.step("once", counted, "once")
        if ctx.attempt < 3:
            raise RetryableError("not yet", after=600)
        return ctx.attempt

    @worker.workflow("parent")
    def parent(ctx: Context) -> object:
        child = ctx.start("report", input={})
        done = ctx.wait_for_run(child)
        approved = ctx.wait_for_event("approved")
        return {"child": done.output["rows"], "by": approved["by"]}

    @worker.workflow("stubborn")
    def stubborn(ctx: Context) -> None:
        ctx.step("never", counted, "never", 1)
        raise OSError("disk on fire")

    @worker.workflow("bumpy")
    def bumpy(ctx: Context) -> float:
        began = ctx.now()
        ctx.step("third time", bump, retries=5)
        return (ctx.now() - began).total_seconds()

    def bump():
        worker.calls.append("bump")
        if len(worker.calls) < 3:
            raise OSError("not yet")

    return worker


@pytest.fixture
def baton(worker):
    with local_stack(worker) as stack:
        yield stack


def test_a_sleep_takes_as_long_as_it_says_and_no_step_is_done_twice(baton, worker):
    run = baton.start("report", input={"path": "a.csv"})
    assert baton.settle() == 1
    baton.assert_state(run.id, "suspended")
    assert baton.advance(minutes=29, seconds=59) == 0
    baton.assert_state(run.id, "suspended")
    assert baton.advance(seconds=1) == 1
    done = baton.assert_completed(run.id)
    assert done.output["rows"] == 3
    assert 1800 <= done.output["slept"] < 1801
    assert worker.calls == ["count", "send"]
    assert baton.steps(run.id) == {"count": 3, "send": None}
    baton.assert_logged(run.id, "start", "checkpoint", "suspended", "woken", "claimed", "checkpoint", "end")


def test_what_falls_due_on_the_way_happens_at_its_own_time(baton):
    run = baton.start("flaky")
    assert baton.advance(timedelta(hours=1)) == 3
    done = baton.assert_completed(run.id, output=3)
    assert 1200 <= seconds_between(done.created_at, done.ended_at) < 1201


def test_an_ending_starts_who_subscribed_by_the_worker(baton):
    build = baton.client.start("build", mode="attached").run
    baton.client.finish(build.id, "completed", output={"tests": 4}, attempt=1)
    baton.settle()
    (report,) = baton.client.list(workflow="report")
    assert report.triggered_by.run_id == build.id
    baton.assert_state(report.id, "suspended")


def test_a_run_waits_for_its_child_and_for_an_event(baton):
    run = baton.start("parent")
    baton.advance(hours=1)
    baton.assert_state(run.id, "suspended")
    baton.client.publish_event("approved", {"by": "ann"})
    baton.settle()
    baton.assert_completed(run.id, output={"child": 3, "by": "ann"})


def test_failures_are_tried_again_until_they_are_used_up(baton, worker):
    run = baton.start("stubborn", max_attempts=2)
    baton.advance(minutes=10)
    dead = baton.assert_state(run.id, "dead")
    assert "disk on fire" in dead.error["message"]
    assert worker.calls == ["never"]


def test_a_step_is_tried_again_in_the_time_of_the_stack(baton, worker):
    run = baton.start("bumpy")
    assert baton.settle() == 1
    assert worker.calls == ["bump"] * 3
    assert baton.assert_completed(run.id).output > 0


def test_a_run_that_no_worker_would_take_is_refused_at_its_line(baton):
    with pytest.raises(ValueError, match=r"no worker .* has the workflow 'reprot', they have .*'report'"):
        baton.start("reprot")
    build = baton.start("build", mode="attached")
    assert (build.mode, build.state) == ("attached", "running")
    assert baton.start("report", input={}).mode == "queued"


def test_time_does_not_go_back(baton):
    before = baton.now
    for back in ({"seconds": -1}, {"minutes": 1, "hours": -1}):
        with pytest.raises(ValueError, match="time does not go back"):
            baton.advance(**back)
    assert baton.now == before


def test_an_assertion_that_fails_shows_the_log(baton):
    run = baton.start("report", input={})
    baton.settle()
    with pytest.raises(AssertionError, match=r"is suspended: it is not completed(.|\n)*checkpoint"):
        baton.assert_completed(run.id)
    with pytest.raises(AssertionError, match="no 'end' in that order"):
        baton.assert_logged(run.id, "suspended", "end")


def test_settings_of_the_stack_may_be_given(worker):
    with local_stack(worker, cancel_grace_seconds=5) as baton:
        run = baton.client.start("report", mode="attached").run
        baton.client.cancel(run.id)
        baton.advance(seconds=5)
        baton.assert_state(run.id, "cancelled")


def test_a_subscription_announced_with_a_condition_declines(worker):
    @worker.workflow("audit", on_completed=[Subscription(event="build", where="run.output.tests > `3`")])
    def audit(ctx: Context) -> None:
        ctx.log.info("audited")

    with local_stack(worker) as baton:
        for tests in (1, 5):
            run = baton.client.start("build", mode="attached").run
            baton.client.finish(run.id, "completed", output={"tests": tests}, attempt=1)
        baton.settle()
        audits = list(baton.client.list(workflow="audit"))
        assert [run.state for run in audits] == ["completed"]
        baton.assert_logged(audits[0].id, "log")
