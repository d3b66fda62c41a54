"""Requests of a token are counted by all containers together, about, at a cost that does not grow."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from msgspec.structs import replace

from baton.domain.limiting import WINDOW_SECONDS, Limit
from baton.errors import TooManyRequests, Unavailable
from baton.services.limiting import MAX_REMEMBERED
from tests.unit.house import calls_of, names_of

TOKEN = "default_aaaaaaaa"


def deployment(house, per_second):
    """The same one, with that limit."""
    house.settings = replace(house.settings, token_requests_per_second=per_second)
    return house


def let_in(containers, requests, token=TOKEN):
    """How many of so many requests, which fall on the containers in turn, are let in."""
    return requests - sum(refused(containers[at % len(containers)], token) for at in range(requests))


def refused(container, token=TOKEN):
    try:
        container.limiter.let_in(token)
    except TooManyRequests:
        return True
    return False


def test_a_small_limit_is_exact_whichever_containers_requests_fall_on(house):
    house = deployment(house, 2)
    assert let_in([house.container() for _ in range(7)], 60) == 20
    house.clock.advance(WINDOW_SECONDS)
    assert let_in([house.container()], 60) == 20


@pytest.mark.parametrize("containers", [1, 3, 20])
def test_a_large_one_is_overrun_by_at_most_two_strides_a_container(house, containers):
    house = deployment(house, 100)
    most, stride = Limit.of(100)
    let = let_in([house.container() for _ in range(containers)], 2000)
    assert abs(let - most) <= 2 * stride * containers


def test_containers_that_serve_one_request_each_count_as_much_in_the_mean(house):
    house = deployment(house, 100)
    counted = sum(
        names_of(calls) == ["UpdateItem"]
        for container in (house.container() for _ in range(1000))
        for calls in [asked(container)]
    )
    assert 30 <= counted <= 70  # 50 in the mean, 7 the deviation


def asked(container, times=1):
    with calls_of(container) as calls:
        for _ in range(times):
            refused(container)
    return calls


def test_within_the_limit_one_request_in_a_stride_costs_one_write_and_none_a_read(house):
    container = deployment(house, 100).container()
    calls = asked(container, 200)
    assert names_of(calls) == ["UpdateItem"] * 10
    request = calls[0][1]
    assert "ConditionExpression" not in request
    [item] = [raw for raw in house.items("catalog") if "n" in raw]
    assert item["n"] == {"N": "200"}
    assert item["k"]["S"].startswith("#")  # of no namespace: it is read with no catalog
    assert int(item["ttl"]["N"]) * 1000 > house.clock.now() + WINDOW_SECONDS * 1000


def test_who_is_over_is_refused_without_a_write_till_the_window_ends(house):
    container = deployment(house, 1).container()
    assert let_in([container], 11) == 10
    house.clock.advance(3.2)
    with calls_of(container) as calls, pytest.raises(TooManyRequests) as refusal:
        container.limiter.let_in(TOKEN)
    assert calls == []
    assert refusal.value.headers["Retry-After"] == "7"
    house.clock.advance(7)
    assert let_in([container], 11) == 10


def test_a_clock_that_is_set_back_an_hour_refuses_nobody_for_an_hour(house):
    container = deployment(house, 1).container()
    assert let_in([container], 11) == 10
    house.clock.set_back(3600)
    with calls_of(container) as calls:
        assert let_in([container], 11) == 10
    assert len(calls) == 11
    house.clock.set_back(0.4)  # into the window before, 9.6 s in
    assert let_in([container], 10) == 10
    with pytest.raises(TooManyRequests) as refusal:
        container.limiter.let_in(TOKEN)
    assert refusal.value.headers["Retry-After"] == "1"


def test_each_token_is_counted_for_itself(house):
    container = deployment(house, 1).container()
    assert let_in([container], 20) == 10
    assert let_in([container], 20, "default_bbbbbbbb") == 10
    assert let_in([container], 20, "aaaaaaaa") == 10


def test_zero_lets_everything_in_and_writes_nothing(house):
    assert asked(deployment(house, 0).container(), 100) == []


def test_what_cannot_be_counted_is_let_in(house):
    container = deployment(house, 1).container()
    with patch.object(container.dynamo, "call", side_effect=Unavailable("the store is busy")):
        assert let_in([container], 50) == 50
    assert let_in([container], 50) == 10


def test_no_more_tokens_are_remembered_than_there_is_room_for(house):
    container = deployment(house, 1_000_000).container()
    limiter = container.limiter
    for number in range(MAX_REMEMBERED + 5):
        limiter.let_in(f"t{number}")
    assert len(limiter._uncounted) <= MAX_REMEMBERED


@pytest.mark.parametrize("wrong", [-1, 0.05, float("nan"), float("inf"), 1e40])
def test_what_is_no_limit_is_no_setting(house, wrong):
    with pytest.raises(ValueError, match="token_requests_per_second"):
        replace(house.settings, token_requests_per_second=wrong)
