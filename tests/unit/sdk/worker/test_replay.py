"""An attempt goes on from what the attempts before it have recorded, and never does that again."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import timedelta

import pytest

from baton_sdk import RetryableError, StepFailed
from tests.unit.sdk.worker.fake import Hand

NOON = Hand().now()


class Effects:
    """Steps that count how often they were called."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def __call__(self, name, result=None):
        self.done.append(name)
        return result


@pytest.fixture
def effects():
    return Effects()


def crash():
    """The function is interrupted; its worker gives the run back."""
    raise KeyboardInterrupt


def die(worker, baton, run_id="r1"):
    with pytest.raises(KeyboardInterrupt):
        worker.run_once()
    assert baton.state(run_id) == "pending"


def test_a_run_is_performed_and_its_steps_stand_in_its_log(worker, baton, effects):
    @worker.workflow("report")
    def report(ctx, input):
        rows = ctx.step("count", effects, "count", result=input["path"])
        ctx.emit("note", {"rows": rows})
        return {"rows": rows, "by": ctx.step("sign", lambda: ("me",))}

    baton.start("r1", input={"path": "x"})
    assert worker.run_once() == 1
    assert baton.rows["r1"].run["output"] == {"rows": "x", "by": ["me"]}
    assert baton.said("r1", "checkpoint", "note") == [
        {"position": 0, "kind": "step", "name": "count", "result": "x"},
        {"rows": "x"},
        {"position": 1, "kind": "step", "name": "sign", "result": ["me"]},
    ]
    assert baton.seen == ["claims", "stream", "stream", "finish"]
    assert worker.run_once() == 0


def test_a_step_that_is_recorded_is_never_called_again(worker, baton, effects):
    attempts = []

    @worker.workflow("report")
    def report(ctx):
        attempts.append(ctx.attempt)
        got = [ctx.step("a", effects, "a", result={"n": 1}), ctx.step("b", effects, "b", result=[2])]
        if ctx.attempt < 3:
            crash()
        return [*got, ctx.step("c", effects, "c", result=3)]

    baton.start("r1")
    die(worker, baton)
    die(worker, baton)
    worker.run_once()
    assert attempts == [1, 2, 3]
    assert effects.done == ["a", "b", "c"]
    assert baton.rows["r1"].run["output"] == [{"n": 1}, [2], 3]


def test_a_step_returns_the_same_the_first_time_and_replayed(worker, baton):
    got = []

    @worker.workflow("report")
    def report(ctx):
        got.append(ctx.step("a", lambda: {1: (2, None)}))
        if ctx.attempt == 1:
            crash()

    baton.start("r1")
    die(worker, baton)
    worker.run_once()
    assert got == [{"1": [2, None]}] * 2


def test_what_was_said_before_the_last_record_is_not_said_again(worker, baton):
    @worker.workflow("report")
    def report(ctx):
        ctx.emit("note", "before")
        ctx.log.info("before too")
        ctx.step("a", lambda: None)
        ctx.emit("note", "after")
        if ctx.attempt == 1:
            crash()

    baton.start("r1")
    die(worker, baton)
    worker.run_once()
    assert baton.types("r1") == ["start", "note", "log", "checkpoint", "note", "claimed", "note", "end"]


def test_the_time_and_a_unique_id_are_the_same_in_each_attempt(worker, baton, hand):
    got = []

    @worker.workflow("report")
    def report(ctx):
        got.append((ctx.now(), ctx.uuid(), ctx.uuid(), ctx.now()))
        if len(got) == 1:
            hand.advance(10)
            crash()

    baton.start("r1")
    die(worker, baton)
    worker.run_once()
    baton.start("r2")
    worker.run_once()
    first, again, other = got
    assert first == again
    assert first[0] == NOON
    assert len({first[1], first[2], other[1], other[2]}) == 4


def test_a_sleep_lets_the_run_go_and_goes_on_when_it_is_woken(worker, baton, hand, effects):
    @worker.workflow("report")
    def report(ctx):
        ctx.step("a", effects, "a")
        ctx.sleep(30)
        ctx.sleep_until(ctx.now() + timedelta(seconds=0.5))
        return ctx.step("b", effects, "b")

    baton.start("r1")
    worker.run_once()
    assert baton.state("r1") == "suspended"
    assert baton.said("r1", "suspended") == [{"until": "2026-11-29T12:00:30+00:00"}]
    hand.advance(30)
    baton.wake("r1", kind="time", until="2026-11-29T12:00:30.000Z")
    worker.run_once()
    assert baton.state("r1") == "completed"
    assert effects.done == ["a", "b"]
    assert hand.waited == [0.5]  # a short one is waited out


