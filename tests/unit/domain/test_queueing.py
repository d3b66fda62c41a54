"""The queue: how a run comes to wait in it, and whose turn it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.queueing import Place, in_turn, to_queue
from baton.domain.run import CancelRequest, Lease, Push
from baton.domain.states import Mode, State
from tests.unit.domain.runs_at_hand import NOW, T0, run_in

HELD = {"mode": Mode.QUEUED, "lease": Lease("w", NOW), "claimed": True, "due_at": NOW + 5000}

places = st.builds(Place, st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 20), st.uuids().map(str))
turns = st.dictionaries(st.sampled_from("abc"), st.integers(1, 100))


def place(workflow="a", at=0, *, priority=5, run_id=None) -> Place:
    return Place(workflow, priority, at, run_id or f"{workflow}{at}")


def ids(ordered) -> str:
    return " ".join(each.run_id for each in ordered)


# Coming to wait


@pytest.mark.parametrize("state", [State.RUNNING, State.SUSPENDED, State.FAILED])
def test_what_comes_to_wait_is_held_by_nobody_and_due_at_no_time(state):
    waits = to_queue(run_in(state, **HELD), NOW + 9)
    assert (waits.state, waits.available_at, waits.lease, waits.due_at) == (
        State.PENDING,
        NOW + 9,
        None,
        None,
    )
    assert waits.queued
    assert not waits.announce


def test_what_is_told_to_end_is_looked_at_when_it_would_have_been():
    assert to_queue(run_in(State.SUSPENDED, **HELD, cancel=CancelRequest(at=T0)), NOW).due_at == NOW + 5000


@pytest.mark.parametrize(("forced_in", "due_in"), [(None, 9), (5000, 9), (5, 5)])
def test_what_is_pushed_is_told_of_and_due_when_it_may_be_claimed_or_sooner(forced_in, due_in):
    told = {} if forced_in is None else {"cancel": CancelRequest(at=T0), "due_at": NOW + forced_in}
    waits = to_queue(run_in(State.RUNNING, **HELD | told, push=Push()), NOW + 9)
    assert (waits.announce, waits.due_at) == (True, NOW + due_in)


# Whose turn it is


def test_a_higher_priority_comes_first_however_new_it_is():
    assert ids(in_turn([place(at=1), place(at=9, priority=6), place(at=5, priority=0)], {})) == "a9 a1 a5"


def test_within_a_workflow_the_one_that_has_been_available_longest_comes_first():
    assert ids(in_turn([place(at=3), place(at=1), place(at=2)], {})) == "a1 a2 a3"


def test_workflows_take_turns_however_many_runs_one_has():
    flood = [place("a", at) for at in range(100)]
    few = [place("b", at) for at in (200, 201)]
    ordered = in_turn([*flood, *few], {})
    assert ids(ordered[:5]) == "a0 b200 a1 b201 a2"
    assert len(ordered) == 102


def test_the_one_that_was_served_longest_ago_begins_and_one_never_served_before_all():
    waiting = [place("a", 1), place("b", 2), place("c", 3)]
    assert ids(in_turn(waiting, {"a": 7, "b": 3})) == "c3 b2 a1"
    assert ids(in_turn(waiting, {"a": 7, "b": 7, "c": 7})) == "a1 b2 c3"


def test_taking_turns_begins_anew_within_each_priority():
    waiting = [place("a", 1), place("a", 2), place("b", 3, priority=9), place("a", 4, priority=9)]
    assert ids(in_turn(waiting, {"a": 1, "b": 2})) == "a4 b3 a1 a2"


@given(st.lists(places, unique=True), turns)
def test_nobody_is_left_out_or_named_twice_and_nobody_overtakes_his_own(waiting, served):
    ordered = in_turn(waiting, served)
    assert sorted(ordered) == sorted(waiting)
    priorities = [each.priority for each in ordered]
    assert priorities == sorted(priorities, reverse=True)
    for workflow in "abc":
        mine = [(-each.priority, each.available_at) for each in ordered if each.workflow == workflow]
        assert mine == sorted(mine)


@given(st.lists(places, unique=True), turns)
def test_a_workflow_is_behind_another_of_its_priority_by_one_run_at_the_most(waiting, served):
    for priority in range(10):
        line = [each.workflow for each in in_turn(waiting, served) if each.priority == priority]
        left = {name: line.count(name) for name in set(line)}
        had = dict.fromkeys(left, 0)
        for name in line:
            had[name] += 1
            still = [had[other] for other in had if had[other] < left[other]] or [had[name]]
            assert had[name] - min(still) <= 1
