"""A token that asks too often is told so, before anything is read; who comes without one is not counted."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from baton.errors import Unavailable
from tests.functions.lambdas import Lambdas
from tests.unit.house import House, calls_of, names_of

ANN = {"namespace": "default", "role": "driver", "token_id": "default_aaaaaaaa"}
BOB = {"namespace": "default", "role": "driver", "token_id": "default_bbbbbbbb"}
LIMIT = 10
"""Requests of a window."""


@pytest.fixture
def house(house: House) -> House:
    """A deployment that counts exactly."""
    house.settings = replace(house.settings, token_requests_per_second=1)
    return house


@pytest.fixture
def over(api: Lambdas) -> Lambdas:
    """The functions, where Ann has asked as often as she may."""
    for _ in range(LIMIT):
        assert api.call("GET", "/v1/runs", authorizer=ANN).status == 200
    return api


def test_one_request_too_many_is_a_problem_that_says_when_to_come_again(over: Lambdas, house: House):
    house.clock.advance(3.5)
    answer = over.call("GET", "/v1/runs", authorizer=ANN)
    assert (answer.status, answer.slug) == (429, "too-many-requests")
    assert answer.json["retryable"] is True
    assert answer.headers["retry-after"] == "7"
    assert answer.headers["x-request-id"]
    house.clock.advance(7)
    assert over.call("GET", "/v1/runs", authorizer=ANN).status == 200


def test_it_is_refused_before_anything_is_read_or_written(over: Lambdas, house: House):
    run_id, before = over.start()["id"], (house.rows(), house.log())
    with calls_of(over.runtime) as calls:
        for _ in range(2):
            for method, path, body in (
                ("POST", "/v1/runs", {"workflow": "w"}),
                ("POST", f"/v1/runs/{run_id}/stream", {"type": "x"}),
                ("GET", f"/v1/runs/{run_id}/stream", None),
                ("HEAD", f"/v1/runs/{run_id}/stream", None),
                ("POST", f"/v1/runs/{run_id}/finish", {"status": "completed"}),
                ("POST", "/v1/claims", {"worker_id": "w", "workflows": ["w"]}),
            ):
                answer = over.call(method, path, body, authorizer=ANN)
                assert (answer.status, answer.headers["retry-after"]) == (429, "10")
    assert names_of(calls) == ["UpdateItem"]  # the first to be refused found out
    assert (house.rows(), house.log()) == before


def test_another_token_goes_on_and_so_does_who_comes_without(over: Lambdas):
    assert over.call("GET", "/v1/runs", authorizer=ANN).status == 429
    assert over.call("GET", "/v1/runs", authorizer=BOB).status == 200
    for _ in range(2 * LIMIT):
        assert over.call("GET", "/v1/runs").status == 200


def test_what_is_open_to_everybody_and_what_is_nowhere_is_not_counted(over: Lambdas):
    assert over.call("GET", "/v1/runs", authorizer=ANN).status == 429
    assert over.call("GET", "/v1/health", authorizer=ANN).status == 200
    assert over.call("GET", "/v1/nowhere", authorizer=ANN).status == 404
    assert over.call("PATCH", "/v1/runs", authorizer=ANN).status == 405


def test_what_is_refused_for_another_reason_counts_too(api: Lambdas):
    answers = [
        api.call("DELETE", "/v1/runs/absent", authorizer=ANN).status,
        api.call("POST", "/v1/runs", b"{", authorizer=ANN).status,
        api.call("GET", "/v1/runs/absent", authorizer=ANN).status,
        api.call("GET", "/v1/runs", authorizer=ANN, baton_namespace="another").status,
        api.call("GET", "/v1/runs", authorizer=ANN, baton_namespace="*").status,
    ]
    assert answers == [403, 400, 404, 403, 400]
    rest = [api.call("GET", "/v1/runs", authorizer=ANN).status for _ in range(LIMIT)]
    assert rest.count(200) == LIMIT - len(answers)
    assert api.call("DELETE", "/v1/runs/absent", authorizer=ANN).status == 429
    assert api.call("GET", "/v1/runs", authorizer=ANN, baton_namespace="another").status == 429


def test_a_live_read_is_one_request_however_long_it_lasts(api: Lambdas):
    run_id = api.start()["id"]
    with calls_of(api.runtime) as calls:
        answer = api.stream(f"/v1/runs/{run_id}/stream", query="offset=-1&live=sse", authorizer=ANN)
        frames = list(answer.body)
    assert len(frames) > 1
    assert names_of(calls).count("UpdateItem") == 1


def test_without_a_token_an_append_is_one_write_and_with_one_its_count_is_all_that_comes_to_it(
    api: Lambdas,
):
    run_id = api.start()["id"]
    for caller, made in ((None, ["PutItem"]), (ANN, ["UpdateItem", "PutItem"])):
        given: dict[str, Any] = {} if caller is None else {"authorizer": caller}
        with calls_of(api.runtime) as calls:
            assert api.append(run_id, **given).status == 204
        assert names_of(calls) == made


def test_a_store_that_cannot_count_keeps_nobody_out(over: Lambdas):
    with patch.object(over.runtime.dynamo, "changed", side_effect=Unavailable("the store is busy")):
        assert over.call("GET", "/v1/runs", authorizer=ANN).status == 200
    assert over.call("GET", "/v1/runs", authorizer=ANN).status == 429