def test_a_wait_for_an_event_gives_its_payload_in_each_attempt(worker, baton):
    got = []

    @worker.workflow("report")
    def report(ctx):
        got.append(ctx.wait_for_event("release/approved"))
        if len(got) == 1:
            crash()

    baton.start("r1")
    worker.run_once()
    assert baton.said("r1", "suspended") == [{"event": "release/approved"}]
    baton.wake("r1", kind="event", event="release/approved", payload={"by": "someone"})
    die(worker, baton)
    worker.run_once()
    assert got == [{"by": "someone"}] * 2


def test_a_wait_for_a_run_gives_it_as_it_was_then_in_each_attempt(worker, baton):
    got = []

    @worker.workflow("report")
    def report(ctx):
        got.append(ctx.wait_for_run("other"))
        if len(got) == 1:
            crash()

    baton.start("other", "build", input={"large": True})
    baton.start("r1")
    worker.run_once()
    assert baton.said("r1", "suspended") == [{"run": "other"}]
    baton.settle("other", "completed", output={"n": 1})
    baton.wake("r1", kind="run", run_id="other", run_state="completed")
    die(worker, baton)
    del baton.rows["other"]
    worker.run_once()
    assert [(run.state, run.output, run.input) for run in got] == [("completed", {"n": 1}, None)] * 2


def test_a_run_that_has_settled_already_is_not_waited_for(worker, baton):
    baton.start("other", "build")
    baton.settle("other", "failed", error={"message": "no"})

    @worker.workflow("report")
    def report(ctx):
        return ctx.wait_for_run("other").error

    baton.start("r1")
    worker.run_once()
    assert baton.rows["r1"].run["output"] == {"message": "no"}


def test_a_run_that_is_too_large_to_be_recorded_is_asked_for_again_and_no_wait_after_it_is_lost(
    worker, baton
):
    baton.start("other", "build")
    baton.settle("other", "completed", output="x" * 262_000)

    @worker.workflow("report")
    def report(ctx):
        output = ctx.wait_for_run("other").output
        return len(output), ctx.wait_for_event("go")

    baton.start("r1")
    worker.run_once()
    assert baton.state("r1") == "suspended"
    assert [data.get("run_id") for data in baton.said("r1", "checkpoint")] == ["other", None]
    baton.rows["other"].run["output"] = "small"  # as of another attempt: now it can be recorded
    baton.resume("r1")
    worker.run_once()
    assert baton.state("r1") == "suspended"
    baton.wake("r1", kind="event", name="go", payload=7)
    worker.run_once()
    assert baton.rows["r1"].run["output"] == [5, 7]


def test_a_child_is_started_once_and_named_in_each_attempt(worker, baton):
    got = []

    @worker.workflow("report")
    def report(ctx):
        got.append((ctx.start("build", input={"n": 1}), ctx.start("build", input={"n": 1})))
        if ctx.attempt == 1:
            crash()

    baton.start("r1")
    die(worker, baton)
    worker.run_once()
    assert got[0] == got[1] and got[0][0] != got[0][1]
    assert sorted(baton.rows) == ["k~0", "k~1", "r1"]


def test_a_child_asked_for_with_another_input_is_told(worker, baton):
    @worker.workflow("report")
    def report(ctx):
        return ctx.start("build", input={"n": ctx.attempt})

    baton.start("r1")
    baton.keys["child:r1:2026-11-29T12:00:00.000Z:0"] = "r1"
    worker.run_once()
    assert baton.state("r1") == "failed"
    assert baton.rows["r1"].run["error"]["type"] == "code-changed"


def test_code_that_asks_for_something_else_is_told_and_can_be_resumed(worker, baton, effects):
    @worker.workflow("report")
    def report(ctx):
        ctx.step("new" if ctx.attempt == 2 else "old", effects, "step")
        if ctx.attempt == 1:
            crash()

    baton.start("r1")
    die(worker, baton)
    worker.run_once()
    row = baton.rows["r1"]
    assert (row.run["state"], row.run["resumable"]) == ("failed", True)
    assert row.run["error"]["type"] == "code-changed"
    assert (
        "at position 0 the log has step 'old', and the function asks for step 'new'"
        in (row.run["error"]["message"])
    )
    baton.resume("r1")
    worker.run_once()
    assert (baton.state("r1"), effects.done) == ("completed", ["step"])


