"""A lease is kept beside whatever the function does; a run that is lost, cancelled or to be given back is
left alone at once."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress

import pytest

from baton_sdk import Cancelled, RetryableError
from baton_sdk.worker.endings import CancelHeeded, GivenBack, LeaseGone
from baton_sdk.worker.execution import Execution
from tests.unit.sdk import service as faults
from tests.unit.sdk.service import problem
from tests.unit.sdk.worker.fake import Hand

GUARD_SECONDS = 20


def claimed(worker, baton, function, **run):
    """The execution of a run that is claimed and not begun."""
    worker.workflow("report")(function)
    baton.start("r1", **run)
    (found,) = worker.client.claim(worker.worker_id, ["report"], lease_seconds=60)
    return worker.execution(found)


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def renewed(execution):
    """What the keeper's thread does when it is due."""
    execution._keeper.renew()


def test_a_lease_is_renewed_and_held_from_before_the_renewal_was_sent(worker, baton, hand):
    def slow(request, handler):
        hand.advance(5)
        return handler(request)

    def report(ctx):
        hand.advance(50)
        baton.fate["renew"].append(slow)
        renewed(execution)
        hand.advance(52)
        ctx.step("a", lambda: 1)
        hand.advance(2)
        ctx.step("b", lambda: 1)

    execution = claimed(worker, baton, report)
    ending = execution.perform()
    assert ending == LeaseGone("the lease ran out before it could be renewed")
    assert [each["name"] for each in baton.said("r1", "checkpoint")] == ["a"]
    assert baton.bodies["renew"] == [{"worker_id": "w1", "attempt": 1, "lease_seconds": 60}]


@pytest.mark.parametrize(
    "fault",
    [
        lambda *_: problem(409, "lease-lost", "another holds it"),
        lambda *_: problem(409, "run-terminal", "it has settled"),
        lambda *_: problem(404, "not-found", "there is none"),
        lambda *_: problem(401, "unauthenticated", "its token was revoked"),
    ],
)
def test_a_refused_renewal_ends_the_work_and_is_told_once(fault, worker, baton, caplog):
    after: list[str] = []

    def report(ctx):
        baton.fate["renew"].append(fault)
        assert not ctx.cancelled
        renewed(execution)
        assert ctx.cancelled
        try:
            ctx.step("a", lambda: after.append("done"))
        except Exception:  # noqa: BLE001 - as users do
            after.append("swallowed")
        finally:
            after.append("tidied")

    execution = claimed(worker, baton, report)
    ending = execution.perform()
    assert isinstance(ending, LeaseGone)
    assert after == ["tidied"]
    assert baton.seen == ["claims", "renew"]
    (warning,) = warnings(caplog)
    assert "attempt 1 is lost" in warning


def test_a_function_that_never_asks_finishes_nothing_once_the_run_is_lost(worker, baton, caplog):
    def report(ctx):
        baton.fate["renew"].append(lambda *_: problem(409, "lease-lost"))
        renewed(execution)
        return 7

    execution = claimed(worker, baton, report)
    assert isinstance(execution.perform(), LeaseGone)
    assert baton.seen == ["claims", "renew"]
    assert len(warnings(caplog)) == 1


def test_a_token_that_is_revoked_under_a_function_loses_the_run_and_is_told_once(worker, baton, caplog):
    def report(ctx):
        baton.fate["stream"].append(lambda *_: problem(401, "unauthenticated", "it was revoked"))
        ctx.step("a", lambda: 1)

    ending = claimed(worker, baton, report).perform()
    assert isinstance(ending, LeaseGone) and "it was revoked" in ending.reason
    assert baton.seen == ["claims", "stream"]
    (warning,) = warnings(caplog)
    assert "attempt 1 is lost" in warning and "it was revoked" in warning


def test_an_owner_that_wakes_after_the_takeover_writes_nothing(worker, hire, baton, caplog):
    """Its clock stood still as well, so it does not know: the service does."""

    def report(ctx):
        ctx.step("a", lambda: ctx.attempt)
        if ctx.attempt == 1:
            baton.expire("r1")
            successor.run_once()
            ctx.emit("note", "too late")
            ctx.step("b", lambda: "too late")
        return ctx.step("b", lambda: ctx.attempt)

    successor = hire("w2")
    successor.workflow("report")(report)
    assert isinstance(claimed(worker, baton, report).perform(), LeaseGone)
    assert [each["result"] for each in baton.said("r1", "checkpoint")] == [1, 2]
    assert baton.said("r1", "note") == []
    assert (baton.state("r1"), baton.rows["r1"].run["output"]) == ("completed", 2)
    assert len(warnings(caplog)) == 1


