"""Two tenants in one house, who name everything alike: whatever they do, and whatever the house does for
them, nothing of one is ever in an answer, an event, a hint or a log line for the other, nor changes what the
other has."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.doings import DOINGS, Doer, pry
from tests.fuzz.tenants import (
    LEFT,
    OTHER,
    RIGHT,
    RUNS,
    WORKFLOWS,
    Items,
    Shared,
    Tenant,
    shared_house,
    whose,
)
from tests.unit.conftest import dynamodb

__all__ = ["dynamodb"]

HOUSE = ("publish", "publish", "sweep", "heal", "timers")
OFTEN = ("finish", "finish", "claim", "post")
AHEAD = (0.5, 6, 45, 3700)
MOST_STEPS = 25
FIRST = ((RUNS[0], 2), (RUNS[1], 4), (RUNS[2], 5))
"""An attached run and a queued one of the workflow that another follows, and one of that."""
LATE = (("register", 3), ("start", 2), ("finish", 0))
VIEW_EVERY = 13
"""Steps, to go faster: what stands in the tables is looked at after each."""


class Step(NamedTuple):
    """What one of them does, or (None) what happens in the house."""

    who: Tenant | None
    what: str
    run: str
    number: int


def steps() -> st.SearchStrategy[list[Step]]:
    run, number = st.sampled_from(RUNS), st.integers(0, 5)
    done = st.builds(
        Step, st.sampled_from((LEFT, RIGHT)), st.sampled_from((*DOINGS, *OFTEN, "pry")), run, number
    )
    happens = st.builds(Step, st.none(), st.sampled_from((*HOUSE, "time")), run, number)
    # They make what there is to leak first, and somebody to be told of it; then anything.
    made = [Step(who, "register", RUNS[0], 3) for who in (LEFT, RIGHT)]
    made += [Step(who, "start", run, number) for run, number in FIRST for who in (LEFT, RIGHT)]
    return st.lists(st.one_of(done, done, happens), min_size=5, max_size=MOST_STEPS).map(made.__add__)


def play(house: Shared, wished: list[Step]) -> None:
    """Do as wished, and hold each step against what it may touch and tell."""
    doers = {who: Doer(house, who) for who in (LEFT, RIGHT)}
    before = house.items()
    for at, (who, what, run, number) in enumerate(wished):
        looks = at % VIEW_EVERY == 0
        if who is None:
            if what == "time":
                house.clock.advance(AHEAD[number % len(AHEAD)])
            else:
                house.happens(what)
            told = house.told()
            assert not any(house.holds(LEFT, each) and house.holds(RIGHT, each) for each in told), told
        else:
            other = OTHER[who]
            view = view_of(house, other) if looks else []
            house.told()
            if what == "pry":
                pry(doers[who], doers[other], run, number)
            else:
                DOINGS[what](doers[who], run, number)
            told = house.told()
            assert not any(house.holds(other, each) for each in told), told
            assert of(other, house.items()) == of(other, before), what
            assert not looks or view_of(house, other) == view, what
        after = house.items()
        assert_apart(house, after, before)
        before = after
    assert house.leaks() == []


def view_of(house: Shared, who: Tenant) -> list[tuple[int, bytes]]:
    """What a tenant sees of its own when it looks."""
    asked = [
        house.ask(who, "GET", "/v1/runs", query={"workflow": WORKFLOWS[0]}),
        house.ask(who, "GET", "/v1/stats"),
        house.ask(who, "GET", f"/v1/runs/{RUNS[0]}"),
        house.ask(who, "GET", f"/v1/runs/{RUNS[0]}/stream"),
    ]
    return [(each.status, each.body) for each in asked]


def of(who: Tenant, items: Items) -> Items:
    """What is a tenant's."""
    return {place: item for place, item in items.items() if whose(place) is who}


def assert_apart(house: Shared, items: Items, before: Items) -> None:
    """Nothing that has changed belongs to nobody, or holds anything of the other."""
    for place, item in items.items():
        if before.get(place) != item:
            owner = whose(place)
            assert owner is not None, place
            assert not house.holds(OTHER[owner], repr((place, item))), (place, item)


@settings(max_examples=8)
@given(wished=steps())
def test_tenants_who_name_everything_alike_never_meet(dynamodb: Any, wished: list[Step]):
    with shared_house(dynamodb) as house:
        play(house, wished)


def test_nor_do_they_when_both_do_all_that_can_be_done(dynamodb: Any):
    wished = [Step(who, "register", RUNS[0], 3) for who in (LEFT, RIGHT)]
    for number in range(6):
        wished += [Step(who, "start", run, each) for run, each in FIRST for who in (LEFT, RIGHT)]
        for what in (*DOINGS, "pry"):
            wished += [Step(who, what, RUNS[number % 3], number) for who in (LEFT, RIGHT)]
        wished += [Step(None, what, "", number) for what in ("publish", "time", "timers", "sweep", "heal")]
    # What nobody has published is left to the sweep.
    wished += [Step(who, what, "r4", each) for what, each in LATE for who in (LEFT, RIGHT)]
    wished += [Step(None, "time", "", AHEAD.index(45)), Step(None, "sweep", "", 0)]
    with shared_house(dynamodb) as house:
        play(house, wished)
        assert house.did >= {"run.started", "run.completed", "run.failed", "run.triggered", "told a target"}
        assert house.did >= {"published", "postponed", "delivered"}, "by sweeps and heals"


@pytest.mark.slow
@settings(max_examples=60)
@given(wished=steps())
def test_nor_do_they_in_a_long_life_together(dynamodb: Any, wished: list[Step]):
    with shared_house(dynamodb) as house:
        play(house, wished)