@pytest.mark.parametrize("then", ["goes on", "fails", "returns"])
def test_code_that_has_changed_does_not_get_past_that_by_catching_it(then, worker, baton, effects):
    @worker.workflow("report")
    def report(ctx):
        if ctx.attempt == 2:
            with suppress(Exception):
                ctx.step("new", effects, "new")
        if ctx.attempt == 2 and then == "fails":
            raise OSError("something else")
        if ctx.attempt == 1 or then == "goes on":
            ctx.step("old", effects, "old")
        if ctx.attempt == 1:
            crash()

    baton.start("r1")
    die(worker, baton)
    worker.run_once()
    assert baton.rows["r1"].run["error"]["type"] == "code-changed"
    assert effects.done == ["old"]


def test_code_that_returns_too_soon_is_told(worker, baton):
    @worker.workflow("report")
    def report(ctx):
        if ctx.attempt == 1:
            ctx.step("a", lambda: None)
            crash()

    baton.start("r1")
    die(worker, baton)
    worker.run_once()
    assert baton.rows["r1"].run["error"]["type"] == "code-changed"


def test_a_step_that_failed_and_was_done_with_fails_in_the_next_attempt_alike(worker, baton, effects):
    def fails():
        effects("fails")
        raise FileNotFoundError(2, "no such file")

    @worker.workflow("report")
    def report(ctx):
        caught = None
        try:
            ctx.step("a", fails)
        except OSError as error:
            caught = type(error).__name__, error.errno
        got = ctx.step("fallback", effects, "fallback", result="b")
        if ctx.attempt == 1:
            crash()
        return [caught, got]

    baton.start("r1")
    die(worker, baton)
    worker.run_once()
    assert baton.rows["r1"].run["output"] == [["FileNotFoundError", 2], "b"]
    assert effects.done == ["fails", "fallback"]


def test_a_failure_whose_class_is_gone_is_told_as_what_it_was(worker, baton):
    class LocalError(Exception):
        """Not to be found by its name."""

    def fails():
        raise LocalError("no")

    caught = []

    @worker.workflow("report")
    def report(ctx):
        try:
            ctx.step("a", fails)
        except Exception as error:  # noqa: BLE001 - as users do
            caught.append(error)
        ctx.step("b", lambda: None)
        if ctx.attempt == 1:
            crash()

    baton.start("r1")
    die(worker, baton)
    worker.run_once()
    assert [type(error) for error in caught] == [LocalError, StepFailed]
    assert "LocalError: no" in str(caught[1])


def test_a_step_that_ended_the_attempt_is_called_again(worker, baton, effects):
    @worker.workflow("report")
    def report(ctx):
        def step():
            effects("a")
            if ctx.attempt == 1:
                raise RetryableError("later", after=timedelta(minutes=1))
            return 7

        return ctx.step("a", step)

    baton.start("r1")
    worker.run_once()
    row = baton.rows["r1"]
    assert (row.run["state"], row.delay, row.error["message"]) == ("pending", 60.0, "later")
    worker.run_once()
    assert (row.run["output"], effects.done) == (7, ["a", "a"])


@pytest.mark.parametrize("kept_back", [Exception, BaseException])
def test_a_run_goes_on_as_a_new_one(worker, baton, kept_back):
    @worker.workflow("report")
    def report(ctx, input):
        with suppress(kept_back):
            ctx.continue_as_new({"n": input["n"] + 1})

    baton.start("r1", input={"n": 1})
    worker.run_once()
    assert baton.state("r1") == "completed"
    assert baton.bodies["finish"][-1] == {"status": "completed", "continue_as_new": {"input": {"n": 2}}}


def test_a_step_that_would_have_ended_the_program_fails_in_the_next_attempt_alike(worker, baton, effects):
    @worker.workflow("report")
    def report(ctx):
        caught = None
        try:
            ctx.step("a", sys.exit, 3)
        except SystemExit as error:
            caught = error.code
        got = ctx.step("b", effects, "b", result="b")
        if ctx.attempt == 1:
            crash()
        return [caught, got]

    baton.start("r1")
    die(worker, baton)
    worker.run_once()
    assert baton.rows["r1"].run["output"] == [3, "b"]
    assert effects.done == ["b"]


@pytest.mark.parametrize("kept_back", [False, True])
def test_a_function_that_is_left_because_it_waits_does_nothing_more_until_it_goes_on(
    worker, baton, effects, hand, kept_back
):
    @worker.workflow("report")
    def report(ctx):
        try:
            ctx.sleep(30)
            ctx.step("a", effects, "a")
        except BaseException:
            if not kept_back:
                raise
        finally:
            ctx.step("tidy", effects, "tidy")
        return "done"

    baton.start("r1")
    worker.run_once()
    assert (baton.state("r1"), effects.done) == ("suspended", [])
    hand.advance(30)
    baton.wake("r1", kind="time", until="2026-11-29T12:00:30.000Z")
    worker.run_once()
    assert (baton.rows["r1"].run["output"], effects.done) == ("done", ["a", "tidy"])