@pytest.mark.parametrize("fault", [faults.lost_before, faults.unavailable, faults.broken, faults.timed_out])
def test_a_renewal_that_fails_is_tried_again_soon_and_loses_nothing(fault, worker, baton, hand):
    def report(ctx):
        baton.fate["renew"].append(fault)
        hand.advance(20)
        renewed(execution)
        due.append(execution._keeper._due - hand.monotonic())
        renewed(execution)
        due.append(execution._keeper._due - hand.monotonic())

    due: list[float] = []
    execution = claimed(worker, baton, report)
    execution.perform()
    assert baton.state("r1") == "completed"
    assert due == [2, 20]


def test_a_renewal_waits_for_its_answer_no_longer_than_the_lease_allows(worker, baton):
    timeouts = []

    def look(request, handler):
        timeouts.append(request.extensions["timeout"]["read"])
        return handler(request)

    def report(ctx):
        baton.fate["renew"].append(look)
        renewed(execution)

    execution = claimed(worker, baton, report)
    execution.perform()
    assert timeouts == [10]


def test_a_claim_that_took_long_to_answer_is_renewed_before_anything_else(worker, baton, hand):
    worker.workflow("report")(lambda ctx: ctx.step("a", lambda: 1))
    baton.start("r1")

    def slow(request, handler):
        answer = handler(request)
        hand.advance(59)
        return answer

    baton.fate["claims"].append(slow)
    worker.run_once()
    assert baton.seen == ["claims", "renew", "stream", "finish"]
    assert baton.state("r1") == "completed"


def test_an_outage_longer_than_the_lease_stops_the_work(worker, baton, hand, caplog):
    def report(ctx):
        ctx.step("a", lambda: 1)
        baton.fate["renew"].append(faults.lost_before)
        renewed(execution)
        hand.advance(58)
        ctx.step("b", lambda: pytest.fail("it is another's by now"))

    execution = claimed(worker, baton, report)
    assert isinstance(execution.perform(), LeaseGone)
    assert len(warnings(caplog)) == 1


def test_a_loss_ends_the_waiting_for_the_log(worker, baton):
    held, lost = threading.Event(), threading.Event()

    def hang(request, handler):
        held.set()
        assert lost.wait(GUARD_SECONDS)
        return handler(request)

    def lose():
        assert held.wait(GUARD_SECONDS)
        execution._standing.lose("the network is gone")

    def report(ctx):
        baton.fate["stream"].append(hang)
        ctx.step("a", lambda: 1)

    execution = claimed(worker, baton, report)
    thread = threading.Thread(target=lose)
    thread.start()
    try:
        assert execution.perform() == LeaseGone("the network is gone")
    finally:
        lost.set()
        thread.join()


class Passing(Hand):
    """The first to wait has what it waits for at once; whoever waits after that waits for the end."""

    def wait(self, event, seconds):
        if self.waited:
            return event.wait()
        self.waited.append(seconds)
        self.advance(seconds)
        return False


def test_the_keeper_is_beside_a_function_that_blocks(hire, baton):
    asked = threading.Event()

    def told(request, handler):
        asked.set()
        return handler(request)

    baton.fate["renew"].append(told)
    clock = Passing()
    worker = hire(clock=clock)
    worker.workflow("report")(lambda ctx: asked.wait(GUARD_SECONDS))
    baton.start("r1")
    worker.run_once()
    assert asked.is_set()
    assert clock.waited == [20]


def test_a_cancel_is_heard_by_a_renewal_and_heeded_where_the_function_asks(worker, baton):
    def report(ctx):
        ctx.step("a", lambda: 1)
        ctx.raise_if_cancelled()
        baton.cancel("r1", "too expensive")
        renewed(execution)
        assert ctx.cancelled
        ctx.raise_if_cancelled()

    execution = claimed(worker, baton, report)
    assert isinstance(execution.perform(), CancelHeeded)
    row = baton.rows["r1"]
    assert (row.run["state"], row.run["resumable"]) == ("cancelled", True)
    assert row.run["error"] == {"message": "too expensive", "type": "cancelled"}


@pytest.mark.parametrize(
    "wait", [lambda ctx: ctx.sleep(30), lambda ctx: ctx.wait_for_event("go"), lambda ctx: ctx.sleep(0.5)]
)
def test_a_run_that_is_to_be_cancelled_does_not_begin_to_wait(wait, worker, baton):
    def report(ctx):
        baton.cancel("r1")
        renewed(execution)
        wait(ctx)

    execution = claimed(worker, baton, report)
    assert isinstance(execution.perform(), CancelHeeded)
    assert baton.said("r1", "suspended", "checkpoint") == []


