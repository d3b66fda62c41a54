"""Which window an input joins, when a window is over, and what run it becomes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from baton.domain.catalog import Batch, BatchMode
from baton.domain.coalescing import (
    MAX_WINDOW,
    Fire,
    FireFirst,
    Join,
    PutOff,
    Window,
    check_alone,
    decide_fire,
    decide_join,
    hand_off,
    key_mark,
)
from baton.domain.names import id_from_window
from baton.domain.payload import KB, MAX_HANDOFF_INPUT, canonical, parse
from baton.domain.run import TriggeredBy
from baton.domain.starting import HandOff
from baton.errors import PayloadTooLarge

T0 = 1_000_000
DEBOUNCE = Batch(mode=BatchMode.DEBOUNCE, window_seconds=10, max_wait_seconds=60)
BATCH = Batch(mode=BatchMode.BATCH, window_seconds=10, max_size=3, max_wait_seconds=60)
FIRST, SECOND = (TriggeredBy(run_id, "build", "run.completed:build", 1) for run_id in ("a", "b"))


def a_wish(input_: bytes = b"1", **given: Any) -> HandOff:
    wish = {"namespace": "default", "workflow": "report", "run_id": "e1", "depth": 1, "triggered_by": None}
    return HandOff(**{**wish, "input": input_, **given})


def decided(
    window: Window | None, wish: HandOff, batch: Batch, now: int = T0, key: bytes | None = None
) -> Join | FireFirst:
    mark = key_mark(key)
    return decide_join(window, wish, batch, mark=mark, now=now, window_id="w1", rev=f"rev at {now}")


def joined(
    window: Window | None, wish: HandOff, batch: Batch, now: int = T0, key: bytes | None = None
) -> Window:
    join = decided(window, wish, batch, now, key)
    assert isinstance(join, Join)
    return join.window


def opened(batch: Batch, input_: bytes = b"1", *, key: bytes | None = None, **given: Any) -> Window:
    return joined(None, a_wish(input_, **given), batch, key=key)


# Joining


def test_the_first_input_opens_a_window_under_the_id_at_hand():
    window = opened(BATCH, b"1234", key=b'"k"')
    assert (window.id, window.rev, window.mode) == ("w1", f"rev at {T0}", BatchMode.BATCH)
    assert (window.count, window.bytes) == (1, 4)
    assert (window.opened_at, window.last_at) == (T0, T0)
    assert window.key_mark == key_mark(b'"k"')


def test_the_next_input_joins_it_and_takes_the_next_place():
    join = decided(opened(BATCH), a_wish(b"22"), BATCH, T0 + 1)
    assert isinstance(join, Join)
    assert (join.place, join.full) == (1, False)
    assert (join.window.id, join.window.count, join.window.bytes) == ("w1", 2, 3)
    assert (join.window.rev, join.window.last_at) == (f"rev at {T0 + 1}", T0 + 1)


def test_a_debounced_input_takes_the_place_of_the_one_before():
    join = decided(opened(DEBOUNCE, b"11111"), a_wish(b"22"), DEBOUNCE, T0 + 1)
    assert isinstance(join, Join)
    assert (join.place, join.full) == (0, False)
    assert (join.window.count, join.window.bytes, join.window.kept) == (2, 2, 1)


def test_no_key_and_the_key_null_are_two_windows():
    keys = [None, b"null", b'""', b"0"]
    assert len({key_mark(key) for key in keys}) == len(keys)


def test_the_run_is_for_the_last_ones_cause_and_as_deep_as_the_deepest():
    window = opened(BATCH, depth=7, triggered_by=FIRST, traceparent="t1", max_attempts=1, pushed=True)
    late = a_wish(depth=2, triggered_by=SECOND, traceparent="t2", inactivity_timeout_seconds=5)
    wish = hand_off(joined(window, late, BATCH), [b"1", b"1"])
    assert (wish.depth, wish.triggered_by, wish.traceparent) == (7, SECOND, "t2")
    assert (wish.max_attempts, wish.inactivity_timeout_seconds, wish.pushed) == (None, 5, False)


# When it ends


def test_a_batch_ends_a_window_after_it_opened_whatever_joins():
    window = opened(BATCH)
    for now in (T0 + 4000, T0 + 9999):
        assert window.fires_at == T0 + 10_000
        window = joined(window, a_wish(), BATCH, now)


def test_a_debounced_window_ends_once_it_is_quiet_for_that_long():
    window = joined(opened(DEBOUNCE), a_wish(), DEBOUNCE, T0 + 4000)
    assert window.fires_at == T0 + 14_000


def test_it_ends_at_the_latest_when_the_longest_wait_is_over():
    window = opened(DEBOUNCE)
    for now in range(T0 + 9000, T0 + 60_000, 9000):
        window = joined(window, a_wish(), DEBOUNCE, now)
    assert window.fires_at == window.latest_at == T0 + 60_000
    impatient = replace(BATCH, max_wait_seconds=4)
    assert opened(impatient).fires_at == T0 + 4000


def test_a_wait_that_nobody_named_is_that_of_ten_windows():
    assert opened(Batch(mode=BatchMode.DEBOUNCE, window_seconds=3)).latest_at == T0 + 30_000


@pytest.mark.parametrize("batch", [DEBOUNCE, BATCH], ids=["debounce", "batch"])
def test_what_is_over_lets_nobody_in_though_no_sweep_has_come(batch: Batch):
    window = opened(batch)
    assert isinstance(decided(window, a_wish(), batch, window.fires_at - 1), Join)
    assert decided(window, a_wish(), batch, window.fires_at) == FireFirst()


def test_the_input_that_fills_it_ends_it():
    window = joined(opened(BATCH), a_wish(), BATCH, T0 + 1)
    join = decided(window, a_wish(), BATCH, T0 + 2)
    assert isinstance(join, Join)
    assert join.full
    assert (join.window.fires_at, join.window.due_at) == (T0 + 2, T0 + 2)


def test_a_full_window_lets_nobody_in_by_a_clock_that_is_behind():
    window = opened(replace(BATCH, max_size=1))
    assert decided(window, a_wish(), replace(BATCH, max_size=1), T0 - 5000) == FireFirst()


def test_a_clock_that_is_behind_makes_no_quiet_window_older():
    window = joined(opened(DEBOUNCE), a_wish(), DEBOUNCE, T0 - 5000)
    assert (window.last_at, window.fires_at) == (T0, T0 + 10_000)


def test_other_settings_hold_from_the_next_input_on():
    sooner = joined(opened(BATCH), a_wish(), replace(BATCH, window_seconds=2), T0 + 1000)
    assert (sooner.fires_at, sooner.due_at) == (T0 + 2000, T0 + 2000)
    smaller = decided(opened(BATCH), a_wish(), replace(BATCH, max_size=1), T0 + 1)
    assert smaller == FireFirst()


def test_another_mode_begins_with_another_window():
    assert decided(opened(BATCH), a_wish(), DEBOUNCE, T0 + 1) == FireFirst()
    assert decided(opened(DEBOUNCE), a_wish(), BATCH, T0 + 1) == FireFirst()


# Sizes


def test_at_200_kb_a_window_is_full_and_not_before():
    almost = opened(BATCH, bytes(MAX_WINDOW - 2))
    assert almost.fires_at == T0 + 10_000
    join = decided(almost, a_wish(b"11"), BATCH)
    assert isinstance(join, Join)
    assert join.full
    below = decided(almost, a_wish(b"1"), BATCH)
    assert isinstance(below, Join)
    assert not below.full


def test_an_input_that_would_take_it_over_200_kb_fires_it_first():
    assert decided(opened(BATCH, bytes(MAX_WINDOW - 2)), a_wish(b"111"), BATCH) == FireFirst()


def test_one_input_alone_may_be_larger_and_fills_its_window():
    join = decided(None, a_wish(bytes(MAX_WINDOW + 1)), BATCH)
    assert isinstance(join, Join)
    assert join.full


def test_a_debounced_window_has_no_size_but_its_last_inputs():
    window = opened(DEBOUNCE, bytes(300 * KB))
    for _ in range(200):
        window = joined(window, a_wish(bytes(300 * KB)), DEBOUNCE)
    assert (window.bytes, window.fires_at) == (300 * KB, T0 + 10_000)


@pytest.mark.parametrize("batch", [DEBOUNCE, BATCH], ids=["debounce", "batch"])
def test_an_input_that_could_be_no_runs_even_alone_is_refused(batch: Batch):
    alone = MAX_HANDOFF_INPUT - (len(b'{"events":[]}') if batch is BATCH else 0)
    check_alone(a_wish(bytes(alone)), batch)
    with pytest.raises(PayloadTooLarge):
        check_alone(a_wish(bytes(alone + 1)), batch)


@given(st.lists(st.integers(1, 320 * KB - 13), min_size=1, max_size=30), st.integers(1, 10))
def test_whatever_comes_every_windows_input_is_one_that_a_run_may_have(sizes: list[int], max_size: int):
    batch, window = replace(BATCH, max_size=max_size), None
    taken: list[list[int]] = []
    for size in sizes:
        join = decided(window, a_wish(bytes(size)), batch)
        if isinstance(join, FireFirst):
            window, join = None, decided(None, a_wish(bytes(size)), batch)
        assert isinstance(join, Join)
        taken = taken if window else [*taken, []]
        taken[-1].append(size)
        window = None if join.full else join.window
        assert join.window.count == len(taken[-1])
        assert join.window.bytes == sum(taken[-1])
    assert [size for window_ in taken for size in window_] == sizes
    for window_ in taken:
        assert len(window_) <= max_size
        assert sum(window_) <= MAX_WINDOW or len(window_) == 1


# The due time


def test_a_join_leaves_the_due_time_alone_unless_it_must_become_earlier():
    window = opened(DEBOUNCE)
    later = joined(window, a_wish(), DEBOUNCE, T0 + 4000)
    assert later.due_at == window.due_at == T0 + 10_000
    assert later.fires_at == T0 + 14_000
    sooner = joined(later, a_wish(), replace(DEBOUNCE, window_seconds=1), T0 + 5000)
    assert sooner.due_at == sooner.fires_at == T0 + 6000


def test_who_comes_early_moves_the_due_time_and_nothing_else():
    window = joined(opened(DEBOUNCE), a_wish(), DEBOUNCE, T0 + 4000)
    assert decide_fire(window, now=T0 + 9999, rev="rev2") is None
    put_off = decide_fire(window, now=T0 + 10_000, rev="rev2")
    assert put_off == PutOff(replace(window, rev="rev2", due_at=T0 + 14_000))


def test_a_window_is_fired_to_the_millisecond():
    window = replace(joined(opened(DEBOUNCE), a_wish(), DEBOUNCE, T0 + 4000), due_at=T0)
    assert isinstance(decide_fire(window, now=T0 + 13_999, rev="rev2"), PutOff)
    assert decide_fire(window, now=T0 + 14_000, rev="rev2") == Fire()


def test_what_joined_is_remembered_as_long_as_a_run_may_owe_it():
    window = joined(opened(DEBOUNCE), a_wish(), DEBOUNCE, T0 + 4000)
    assert window.remembered_until(100) == window.latest_at + 100_000


# The run


def test_a_batches_input_is_all_payloads_in_order_of_arrival():
    wish = hand_off(opened(BATCH), [b'{"a":1.50}', b"null", b'"x"'])
    assert wish.input == b'{"events":[{"a":1.50},null,"x"]}'
    assert canonical(parse(wish.input)) == wish.input


def test_a_debounced_input_is_the_last_payload_itself():
    assert hand_off(opened(DEBOUNCE), [b'{"a":1.50}']).input == b'{"a":1.50}'


def test_the_run_is_the_subscribers_under_an_id_of_its_windows_own():
    window = opened(BATCH)
    wish = hand_off(window, [b"1"])
    assert (wish.namespace, wish.workflow) == ("default", "report")
    assert wish.run_id == window.run_id == id_from_window("default", "w1")
    others = [replace(window, id="w2"), replace(window, namespace="other")]
    assert len({window.run_id, *(other.run_id for other in others)}) == 3
