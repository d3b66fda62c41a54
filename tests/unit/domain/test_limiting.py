"""What a limit lets in, how coarsely it is counted, and when a refused caller may come again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.limiting import COUNTS, WINDOW_SECONDS, Limit, end_of, too_many, window_of

TIMES = st.integers(0, 2**45)


@given(st.floats(0.1, 1_000_000))
def test_a_full_window_is_written_to_at_most_so_often_and_a_small_limit_is_exact(per_second):
    most, stride = Limit.of(per_second)
    assert most == per_second * WINDOW_SECONDS
    assert stride >= 1
    assert most / stride < 2 * COUNTS
    assert stride == 1 or most / stride >= COUNTS


@pytest.mark.parametrize(
    ("per_second", "stride"), [(0.1, 1), (5, 1), (9, 1), (10, 2), (100, 20), (1000, 200)]
)
def test_the_stride_grows_with_the_limit(per_second, stride):
    assert Limit.of(per_second).stride == stride


@given(TIMES)
def test_each_moment_is_in_one_window_of_ten_seconds(now):
    window = window_of(now)
    assert window <= now < end_of(window) == window + 10_000
    assert window_of(window) == window
    assert window_of(end_of(window)) == end_of(window)


@given(TIMES)
def test_who_comes_again_when_told_finds_another_window(now):
    until = end_of(window_of(now))
    seconds = int(too_many(until, now).headers["Retry-After"])
    assert 1 <= seconds <= WINDOW_SECONDS
    assert now + 1000 * seconds >= until
    assert seconds == 1 or now + 1000 * (seconds - 1) < until
