"""Any function, and deaths at any of its workers' requests: it comes to its end, nothing recorded is done
again, and what was said before a record is not said after it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest

from baton_sdk import Cancelled, TryAgain
from tests.unit.sdk.worker.fake import Baton, Hand, Line

WAKES = {
    "until": {"kind": "time"},
    "event": {"kind": "event", "payload": "gone"},
    "run": {"kind": "run", "run_state": "completed"},
}
RECORDED = ("step", "fails", "now", "sleep", "wait", "start", "child")
ANY = [*RECORDED, "uuid", "emit", "nap"]
CALLS = st.lists(st.sampled_from(ANY), min_size=1, max_size=9)
CANCELLED = st.lists(st.sampled_from([*ANY, "poll", "cancel"]), min_size=1, max_size=9)
# Not shrunk: they are small, and one that fails takes all the workers there are.
EXAMPLES = hypothesis.settings(
    max_examples=60, phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate), report_multiple_bugs=False
)
DEATHS = st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=5)


class Program:
    """A function made of calls, whose steps look whether they may be performed."""

    def __init__(self, baton, calls) -> None:
        self.baton = baton
        self.calls = calls
        self.cancels = calls.count("cancel")
        self.returned: set[str] = set()
        self.execution: Any = None

    def __call__(self, ctx):
        try:
            return [str(self.perform(ctx, at, call)) for at, call in enumerate(self.calls)]
        except Cancelled:
            for tidies in range(2):
                ctx.step(f"tidy{tidies}", str)
            raise

    def perform(self, ctx, at, call):
        match call:
            case "step":
                result = ctx.step(f"s{at}", self.effect, f"s{at}")
                self.returned.add(result)
                return result
            case "fails":
                with suppress(LookupError):
                    return ctx.step(f"s{at}", self.failure, f"s{at}")
                return "failed"
            case "now":
                return ctx.now()
            case "uuid":
                return ctx.uuid()
            case "sleep":
                return ctx.sleep(60)
            case "nap":
                return ctx.sleep(0.5)
            case "wait":
                return ctx.wait_for_event(f"e{at}")
            case "start":
                return ctx.start("build", input=at)
            case "child":
                return ctx.wait_for_run(ctx.start("build", input=at)).state
            case "poll":
                return ctx.raise_if_cancelled()
            case "cancel":
                return ctx.step(f"s{at}", self.cancelled)
            case _:
                return ctx.emit("note", at)

    def cancelled(self):
        """Somebody wants the run to stop, and the function may hear of it from now on."""
        if self.cancels:
            self.cancels -= 1
            self.baton.cancel("r1")
            self.execution._keeper.renew()

    def effect(self, name):
        recorded = [each["name"] for each in self.baton.said("r1", "checkpoint")]
        assert name not in recorded, f"{name} is recorded, and done again"
        assert name not in self.returned, f"{name} has returned, and is done again"
        return name

    def failure(self, name):
        raise LookupError(self.effect(name))


def onward(baton):
    row = baton.rows["r1"]
    if row.run["state"] == "running":
        baton.expire("r1")
    if row.run["state"] == "suspended":
        told = baton.said("r1", "suspended")[-1]
        (kind,) = told
        if kind == "run":
            baton.settle(told["run"], "completed")
        baton.wake("r1", **WAKES[kind], run_id=told.get("run"), event=told.get("event"))


def performed(program, deaths, any_hire):
    """Worker after worker, some of which die, until the run has completed; cancelled, it is resumed."""
    baton = program.baton
    baton.start("r1")
    dying = iter(deaths)
    for number in range(25):
        death = next(dying, None)
        line = None if death is None else Line(baton, dies_at=death[0], heard=death[1])
        worker = any_hire(baton, baton.clock, f"w{number}", line)
        worker.workflow("report")(program)
        with suppress(TryAgain):
            for _ in range(len(program.calls) + 2):
                if not perform_one(worker, program) or (line and line.cut):
                    break
                onward(baton)
        onward(baton)
        if baton.state("r1") == "completed":
            return
        assert baton.state("r1") != "failed", baton.rows["r1"].run["error"]
        if baton.state("r1") == "cancelled":
            baton.resume("r1")
    pytest.fail(f"not done: {baton.types('r1')}")


def perform_one(worker, program):
    claimed = worker.claims().ask(1, 0)
    for run in claimed.runs:
        program.execution = worker.execution(run, since=claimed.since)
        program.execution.perform()
    return claimed.runs


@EXAMPLES
@hypothesis.given(calls=CALLS, deaths=DEATHS)
def test_any_program_survives_any_deaths(calls, deaths, any_hire):
    baton = Baton(Hand())
    performed(Program(baton, calls), deaths, any_hire)
    check(baton, calls)


@EXAMPLES
@hypothesis.given(calls=CANCELLED, deaths=DEATHS)
def test_any_program_that_is_cancelled_can_be_resumed_to_its_end(calls, deaths, any_hire):
    baton = Baton(Hand())
    performed(Program(baton, calls), deaths, any_hire)
    assert len(baton.rows["r1"].run["output"]) == len(calls)


def check(baton, calls):
    output = baton.rows["r1"].run["output"]
    log = [(entry["type"], entry["data"]) for entry in baton.rows["r1"].log]
    recorded = {data["name"]: data for type_, data in log if type_ == "checkpoint"}
    for at, call in enumerate(calls):
        if call == "step":
            assert output[at] == recorded[f"s{at}"]["result"] == f"s{at}"
        elif call == "fails":
            assert output[at] == "failed"
    positions = [data["position"] for type_, data in log if type_ == "checkpoint"]
    assert positions == sorted(positions)
    assert len({output[at] for at, call in enumerate(calls) if call == "uuid"}) == calls.count("uuid")
    children = [run_id for run_id in baton.rows if run_id != "r1"]
    assert len(children) == calls.count("start") + calls.count("child")
    for at, call in enumerate(calls):
        if call == "emit":
            said(log, calls, at)


def said(log, calls, at):
    """A word is said, and never after what its function did next was recorded."""
    places = [place for place, entry in enumerate(log) if entry == ("note", at)]
    assert places
    later = [f"s{number}" for number in range(at + 1, len(calls)) if calls[number] == "step"]
    for place, (type_, data) in enumerate(log):
        if type_ == "checkpoint" and data["name"] in later:
            assert max(places) < place
