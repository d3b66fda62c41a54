"""`POST /v1/runs/{id}/republish`, `POST /v1/republish` and `GET /v1/stats` on the wire."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.lambdas import Answer, Lambdas
from tests.unit.house import House
from tests.unit.services.endings_at_hand import BUILT, register

ZEROS = {
    "runs": 0,
    "created": 0,
    "existing": 0,
    "re_owed": 0,
    "skipped": 0,
    "refused": [],
    "busy": [],
}


def settled(api: Lambdas, *run_ids: str, status: str = "completed") -> None:
    for run_id in run_ids:
        api.start(run_id=run_id)
        api.finish(run_id, status)


def republish(api: Lambdas, body: Any, **how: Any) -> Answer:
    return api.call("POST", "/v1/republish", body, **how)


def of_run(api: Lambdas, run_id: str, body: Any = None, **how: Any) -> Answer:
    return api.call("POST", f"/v1/runs/{run_id}/republish", body, **how)


# One run


def test_a_runs_ending_goes_to_whoever_subscribes_now(api: Lambdas, house: House):
    settled(api, "r1")
    register(house, "report", BUILT)
    first = of_run(api, "r1")
    assert (first.status, first.json) == (200, ZEROS | {"runs": 1, "created": 1})
    assert of_run(api, "r1", {"subscriber": "report"}).json == ZEROS | {"runs": 1, "existing": 1}
    [delivery] = api.call("GET", "/v1/runs/r1").json["deliveries"]
    assert (delivery["subscriber"], delivery["state"], delivery["run_state"]) == (
        "report",
        "started",
        "pending",
    )


def test_who_is_not_subscribed_is_refused_by_name(api: Lambdas):
    settled(api, "r1")
    said = {"run_id": "r1", "subscriber": "nobody", "error": "it is not in the catalog"}
    assert of_run(api, "r1", {"subscriber": "nobody"}).json == ZEROS | {"runs": 1, "refused": [said]}
    assert api.call("GET", "/v1/runs/r1").json["deliveries"] == []


def test_a_run_that_has_not_settled_or_was_continued_counts_in_none(api: Lambdas, house: House):
    register(house, "report", BUILT)
    api.start(run_id="running")
    assert of_run(api, "running").json == ZEROS
    api.start(run_id="first")
    api.finish("first", continue_as_new={"run_id": "second"})
    assert of_run(api, "first").json == ZEROS
    assert republish(api, {"workflow": "build"}).json == ZEROS


def test_an_absent_run_is_404(api: Lambdas):
    assert of_run(api, "absent").slug == "not-found"
    settled(api, "r1")
    assert of_run(api, "r1", baton_namespace="other").slug == "not-found"


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"subscriber": ""}, ["body", "subscriber"]),
        ({"subscriber": 5}, ["body", "subscriber"]),
        ({"subscriber": "__x"}, ["body", "subscriber"]),
        ({"subscribers": []}, ["body", "subscribers"]),
        (b"[]", ["body"]),
    ],
)
def test_a_bad_body_is_refused_before_the_run_is_looked_for(api: Lambdas, body: Any, loc: list[Any]):
    answer = of_run(api, "absent", body)
    assert (answer.status, answer.loc) == (400, loc)


# A stretch of time


def test_a_days_runs_are_gone_over_call_by_call(api: Lambdas, house: House):
    settled(api, *(f"r{i}" for i in range(5)))
    register(house, "report", BUILT)
    asked: dict[str, Any] = {"workflow": "build", "ending": "completed", "subscriber": "report", "limit": 2}
    answers = [republish(api, asked).json]
    while "next_token" in answers[-1]:
        answers.append(republish(api, asked | {"next_token": answers[-1]["next_token"]}).json)
        assert len(answers) < 10
    assert sum(answer["runs"] for answer in answers) == sum(answer["created"] for answer in answers) == 5
    assert all(answer["runs"] <= 2 for answer in answers)


def test_settle_times_are_included_to_the_millisecond(api: Lambdas, house: House):
    at = "2026-01-01T00:00:00.000Z"
    settled(api, "r1")
    assert api.call("GET", "/v1/runs/r1").json["run"]["ended_at"] == at
    for bounds, runs in (
        ({"since": at, "until": at}, 1),
        ({"since": "2026-01-01T01:00:00.000+01:00"}, 1),
        ({"since": "2026-01-01T00:00:00.0005Z"}, 0),
        ({"until": "2025-12-31T23:59:59.999Z"}, 0),
        ({"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, 0),
        ({"until": "0001-01-01T00:00:00Z"}, 0),
        ({"since": "0001-01-01T00:00:00Z", "until": "9999-12-31T23:59:59.999Z"}, 1),
    ):
        assert republish(api, {"workflow": "build", **bounds}).json == ZEROS | {"runs": runs}, bounds


def test_a_range_over_nothing_answers_zeros(api: Lambdas):
    assert republish(api, {"workflow": "nothing", "subscriber": "nobody"}).json == ZEROS


def test_a_dry_run_changes_nothing(api: Lambdas, house: House):
    settled(api, "r1")
    register(house, "report", BUILT)
    before = house.rows()
    answer = republish(api, {"workflow": "build", "dry_run": True})
    assert answer.json == ZEROS | {"runs": 1, "created": 1}
    assert house.rows() == before


BAD: list[tuple[Any, list[Any]]] = [
    ({}, ["body", "workflow"]),
    ({"workflow": ""}, ["body", "workflow"]),
    ({"workflow": "__w"}, ["body", "workflow"]),
    ({"workflow": "w", "ending": "cancelled"}, ["body", "ending"]),
    ({"workflow": "w", "ending": "run.completed:w"}, ["body", "ending"]),
    ({"workflow": "w", "since": "yesterday"}, ["body", "since"]),
    ({"workflow": "w", "since": "2026-01-01"}, ["body", "since"]),
    ({"workflow": "w", "since": "2026-01-01T00:00:00"}, ["body", "since"]),
    ({"workflow": "w", "until": 1767225600}, ["body", "until"]),
    ({"workflow": "w", "until": "2026-02-30T00:00:00Z"}, ["body", "until"]),
    ({"workflow": "w", "limit": 0}, ["body", "limit"]),
    ({"workflow": "w", "limit": 1001}, ["body", "limit"]),
    ({"workflow": "w", "limit": 1.5}, ["body", "limit"]),
    ({"workflow": "w", "limit": "5"}, ["body", "limit"]),
    ({"workflow": "w", "dry_run": "yes"}, ["body", "dry_run"]),
    ({"workflow": "w", "subscriber": "-"}, ["body", "subscriber"]),
    ({"workflow": "w", "next_token": ""}, ["body", "next_token"]),
    ({"workflow": "w", "next_token": "x" * 2049}, ["body", "next_token"]),
    ({"workflow": "w", "next_token": "MCA.c2lnbmF0dXJl"}, ["body", "next_token"]),
    ({"workflow": "w", "all": True}, ["body", "all"]),
]


@pytest.mark.parametrize(("body", "loc"), BAD, ids=str)
def test_what_cannot_be_right_is_refused_at_its_field(api: Lambdas, body: Any, loc: list[Any]):
    answer = republish(api, body)
    assert (answer.status, answer.slug, answer.loc) == (400, "invalid-request", loc)


@pytest.mark.parametrize(
    "other",
    [
        {"workflow": "other"},
        {"ending": "failed"},
        {"since": "2026-01-01T00:00:00Z"},
        {"until": "2026-01-02T00:00:00Z"},
        {"subscriber": "report"},
        {"dry_run": True},
    ],
    ids=str,
)
def test_a_token_goes_on_with_its_own_request_and_no_other(api: Lambdas, other: dict[str, Any]):
    settled(api, "r1", "r2", "r3")
    asked: dict[str, Any] = {"workflow": "build", "limit": 1}
    token = republish(api, asked).json["next_token"]
    assert republish(api, asked | {"next_token": token, "limit": 2}).status == 200
    refused = republish(api, asked | {"next_token": token} | other)
    assert (refused.status, refused.loc) == (400, ["body", "next_token"])
    elsewhere = republish(api, asked | {"next_token": token}, baton_namespace="other")
    assert (elsewhere.status, elsewhere.loc) == (400, ["body", "next_token"])


def test_a_lists_token_is_none_of_a_republish(api: Lambdas):
    settled(api, "r1", "r2")
    token = api.call("GET", "/v1/runs", query={"workflow": "build", "limit": 1}).json["next_token"]
    assert republish(api, {"workflow": "build", "next_token": token}).status == 400


# What is owed


def test_stats_say_what_is_owed_and_why(api: Lambdas, house: House):
    register(house, "report", BUILT)
    assert api.call("GET", "/v1/stats").json == {
        "owed": 0,
        "oldest_owed_seconds": None,
        "due": 0,
        "owing": [],
        "complete": True,
    }
    settled(api, "r1")
    house.clock.advance(2.5)
    assert api.call("GET", "/v1/stats").json == {
        "owed": 1,
        "oldest_owed_seconds": 2.5,
        "due": 0,
        "owing": [
            {
                "run_id": "r1",
                "workflow": "build",
                "attempt": 1,
                "event": BUILT,
                "subscribers": ["report"],
                "since": "2026-01-01T00:00:00.000Z",
                "why": "not published yet",
            }
        ],
        "complete": True,
    }
    assert api.call("GET", "/v1/stats", baton_namespace="other").json["owed"] == 0