def test_a_failure_of_a_run_that_is_to_be_cancelled_is_not_tried_again(worker, baton):
    def report(ctx):
        baton.cancel("r1")
        renewed(execution)
        raise OSError("interrupted")

    execution = claimed(worker, baton, report)
    execution.perform()
    assert baton.state("r1") == "cancelled"
    assert baton.rows["r1"].run["error"]["message"] == "interrupted"


def test_a_function_that_does_not_heed_a_cancel_reports_what_it_came_to(worker, baton):
    def report(ctx):
        baton.cancel("r1")
        renewed(execution)
        return ctx.step("a", lambda: 7)

    execution = claimed(worker, baton, report)
    execution.perform()
    assert (baton.state("r1"), baton.rows["r1"].run["output"]) == ("completed", 7)


def test_a_cancelled_run_that_is_resumed_goes_on_from_where_its_function_heard_of_it(worker, baton):
    done = []

    def report(ctx):
        ctx.step("a", lambda: done.append("a"))
        if ctx.attempt == 1:
            baton.cancel("r1")
            renewed(execution)
        try:
            ctx.raise_if_cancelled()
            ctx.step("b", lambda: done.append("b"))
        except Cancelled:
            ctx.step("tidy", lambda: done.append("tidy"))
            raise
        return ctx.cancelled

    execution = claimed(worker, baton, report)
    execution.perform()
    assert baton.state("r1") == "cancelled"
    baton.resume("r1")
    worker.run_once()
    assert done == ["a", "tidy", "b"]
    assert (baton.state("r1"), baton.rows["r1"].run["output"]) == ("completed", False)


def test_a_cancel_that_comes_during_the_replay_is_heard_after_it(worker, baton):
    """Else the function would go another way than the one that is recorded."""
    done: list[str] = []

    def report(ctx):
        for execution in executions:
            renewed(execution)
        try:
            for name in ("a", "b", "c"):
                ctx.raise_if_cancelled()
                ctx.step(name, done.append, name)
                if (ctx.attempt, name) == (1, "b"):
                    raise RetryableError(after=0)
        except Cancelled:
            ctx.step("tidy", done.append, "tidy")
            raise

    executions: list[Execution] = []
    claimed(worker, baton, report).perform()
    (run,) = worker.client.claim("w1", ["report"])
    baton.cancel("r1")
    executions.append(worker.execution(run))
    assert isinstance(executions[0].perform(), CancelHeeded)
    assert done == ["a", "b", "tidy"]


def test_a_function_that_is_told_to_end_keeps_its_step_and_gives_the_run_back(worker, baton):
    def report(ctx):
        def step():
            execution.drain()
            return ctx.attempt

        if ctx.attempt > 1:
            return ctx.step("a", step)
        ctx.step("a", step)
        return pytest.fail("it is to end at its next call") if ctx.step("b", lambda: 1) else None

    execution = claimed(worker, baton, report)
    assert execution.perform() == GivenBack("the worker stops")
    assert (baton.state("r1"), baton.rows["r1"].error) == ("pending", None)
    worker.run_once()
    assert baton.rows["r1"].run["output"] == 1


def test_a_function_that_keeps_back_the_word_to_end_has_not_completed(worker, baton):
    def report(ctx):
        if ctx.attempt == 1:
            execution.drain()
        with suppress(BaseException):
            return ctx.step("a", lambda: 1)
        return "not performed"

    execution = claimed(worker, baton, report)
    assert execution.perform() == GivenBack("the worker stops")
    worker.run_once()
    assert baton.rows["r1"].run["output"] == 1


def test_a_run_that_is_given_back_under_its_function_hears_no_more_of_it(worker, hire, baton, caplog):
    def report(ctx):
        if ctx.attempt == 2:
            return 2
        assert execution.abandon()
        assert not execution.abandon()
        successor.run_once()
        ctx.emit("note", "too late")
        return 1

    successor = hire("w2")
    successor.workflow("report")(report)
    execution = claimed(worker, baton, report)
    assert execution.perform() == GivenBack("the worker stops")
    assert (baton.state("r1"), baton.rows["r1"].run["output"]) == ("completed", 2)
    assert baton.said("r1", "note") == []
    assert baton.seen.count("finish") == 1
    assert warnings(caplog) == []


def test_nothing_is_given_back_that_is_over(worker, baton):
    execution = claimed(worker, baton, lambda ctx: 1)
    execution.perform()
    assert not execution.abandon()
    assert baton.seen == ["claims", "finish"]
