"""A claim with a key, sent again: the same runs while their leases live, and no others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from baton.domain.states import State
from baton.errors import IdempotencyMismatch, InFlight, Unavailable
from tests.unit.domain.runs_at_hand import lease_of
from tests.unit.house import before_each_call
from tests.unit.services.acts import append, claim, claim_one, finish, release, renew, replay, row, types_of
from tests.unit.services.test_claims import ids, queue


def test_the_same_key_gets_the_same_runs_and_takes_no_others(house, runtime):
    queue(runtime, *(f"r{n}" for n in range(6)))
    first = claim(house.container(), most=3, key="k")
    again = claim(house.container(), most=3, key="k")
    assert ids(first) == ids(again) == ["r0", "r1", "r2"]
    assert [detail.run for detail in again] == [row(runtime, f"r{n}") for n in range(3)]
    assert ids(claim(house.container(), most=3, key="other")) == ["r3", "r4", "r5"]


def test_it_gets_those_that_it_still_holds(house, runtime):
    queue(runtime, *(f"r{n}" for n in range(6)))
    claim(runtime, most=3, key="k")
    finish(runtime, "r0", attempt=1)
    release(runtime, "r1")
    assert ids(claim(house.container(), most=3, key="k")) == ["r2"]
    assert row(runtime, "r1").state is State.PENDING


def test_once_it_holds_none_any_more_it_is_a_claim_like_another(house, runtime):
    queue(runtime, "r0", "r1")
    claim(runtime, key="k")
    finish(runtime, "r0", attempt=1)
    assert ids(claim(house.container(), key="k")) == ["r1"]
    assert ids(claim(house.container(), key="k")) == ["r1"]


def test_a_lease_that_ran_out_is_no_answer_any_more_and_a_renewed_one_is(house, runtime):
    queue(runtime, "r0", "r1", "r2")
    claim(runtime, most=2, key="k", seconds=60)
    house.clock.advance(59)
    renew(runtime, "r1")
    house.clock.advance(2)
    assert ids(claim(house.container(), most=2, key="k")) == ["r1"]


def test_the_same_key_with_another_body_is_refused_while_a_lease_lives(house, runtime):
    queue(runtime, "r0", "r1")
    claim(runtime, key="k", body="one")
    with pytest.raises(IdempotencyMismatch):
        claim(house.container(), key="k", body="two", worker="w2")
    assert row(runtime, "r1").state is State.PENDING
    finish(runtime, "r0", attempt=1)
    assert ids(claim(house.container(), key="k", body="two")) == ["r1"]


def test_nothing_was_there_then_and_something_is_now(house, runtime):
    assert claim(runtime, key="k") == []
    queue(runtime, "r0")
    assert ids(claim(house.container(), key="k")) == ["r0"]


def test_one_that_died_after_it_wrote_down_what_it_goes_for_goes_on_when_it_is_sent_again(house, runtime):
    queue(runtime, "r0", "r1", "r2")
    dying = house.container()

    def die(operation, request):
        if operation == "UpdateItem":
            raise Unavailable("gone")

    with before_each_call(dying, die), pytest.raises(Unavailable):
        claim(dying, most=2, key="k")
    queue(runtime, "high", priority=9)
    assert ids(claim(house.container(), most=2, key="k")) == ["r0", "r1"]
    assert row(runtime, "high").state is State.PENDING


def test_what_another_took_from_it_meanwhile_is_not_answered(house, runtime):
    queue(runtime, "r0", "r1")
    dying = house.container()

    def die(operation, request):
        if operation == "UpdateItem":
            raise Unavailable("gone")

    with before_each_call(dying, die), pytest.raises(Unavailable):
        claim(dying, most=2, key="k")
    claim_one(runtime, "r0", worker="w2")
    assert ids(claim(house.container(), most=2, key="k")) == ["r1"]
    assert lease_of(row(runtime, "r0")).worker_id == "w2"


def test_what_was_given_back_has_its_turn_like_any_other_when_the_repeat_comes_late(house, runtime):
    queue(runtime, "r0", "r1")
    claim(runtime, most=2, key="k")
    release(runtime, "r0")
    release(runtime, "r1")
    queue(runtime, "high", priority=9)
    assert ids(claim(house.container(), key="k")) == ["high"]
    assert {row(runtime, run_id).state for run_id in ("r0", "r1")} == {State.PENDING}


def test_sent_again_while_the_first_is_at_it_both_get_the_same(house, runtime):
    queue(runtime, *(f"r{n}" for n in range(6)))
    first, second = house.container(), house.container()
    between: list[list[str]] = []

    def send_again(operation, request):
        if operation == "UpdateItem" and not between:
            between.append(ids(claim(second, most=3, key="k")))

    with before_each_call(first, send_again):
        got = ids(claim(first, most=3, key="k"))
    assert got == between[0] == ["r0", "r1", "r2"]
    assert {row(runtime, f"r{n}").state for n in range(3, 6)} == {State.PENDING}


def test_sent_again_between_looking_and_writing_down_both_get_the_same(house, runtime):
    queue(runtime, "r0", "r1")
    claim(runtime, most=2)
    for run_id in ("r0", "r1"):  # claimed before: each claim of theirs needs the log
        release(runtime, run_id)
    first, second = house.container(), house.container()
    between: list[list[str]] = []

    def send_again(operation, request):
        if operation == "PutItem" and not between:
            between.append(ids(claim(second, most=2, key="k")))

    with before_each_call(first, send_again):
        got = ids(claim(first, most=2, key="k"))
    assert got == between[0] == ["r0", "r1"]
    assert [row(runtime, run_id).attempt for run_id in got] == [2, 2]


def test_sent_again_while_the_first_waits_it_is_told_what_that_one_got(house, runtime):
    """Whoever lost the first connection listens to the second."""
    second = house.container()

    def the_first_gets_it() -> None:
        queue(runtime, "r0")
        claim(house.container(), key="k")

    house.clock.plan(5, the_first_gets_it)
    assert ids(claim(second, key="k", wait_seconds=20)) == ["r0"]
    assert row(runtime, "r0").attempt == 1


@pytest.mark.parametrize("times", [8])
def test_sent_many_times_at_once_all_answers_are_of_the_same_runs(house, runtime, times):
    queue(runtime, *(f"r{n}" for n in range(12)))
    containers = [house.container() for _ in range(times)]
    with ThreadPoolExecutor(times) as threads:
        answers = list(threads.map(lambda each: ids(claim(each, most=3, key="k")), containers))
    held = [f"r{n}" for n in range(12) if row(runtime, f"r{n}").lease is not None]
    assert held == ["r0", "r1", "r2"]
    assert answers == [held] * times


# Of one run


def test_a_claim_of_one_run_with_a_key_may_be_repeated(house, runtime):
    queue(runtime, "r0")
    first = claim_one(house.container(), "r0", key="k")
    assert claim_one(house.container(), "r0", key="k") == first
    with pytest.raises(InFlight):
        claim_one(house.container(), "r0")
    with pytest.raises(InFlight):
        claim_one(house.container(), "r0", key="other")


def test_its_repeat_begins_no_second_attempt_of_one_that_was_claimed_before(house, runtime):
    queue(runtime, "r0")
    claim_one(runtime, "r0")
    release(runtime, "r0")
    first = claim_one(house.container(), "r0", key="k")
    append(runtime, "r0", 1, attempt=2)
    again = claim_one(house.container(), "r0", key="k")
    assert again.run == first.run
    assert types_of(replay(runtime, "r0")) == ["start", "claimed", "note"]


def test_another_worker_with_the_same_key_does_not_get_it(house, runtime):
    queue(runtime, "r0")
    claim_one(runtime, "r0", key="k", body="one")
    with pytest.raises(IdempotencyMismatch) as refused:
        claim_one(house.container(), "r0", worker="w2", key="k", body="two")
    assert replace(refused.value.run, rev="") == replace(row(runtime, "r0"), rev="")
