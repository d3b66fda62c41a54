"""GET one, many, awaited; DELETE."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.functions.lambdas import Context, Lambdas
from tests.unit.house import House


def _get(api: Lambdas, run_id: str, **headers: Any) -> Any:
    return api.call("GET", f"/v1/runs/{run_id}", **headers)


def test_a_run_comes_with_all_around_it(api: Lambdas):
    run = api.start(input=1)
    answer = _get(api, run["id"])
    assert answer.json == {
        "run": run,
        "deliveries": [],
        "subscribers": [],
        "waits_for": [],
        "awaited_by": [],
        "released": None,
    }
    assert answer.headers["cache-control"] == "private, no-cache"


def _released(api: Lambdas, run_id: str) -> Any:
    return _get(api, run_id).json["released"]


def test_a_run_that_is_pending_again_says_how_its_last_lease_ended(api: Lambdas, house: House):
    run_id = api.start(mode="queued", run_id="r1")["id"]
    assert _released(api, run_id) is None
    api.call("POST", "/v1/claims", {"worker_id": "w1", "workflows": ["build"]})
    assert _released(api, run_id) is None
    mine = {"worker_id": "w1", "attempt": 1}
    api.call("POST", f"/v1/runs/{run_id}/release", mine)
    assert _released(api, run_id) == mine | {"error": None}
    api.call("POST", f"/v1/runs/{run_id}/claim", {"worker_id": "w2", "lease_seconds": 60})
    assert _released(api, run_id) is None
    house.clock.advance(63)
    house.container().sweep.run()
    why = {"message": "the lease of worker w2 ran out", "type": "lease"}
    assert _released(api, run_id) == {"worker_id": "w2", "attempt": 2, "error": why}


@pytest.mark.parametrize("parameters", [{"id": "a:1"}, {"id": "a%3A1"}, None])
@pytest.mark.parametrize("path", ["/v1/runs/a:1", "/v1/runs/a%3A1"])
def test_an_id_is_understood_however_the_gateway_passes_it_on(
    api: Lambdas, parameters: dict[str, str] | None, path: str
):
    api.start(run_id="a:1")
    event, match = api.event("GET", "/v1/runs/a:1")
    event |= {"rawPath": path, "pathParameters": parameters}
    answer = api.module(match.function.name).handler(event, Context())
    assert json.loads(answer["body"])["run"]["id"] == "a:1"


def test_an_etag_answers_304_until_anything_changes(api: Lambdas):
    run = api.start()
    etag = _get(api, run["id"]).headers["etag"]
    for given in (etag, f'"x", W/{etag}', "*"):
        unchanged = _get(api, run["id"], if_none_match=given)
        assert (unchanged.status, unchanged.body, unchanged.headers["etag"]) == (304, b"", etag)
        assert unchanged.headers["cache-control"] == "private, no-cache"
    assert _get(api, run["id"], if_none_match='"other"').status == 200
    api.append(run["id"])
    appended = _get(api, run["id"], if_none_match=etag)
    assert appended.status == 200  # next_offset is the log's tail now
    api.finish(run["id"])
    assert _get(api, run["id"], if_none_match=appended.headers["etag"]).status == 200


def test_next_offset_is_the_tail_also_when_another_container_wrote_it(api: Lambdas, house: House):
    run = api.start()
    other = Lambdas(house.container())
    tail = other.append(run["id"]).headers["stream-next-offset"]
    assert _get(api, run["id"]).json["run"]["next_offset"] == tail


@pytest.mark.parametrize("run_id", ["absent", "%00", "a b", "a%2Fb", "k~", "~x", "x" * 500, "\u00e9", "%ff"])
def test_an_id_that_is_or_can_be_none_is_not_found(api: Lambdas, run_id: str):
    for method, end in (
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/wait"),
        ("GET", "/stream"),
        ("HEAD", "/stream"),
    ):
        assert api.call(method, f"/v1/runs/{run_id}{end}").status == 404
    assert api.call("POST", f"/v1/runs/{run_id}/cancel").slug == "not-found"


def test_an_id_may_be_percent_encoded(api: Lambdas):
    api.start(run_id="a~b:c")
    assert _get(api, "a%7Eb%3Ac").status == 200


def test_a_run_past_its_retention_is_gone_everywhere(api: Lambdas, house: House):
    run = api.start()
    api.finish(run["id"])
    house.clock.advance(30 * 24 * 3600 + 1)
    assert _get(api, run["id"]).status == 404
    assert api.read(run["id"]).status == 404
    assert api.call("GET", "/v1/runs").json["runs"] == []


# Lists.


def _list(api: Lambdas, **query: Any) -> Any:
    answer = api.call("GET", "/v1/runs", query=query)
    assert answer.status == 200, answer
    return answer.json


def _ids(page: Any) -> list[str]:
    return [run["id"] for run in page["runs"]]


@pytest.fixture
def five(api: Lambdas, house: House) -> list[str]:
    """Five runs of two workflows, a second apart, oldest first."""
    for number in range(5):
        api.start(
            run_id=f"r{number}",
            workflow="odd" if number % 2 else "even",
            tags=["all", f"n{number}"],
            context_ref="c" if number < 3 else None,
        )
        house.clock.advance(1)
    api.finish("r0", "failed")
    api.finish("r1")
    return [f"r{number}" for number in range(5)]


def test_a_list_is_newest_first_over_all_workflows(api: Lambdas, five: list[str]):
    page = _list(api)
    assert _ids(page) == five[::-1]
    assert "next_token" not in page


@pytest.mark.parametrize("error", [{"message": "e", "type": "t"}, None])
def test_a_listed_run_has_every_field_but_input_output_and_next_offset(api: Lambdas, error: Any):
    run = api.finish(api.start(input="in")["id"], output="out", error=error)
    [listed] = _list(api)["runs"]
    assert listed == {**run, "input": None, "output": None, "next_offset": None}


def test_a_resumed_run_is_listed_without_its_earlier_error(api: Lambdas):
    run = api.finish(api.start()["id"], "failed", error={"message": "e"}, resumable=True)
    assert _list(api)["runs"][0]["error"] == {"message": "e"}
    api.call("POST", f"/v1/runs/{run['id']}/resume")
    assert _list(api)["runs"][0]["error"] is None


def test_a_page_of_large_errors_ends_early_and_goes_on(api: Lambdas):
    error = {"message": "x" * 250_000}
    made = [api.finish(api.start(run_id=f"r{n:02}")["id"], "failed", error=error)["id"] for n in range(14)]
    page = _list(api)
    first = _ids(page)
    assert 0 < len(first) < len(made)
    assert all(run["error"] == error for run in page["runs"])
    assert [*first, *_ids(_list(api, next_token=page["next_token"]))] == made[::-1]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({"workflow": "odd"}, ["r3", "r1"]),
        ({"workflow": "none"}, []),
        ({"state": "failed"}, ["r0"]),
        ({"tag": "n2"}, ["r2"]),
        ({"context_ref": "c"}, ["r2", "r1", "r0"]),
        ({"context_ref": "c", "workflow": "odd"}, ["r1"]),
        ({"context_ref": "x"}, []),
        ({"since": "2026-01-01T00:00:03Z"}, ["r4", "r3"]),
        ({"until": "2026-01-01T00:00:01Z"}, ["r1", "r0"]),
        ({"since": "2026-01-01T01:00:01+01:00", "until": "2026-01-01T00:00:01.000Z"}, ["r1"]),
        ({"since": "2026-01-01T00:00:01.0001Z", "until": "2026-01-01T00:00:02.0009Z"}, ["r2"]),
        ({"since": "2026-01-01T00:00:03Z", "until": "2026-01-01T00:00:01Z"}, []),
        ({"until": "1969-12-31T23:59:59Z"}, []),
        ({"since": "1969-12-31T23:59:59Z"}, ["r4", "r3", "r2", "r1", "r0"]),
        ({"since": "0001-01-01T00:00:00Z", "until": "9999-12-31T23:59:59Z"}, ["r4", "r3", "r2", "r1", "r0"]),
        ({"since": "9999-12-31T23:59:59Z"}, []),
    ],
)
def test_a_list_holds_what_was_asked_for(
    api: Lambdas, five: list[str], query: dict[str, str], ids: list[str]
):
    assert _ids(_list(api, **query)) == ids


def test_states_may_be_several(api: Lambdas, five: list[str]):
    answer = api.call("GET", "/v1/runs", query=[("state", "failed"), ("state", "completed")])
    assert _ids(answer.json) == ["r1", "r0"]


@pytest.mark.parametrize("query", [{}, {"tag": "all"}, {"workflow": "even"}, {"context_ref": "c"}])
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_pages_join_without_gap_or_repeat(api: Lambdas, five: list[str], query: dict[str, str], limit: int):
    whole = _ids(_list(api, **query))
    found: list[str] = []
    page = _list(api, **query, limit=limit)
    while "next_token" in page:
        found += _ids(page)
        assert len(page["runs"]) <= limit
        page = _list(api, **query, limit=limit, next_token=page["next_token"])
    assert [*found, *_ids(page)] == whole


def test_a_run_started_between_two_pages_disturbs_neither(api: Lambdas, five: list[str]):
    first = _list(api, limit=3)
    api.start(run_id="late")
    second = _list(api, limit=3, next_token=first["next_token"])
    assert [*_ids(first), *_ids(second)] == five[::-1]


def test_a_token_is_of_its_list_and_no_other(api: Lambdas, five: list[str]):
    token = _list(api, limit=1, workflow="even")["next_token"]
    assert _ids(_list(api, limit=5, workflow="even", next_token=token)) == ["r2", "r0"]  # limit is free
    text, _, signature = token.partition(".")
    for query, headers in (
        ({"workflow": "odd", "next_token": token}, {}),
        ({"next_token": token}, {}),
        ({"workflow": "even", "tag": "all", "next_token": token}, {}),
        ({"workflow": "even", "next_token": token}, {"baton_namespace": "other"}),
        ({"workflow": "even", "next_token": token[:-1]}, {}),
        ({"workflow": "even", "next_token": f"{text}x.{signature}"}, {}),
        ({"workflow": "even", "next_token": f"{text[:-1]}.{signature}"}, {}),
        ({"workflow": "even", "next_token": text}, {}),
        ({"workflow": "even", "next_token": "\u00e9.\u00e9"}, {}),
    ):
        answer = api.call("GET", "/v1/runs", query=query, **headers)  # type: ignore[arg-type]
        assert (answer.slug, answer.loc) == ("invalid-request", ["query", "next_token"])


def test_tokens_and_tails_outlive_a_rotation_of_the_keys(house: House, api: Lambdas):
    run = api.start()
    api.start()
    token = _list(api, limit=1)["next_token"]
    tail = api.append(run["id"]).headers["baton-tail"]
    rotated = Lambdas(House(house.client, _with_keys(house, b"key", b"newer"), house.clock).container())
    assert len(_list(rotated, limit=1, next_token=token)["runs"]) == 1
    assert rotated.append(run["id"], baton_tail=tail).status == 204
    fresh = _list(rotated, limit=1)["next_token"]
    forgotten = Lambdas(House(house.client, _with_keys(house, b"newer"), house.clock).container())
    assert len(_list(forgotten, limit=1, next_token=fresh)["runs"]) == 1
    assert forgotten.call("GET", "/v1/runs", query={"limit": 1, "next_token": token}).status == 400


def _with_keys(house: House, *keys: bytes) -> Any:
    from msgspec.structs import replace

    return replace(house.settings, signing_keys=keys)


# Waiting and deleting.


def test_a_wait_ends_as_soon_as_the_run_has_settled(api: Lambdas, house: House):
    run = api.start()
    house.clock.plan(3, lambda: api.finish(run["id"], output="done"))
    answer = api.call("GET", f"/v1/runs/{run['id']}/wait")
    assert answer.json["terminal"] is True
    assert answer.json["run"] == _get(api, run["id"]).json["run"]
    assert sum(house.clock.slept) < 4


@pytest.mark.parametrize(
    ("query", "seconds"), [({}, 20), ({"timeout_seconds": 2.5}, 2.5), ({"timeout_seconds": 0}, 0)]
)
def test_a_wait_ends_at_its_timeout(api: Lambdas, house: House, query: dict[str, Any], seconds: float):
    run = api.start()
    answer = api.call("GET", f"/v1/runs/{run['id']}/wait", query=query)
    assert (answer.status, answer.json["terminal"], answer.json["run"]["state"]) == (200, False, "running")
    assert sum(house.clock.slept) == pytest.approx(seconds)


def test_a_wait_leaves_time_for_its_answer(api: Lambdas, house: House):
    run = api.start()
    api.call("GET", f"/v1/runs/{run['id']}/wait", query={"timeout_seconds": 25}, seconds=10)
    assert sum(house.clock.slept) == pytest.approx(9)


def test_a_settled_run_is_not_waited_for(api: Lambdas, house: House):
    run = api.finish(api.start()["id"])
    assert api.call("GET", f"/v1/runs/{run['id']}/wait").json == {"run": run, "terminal": True}
    assert house.clock.slept == []


def test_only_a_settled_run_is_deleted_and_then_at_once(api: Lambdas):
    run = api.start()
    refused = api.call("DELETE", f"/v1/runs/{run['id']}")
    assert (refused.slug, refused.json["run"]) == ("in-flight", run)
    api.finish(run["id"])
    answer = api.call("DELETE", f"/v1/runs/{run['id']}")
    assert (answer.status, answer.body) == (204, b"")
    for method, end in (("GET", ""), ("GET", "/stream"), ("DELETE", ""), ("GET", "/wait")):
        assert api.call(method, f"/v1/runs/{run['id']}{end}").status == 404
    assert _list(api)["runs"] == []
