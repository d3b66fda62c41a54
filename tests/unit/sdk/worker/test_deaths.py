"""A worker may die before each of its requests, and after each: whoever comes next goes on, and nothing that
was recorded happens again."""

from __future__ import annotations

from collections import Counter

import pytest

from baton_sdk import TryAgain
from tests.unit.sdk.worker.fake import Line

WAKES = {
    "until": {"kind": "time", "until": "x"},
    "event": {"kind": "event", "event": "go", "payload": "gone"},
    "run": {"kind": "run", "run_id": "k~0", "run_state": "completed"},
}
MOST_ATTEMPTS = 12


class Story:
    """A function of every kind of call, and what it does to the world."""

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()

    def effect(self, name):
        self.effects[name] += 1
        return name

    def register(self, worker):
        @worker.workflow("report")
        def report(ctx, input):
            first = ctx.step("first", self.effect, "first")
            ctx.emit("note", "between")
            ctx.sleep(30)
            child = ctx.start("build", input={"of": first})
            gone = ctx.wait_for_event("go")
            built = ctx.wait_for_run(child)
            last = ctx.step("last", self.effect, "last")
            return [first, str(ctx.uuid()), child, gone, built.state, last, ctx.now().isoformat()]


def onward(baton):
    """What the world does while no worker is there."""
    row = baton.rows["r1"]
    if row.run["state"] == "running":
        baton.expire("r1")
    elif row.run["state"] == "suspended":
        (kind,) = baton.said("r1", "suspended")[-1]
        if kind == "run":
            baton.settle("k~0", "completed")
        baton.wake("r1", **WAKES[kind])


def to_the_end(baton, hire, story, *, line=None):
    """Worker after worker, of which the first may die."""
    baton.start("r1")
    for number in range(MOST_ATTEMPTS):
        if baton.state("r1") == "completed":
            return
        worker = hire(f"w{number}", line=line if number == 0 else None, tries=1 if number == 0 else None)
        story.register(worker)
        worker.run_once() if line is None or number else _until_cut(worker, line, baton)
        onward(baton)
    pytest.fail(f"not done after {MOST_ATTEMPTS} workers: {baton.types('r1')}")


def _until_cut(worker, line, baton):
    while not line.cut and baton.state("r1") != "completed":
        try:
            worker.run_once()
        except TryAgain:
            return
        onward(baton)


def requests_in_all(baton, hire):
    line = Line(baton)
    to_the_end(baton, hire, Story(), line=line)
    return line.asked


def test_the_story_has_as_many_requests_as_are_died_at(baton, hire):
    assert requests_in_all(baton, hire) <= REQUESTS


REQUESTS = 40


@pytest.mark.parametrize("heard", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(REQUESTS))
def test_a_death_at_any_request_loses_nothing_and_repeats_nothing_recorded(at, heard, baton, hire):
    story = Story()
    to_the_end(baton, hire, story, line=Line(baton, dies_at=at, heard=heard))
    checkpoints = baton.said("r1", "checkpoint")
    steps = [each["name"] for each in checkpoints if each["kind"] == "step"]
    assert steps == ["first", "last"]
    assert sum(story.effects.values()) <= 3  # the one whose record did not come through
    assert [run_id for run_id in baton.rows if run_id != "r1"] == ["k~0"]
    output = baton.rows["r1"].run["output"]
    assert (output[0], *output[2:6]) == ("first", "k~0", "gone", "completed", "last")
