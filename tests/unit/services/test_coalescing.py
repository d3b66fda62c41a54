"""Coalescing: what joins one window becomes one run; nothing is lost, and nothing counts twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from baton.bootstrap import Runtime
from baton.domain.catalog import Batch, BatchMode, Workflow
from baton.domain.payload import KB, MAX_HANDOFF_INPUT
from baton.domain.run import Run, TriggeredBy
from baton.domain.starting import HandOff
from baton.domain.states import Mode, State
from baton.errors import PayloadTooLarge, Unavailable
from baton.outbound.timers import Timers
from baton.services.coalescing import ROUNDS, Joined, Standing, Tended
from baton.services.sweep import Swept
from baton.store.windows import ALONG, OPEN, WindowStore
from tests.unit.house import NS, House, calls_of, names_of

BATCH = Batch(mode=BatchMode.BATCH, window_seconds=10, max_size=100, max_wait_seconds=60)
DEBOUNCE = Batch(mode=BatchMode.DEBOUNCE, window_seconds=10, max_wait_seconds=60)
CAUSE = TriggeredBy("r1", "build", "run.completed:build", 1)
REPORT = Workflow(
    namespace=NS,
    name="report",
    max_attempts=7,
    inactivity_timeout_seconds=90,
    created_at=0,
    updated_at=0,
    rev="r",
)


def join(runtime: Runtime, event_id: str, input_: bytes = b"1", batch: Batch = BATCH, **given: Any) -> Joined:
    key, workflow = given.pop("key", None), given.pop("workflow", REPORT)
    wish = {"namespace": NS, "depth": 3, "triggered_by": CAUSE, **given}
    of_its_own = HandOff(
        workflow=workflow.name,
        run_id=event_id,
        input=input_,
        inactivity_timeout_seconds=workflow.inactivity_timeout_seconds,
        max_attempts=workflow.max_attempts,
        **wish,
    )
    return runtime.coalescer.join(of_its_own, batch, key)


def sweep(house: House) -> Swept:
    return house.container().sweep.run()


def sorts(house: House) -> list[str]:
    """The sort keys of all that stands in the runs table."""
    return sorted("joined" if "wi" in raw and "al" in raw else raw["s"]["S"] for raw in house.rows())


def key_of_header(house: House) -> str:
    (key,) = [raw["k"]["S"] for raw in house.rows() if raw["s"]["S"] == OPEN]
    return str(key)


def run_of(house: House, joined: Joined) -> Run:
    return house.container().runs.get(NS, joined.run_id).run


def input_of(house: House, joined: Joined) -> bytes | None:
    return house.container().runs.get(NS, joined.run_id).input


@contextmanager
def hints_of(runtime: Runtime) -> Iterator[list[tuple[tuple[str, str], int]]]:
    """What a container has its timers told of windows meanwhile."""
    told: list[tuple[tuple[str, str], int]] = []
    with patch.object(Timers, "hint", lambda _self, keys, due_at: told.append((keys, due_at))):
        yield told


# A window's life


def test_the_first_input_opens_a_window_and_starts_nothing(house: House):
    joined = join(house.container(), "e1")
    assert not joined.fired
    assert joined.run_id.startswith("b~")
    assert house.container().coalescer.state_of(NS, joined.run_id) is Standing.BUFFERED
    assert sorts(house) == ["joined", "member#00000000", "open"]
    assert sweep(house) == Swept()


def test_at_its_end_the_sweep_makes_it_one_queued_run_of_all_that_joined(house: House):
    first = join(house.container(), "e1", b'{"n":1.50}')
    house.clock.advance(4)
    later = TriggeredBy("r2", "build", "run.failed:build", 2)
    second = join(house.container(), "e2", b"2", triggered_by=later, depth=1, traceparent="00-t-s-01")
    assert second == first
    house.clock.advance(5.999)
    assert sweep(house) == Swept()
    house.clock.advance(0.001)
    assert sweep(house) == Swept(fired=1)
    run = run_of(house, first)
    assert (run.workflow, run.state, run.mode) == ("report", State.PENDING, Mode.QUEUED)
    assert (run.triggered_by, run.depth, run.traceparent) == (later, 3, "00-t-s-01")
    assert (run.max_attempts, run.inactivity_timeout_seconds) == (7, 90)
    assert input_of(house, first) == b'{"events":[{"n":1.50},2]}'
    assert house.container().coalescer.state_of(NS, first.run_id) is Standing.FIRED
    assert sorts(house) == ["joined", "joined", "run"]


def test_a_debounced_window_fires_once_it_is_quiet_with_the_last_input(house: House):
    first = join(house.container(), "e1", b"1", DEBOUNCE)
    house.clock.advance(6)
    assert join(house.container(), "e2", b"2", DEBOUNCE) == first
    house.clock.advance(4)
    assert sweep(house) == Swept(postponed=1)
    house.clock.advance(5.999)
    assert sweep(house) == Swept()
    house.clock.advance(0.001)
    assert sweep(house) == Swept(fired=1)
    assert input_of(house, first) == b"2"
    assert sorts(house) == ["joined", "joined", "run"]


def test_inputs_that_never_pause_get_a_run_when_the_longest_wait_is_over(house: House):
    answers = []
    for turn in range(9):
        answers.append(join(house.container(), f"e{turn}", str(turn).encode(), DEBOUNCE))
        house.clock.advance(8)
    assert len({answer.window_id for answer in answers}) == 2
    assert input_of(house, answers[0]) == b"7"
    assert not answers[-1].fired


def test_the_input_that_fills_a_window_fires_it_at_once(house: House):
    small = replace(BATCH, max_size=2)
    first = join(house.container(), "e1", b"1", small)
    second = join(house.container(), "e2", b"2", small)
    assert second == first._replace(fired=True)
    assert input_of(house, first) == b'{"events":[1,2]}'
    third = join(house.container(), "e3", b"3", small)
    assert third.window_id != first.window_id
    assert not third.fired


def test_an_input_that_would_take_it_over_200_kb_fires_it_and_opens_the_next(house: House):
    large = b'"%s"' % (b"x" * 120 * KB)
    first, second = join(house.container(), "e1", large), join(house.container(), "e2", large)
    assert input_of(house, first) == b'{"events":[%s]}' % large
    assert not second.fired
    alone = join(house.container(), "e3", b'"%s"' % (b"y" * 300 * KB))
    assert alone.fired
    assert house.container().coalescer.state_of(NS, second.run_id) is Standing.FIRED


def test_what_could_be_no_runs_input_is_refused_and_nothing_is_written(house: House):
    with pytest.raises(PayloadTooLarge):
        join(house.container(), "e1", bytes(MAX_HANDOFF_INPUT))
    assert house.rows() == []


def test_what_comes_late_to_a_window_that_is_over_fires_it_and_opens_the_next(house: House):
    first = join(house.container(), "e1", b"1")
    house.clock.advance(10)
    second = join(house.container(), "e2", b"2")
    assert input_of(house, first) == b'{"events":[1]}'
    assert second.window_id != first.window_id


def test_each_key_subscriber_and_namespace_has_a_window_of_its_own(house: House):
    other = replace(REPORT, name="other")
    answers = [
        join(house.container(), "e1"),
        join(house.container(), "e3", key=b"null", workflow=other),
        join(house.container(), "e4", workflow=replace(other, name="third")),
        join(house.container(), "e2", key=b'"k"'),
        join(house.container(), "e1", namespace="elsewhere"),
    ]
    assert len({answer.window_id for answer in answers}) == len(answers)
    house.clock.advance(10)
    assert sweep(house) == Swept(fired=len(answers))


# Redelivery


def test_an_input_that_comes_again_answers_the_window_of_the_first_time(house: House):
    first = join(house.container(), "e1", b"1")
    assert join(house.container(), "e1", b"1") == first
    house.clock.advance(10)
    sweep(house)
    before = house.rows()
    assert join(house.container(), "e1", b"1") == first._replace(fired=True)
    assert house.rows() == before
    assert input_of(house, first) == b'{"events":[1]}'


def test_an_input_that_comes_again_fires_no_window_that_it_would_not_fit_into(house: House):
    large = b'"%s"' % (b"x" * 120 * KB)
    first = join(house.container(), "e1", large)
    assert join(house.container(), "e1", large) == first
    assert sorts(house) == ["joined", "member#00000000", "open"]


def test_an_input_that_comes_again_under_another_key_stays_where_it_is(house: House):
    first = join(house.container(), "e1")
    assert join(house.container(), "e1", key=b'"k"') == first
    assert sorts(house) == ["joined", "member#00000000", "open"]


def test_what_joined_is_remembered_as_long_as_a_run_may_owe_it(house: House):
    join(house.container(), "e1")
    (joined,) = [raw for raw in house.rows() if "al" in raw]
    end = house.clock.now() / 1000 + BATCH.max_wait_seconds
    assert int(joined["ttl"]["N"]) >= end + house.settings.retention_seconds


def test_who_asks_what_became_of_an_input_is_told(house: House):
    coalescer = house.container().coalescer
    assert coalescer.joined(NS, "e1") is None
    joined = join(house.container(), "e1")
    assert coalescer.joined(NS, "e1") == joined
    house.clock.advance(10)
    sweep(house)
    assert coalescer.joined(NS, "e1") == joined._replace(fired=True)


def test_a_window_stays_fired_after_its_run_is_gone(house: House):
    joined = join(house.container(), "e1")
    house.clock.advance(10)
    sweep(house)
    for raw in house.rows():
        house.client.delete_item(
            TableName=house.settings.runs_table, Key={name: raw[name] for name in ("k", "s")}
        )
    assert house.container().coalescer.state_of(NS, joined.run_id) is Standing.FIRED


# What it costs


def test_a_join_is_one_read_and_one_transaction_and_leaves_the_due_index_alone(house: House):
    runtime = house.container()
    join(runtime, "e1", b"1", DEBOUNCE)
    house.clock.advance(1)
    with calls_of(runtime) as calls:
        join(runtime, "e2", b"2", DEBOUNCE)
    assert names_of(calls) == ["GetItem", "TransactWriteItems"]
    header = calls[1][1]["TransactItems"][1]["Update"]
    assert not {"dk", "du"} & set(header["ExpressionAttributeNames"].values())


def test_a_debounced_window_keeps_one_payload_and_it_is_compressed_where_that_is_smaller(house: House):
    for turn in range(3):
        join(house.container(), f"e{turn}", b'"%s"' % (b"x" * 4000), DEBOUNCE)
    (payload,) = [raw for raw in house.rows() if raw["s"]["S"].startswith("member")]
    assert len(payload["b"]["B"]) < 200


def test_the_payloads_of_a_window_of_many_are_cleared_away_by_the_sweep(house: House):
    marks = [str(turn).encode() for turn in range(ALONG + 1)]
    joined, *_ = [join(house.container(), f"e{mark.decode()}", mark) for mark in marks]
    house.clock.advance(10)
    assert house.container().coalescer.fire(key_of_header(house)) is Tended.FIRED
    assert "spent" in sorts(house)
    assert input_of(house, joined) == b'{"events":[%s]}' % b",".join(marks)
    sweep(house)
    assert sorts(house) == [*["joined"] * (ALONG + 1), "run"]
    assert sweep(house) == Swept()


def test_sixty_inputs_are_one_run_and_leave_only_word_that_they_joined(house: House):
    runtime, all_ = house.container(), replace(BATCH, max_size=60)
    answers = [join(runtime, f"e{turn}", b"%d" % turn, all_) for turn in range(60)]
    assert [answer.fired for answer in answers] == [False] * 59 + [True]
    assert input_of(house, answers[0]) == b'{"events":[%s]}' % b",".join(b"%d" % turn for turn in range(60))
    assert sweep(house) == Swept(purged=1)
    assert sorts(house) == [*["joined"] * 60, "run"]


# Timers


def test_a_window_is_hinted_at_when_it_opens_and_when_it_is_put_off_and_not_in_between(house: House):
    runtime = house.container()
    with hints_of(runtime) as told:
        join(runtime, "e1", b"1", DEBOUNCE)
        house.clock.advance(4)
        join(runtime, "e2", b"2", DEBOUNCE)
        key = key_of_header(house)
        assert told == [((key, OPEN), house.clock.now() + 6000)]
        house.clock.advance(6)
        assert runtime.coalescer.fire(key) is Tended.PUT_OFF
        assert told[1:] == [((key, OPEN), house.clock.now() + 4000)]
        house.clock.advance(4)
        assert runtime.coalescer.fire(key) is Tended.FIRED
        assert len(told) == 2


def test_a_join_that_must_end_it_sooner_hints_again(house: House):
    runtime = house.container()
    with hints_of(runtime) as told:
        join(runtime, "e1", b"1", DEBOUNCE)
        join(runtime, "e2", b"2", replace(DEBOUNCE, window_seconds=1))
    assert [due_at - house.clock.now() for _, due_at in told] == [10_000, 1000]


def test_a_full_window_that_could_not_be_fired_is_due_and_hinted_at_and_the_input_is_in(house: House):
    runtime = house.container()
    with (
        hints_of(runtime) as told,
        patch.object(WindowStore, "fire", side_effect=Unavailable("the store is busy")),
    ):
        joined = join(runtime, "e1", b"1", replace(BATCH, max_size=1))
    assert not joined.fired
    assert told == [((key_of_header(house), OPEN), house.clock.now())]
    assert sweep(house) == Swept(fired=1)


def test_what_is_not_there_or_not_due_is_left_alone(house: House):
    coalescer = house.container().coalescer
    assert coalescer.fire(f"{NS}##window#report#none") is Tended.STALE
    join(house.container(), "e1")
    before = house.rows()
    assert coalescer.fire(key_of_header(house)) is Tended.STALE
    assert house.rows() == before


# Races that last


def test_a_race_that_is_lost_for_too_long_is_told_after_standing_back_a_bounded_while(house: House):
    runtime = house.container()
    with (
        patch.object(WindowStore, "join", return_value=None) as tries,
        pytest.raises(Unavailable, match="changes faster"),
    ):
        join(runtime, "e1")
    assert tries.call_count == ROUNDS
    assert 0 < sum(house.clock.slept) <= 0.2 * ROUNDS
    assert len(set(house.clock.slept)) > 1


def test_a_firing_that_is_outrun_for_too_long_is_told_too(house: House):
    join(house.container(), "e1")
    house.clock.advance(10)
    with patch.object(WindowStore, "fire", return_value=False), pytest.raises(Unavailable):
        house.container().coalescer.fire(key_of_header(house))
