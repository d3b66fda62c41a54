"""On the real service: a worker may die before and after each of its requests, and whoever comes next goes on
from what is recorded."""

from __future__ import annotations

from collections import Counter

import pytest

from baton_sdk import TryAgain
from tests.e2e.worker.conftest import Line

MOST_WORKERS = 30
REQUESTS = 26
"""More than a worker makes that lives to the end."""
POINTS = [(at, heard) for at in range(REQUESTS) for heard in (False, True)]
FEW = POINTS[5::13]


class Story:
    """A function of every kind of call, what it does to the world, and what the world does for it."""

    def __init__(self, place) -> None:
        self.place = place
        self.effects: Counter[str] = Counter()

    def effect(self, name):
        self.effects[name] += 1
        return name

    def register(self, worker):
        @worker.workflow("report")
        def report(ctx):
            first = ctx.step("first", self.effect, "first")
            ctx.emit("note", "between")
            ctx.sleep(30)
            child = ctx.start("build", input={"of": first})
            gone = ctx.wait_for_event("go")
            built = ctx.wait_for_run(child)
            last = ctx.step("last", self.effect, "last")
            return [first, gone, built.output, last, str(ctx.uuid())]

        @worker.workflow("build")
        def build(ctx, input):
            return ctx.step("build", self.effect, "build") + input["of"]

    def told(self, line):
        """Worker after worker, of which the first may die, until the run has settled."""
        self.place.client.publish_event("go", 7)
        run_id = self.place.start("report")
        for number in range(MOST_WORKERS):
            worker = self.place.hire(f"w{number}", line=line if number == 0 else None)
            self.register(worker)
            self._work(worker)
            if self.place.run(run_id).terminal:
                return run_id
            self.place.go_on()
        return pytest.fail(f"not done: {self.place.types(run_id)}")

    def _work(self, worker):
        try:
            while worker.run_once():
                pass
        except TryAgain:
            return


def told(place, at, heard):
    story = Story(place)
    run_id = story.told(Line(dies_at=at, heard=heard))
    run = place.run(run_id)
    assert run.state == "completed", run.error
    assert run.output[:4] == ["first", 7, "buildfirst", "last"]
    steps = [each["name"] for each in place.said(run_id, "checkpoint") if each["kind"] == "step"]
    assert steps == ["first", "last"]
    assert [each.workflow for each in place.client.list()] == ["build", "report"]
    assert sum(story.effects.values()) <= 4, "only the step whose record did not come through"


def test_a_worker_that_lives_makes_fewer_requests_than_are_died_at(place):
    line = Line()
    Story(place).told(line)
    assert line.asked <= REQUESTS


@pytest.mark.parametrize(("at", "heard"), FEW)
def test_a_death_loses_nothing_and_repeats_nothing_recorded(at, heard, place):
    told(place, at, heard)


@pytest.mark.slow
@pytest.mark.parametrize(("at", "heard"), [point for point in POINTS if point not in FEW])
def test_a_death_at_any_other_request_does_neither(at, heard, place):
    told(place, at, heard)
