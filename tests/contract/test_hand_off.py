"""What a run's detail says of its hand-offs, and runs that go on as new ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.lambdas import Answer, Lambdas
from tests.unit.house import House

BUILT = "run.completed:build"


def _subscribe(api: Lambdas, name: str = "report", **wish: Any) -> None:
    body = {"subscribes": [{"event": BUILT, **wish}]}
    assert api.call("PUT", f"/v1/workflows/{name}", body).status in (200, 201)


def _publish(house: House, run_id: str) -> None:
    house.container().publisher.publish("default", run_id)


def _finish_attempt(api: Lambdas, run_id: str, attempt: int) -> None:
    answer = api.call(
        "POST", f"/v1/runs/{run_id}/finish", {"status": "completed"}, Baton_Attempt=str(attempt)
    )
    assert answer.json["finished"]


def _detail(api: Lambdas, run_id: str) -> Any:
    return api.call("GET", f"/v1/runs/{run_id}").json


def _go_on(api: Lambdas, run_id: str, wish: Any, **headers: Any) -> Answer:
    body = {"status": "completed", "continue_as_new": wish}
    return api.call("POST", f"/v1/runs/{run_id}/finish", body, **headers)


# The detail


def test_what_is_owed_shows_before_anybody_has_delivered_it(api: Lambdas):
    _subscribe(api)
    run = api.start()
    assert _detail(api, run["id"])["subscribers"] == ["report"]
    assert _detail(api, run["id"])["deliveries"] == []
    settled = api.finish(run["id"])
    [delivery] = _detail(api, run["id"])["deliveries"]
    assert delivery == {
        "subscriber": "report",
        "event": BUILT,
        "attempt": 1,
        "state": "owed",
        "run_id": None,
        "run_state": None,
        "error": None,
        "at": settled["ended_at"],
    }


def test_a_delivery_leads_to_the_started_run_and_shows_how_it_stands_now(api: Lambdas, house: House):
    _subscribe(api, input="run.output")
    run = api.start()
    api.finish(run["id"], output={"n": 1.50})
    _publish(house, run["id"])
    [delivery] = _detail(api, run["id"])["deliveries"]
    assert (delivery["state"], delivery["run_state"]) == ("started", "pending")
    started = _detail(api, delivery["run_id"])["run"]
    assert (started["workflow"], started["mode"], started["input"]) == ("report", "queued", {"n": 1.5})
    assert started["depth"] == 1
    assert started["triggered_by"] == {
        "run_id": run["id"],
        "workflow": "build",
        "event": BUILT,
        "attempt": 1,
    }
    _finish_attempt(api, started["id"], 1)
    assert _detail(api, run["id"])["deliveries"][0]["run_state"] == "completed"


def test_a_delivery_that_failed_says_why(api: Lambdas, house: House):
    _subscribe(api, input="abs(run.id)")
    run = api.start()
    api.finish(run["id"])
    _publish(house, run["id"])
    [delivery] = _detail(api, run["id"])["deliveries"]
    assert (delivery["state"], delivery["run_id"]) == ("failed", None)
    assert "abs" in delivery["error"]


def test_the_etag_covers_the_deliveries(api: Lambdas, house: House):
    _subscribe(api)
    run = api.start()
    api.finish(run["id"])
    before = api.call("GET", f"/v1/runs/{run['id']}")
    tag = before.headers["etag"]
    assert api.call("GET", f"/v1/runs/{run['id']}", If_None_Match=tag).status == 304
    _publish(house, run["id"])
    assert api.call("GET", f"/v1/runs/{run['id']}", If_None_Match=tag).status == 200


def test_both_endings_of_a_resumed_run_are_shown_apart(api: Lambdas, house: House):
    body = {"subscribes": [{"event": "run.failed:build"}, {"event": BUILT}]}
    api.call("PUT", "/v1/workflows/report", body)
    run = api.start()
    api.call("POST", f"/v1/runs/{run['id']}/finish", {"status": "failed", "resumable": True})
    _publish(house, run["id"])
    assert api.call("POST", f"/v1/runs/{run['id']}/resume").json["resumed"]
    _finish_attempt(api, run["id"], 2)
    seen = [(each["attempt"], each["event"], each["state"]) for each in _detail(api, run["id"])["deliveries"]]
    assert seen == [(1, "run.failed:build", "started"), (2, BUILT, "owed")]


def test_what_is_owed_is_not_deleted(api: Lambdas, house: House):
    _subscribe(api)
    run = api.start()
    api.finish(run["id"])
    refused = api.call("DELETE", f"/v1/runs/{run['id']}")
    assert (refused.status, refused.json["type"]) == (409, "urn:baton:still-owed")
    assert "report" in refused.json["detail"]
    _publish(house, run["id"])
    assert api.call("DELETE", f"/v1/runs/{run['id']}").status == 204


# Going on as a new one


def test_a_run_goes_on_as_its_like_in_everything_but_the_input(api: Lambdas):
    wish = {
        "context_ref": "ticket-7",
        "agent_id": "a-1",
        "tags": ["x"],
        "inactivity_timeout_seconds": 60,
        "max_attempts": 5,
        "priority": 2,
        "input": {"page": 1},
    }
    run = api.start(**wish)
    old = _go_on(api, run["id"], {"input": {"page": 2}, "run_id": "page-2"}).json["run"]
    assert (old["state"], old["continued_as"]) == ("completed", "page-2")
    new = _detail(api, "page-2")["run"]
    assert {name: new[name] for name in wish} == {**wish, "input": {"page": 2}}
    assert (new["continued_from"], new["state"], new["mode"]) == (run["id"], "running", "attached")


def test_the_input_is_null_unless_given_and_the_id_batons_own_unless_named(api: Lambdas):
    run = api.start(input={"page": 1})
    new_id = _go_on(api, run["id"], {}).json["run"]["continued_as"]
    assert new_id not in (None, run["id"])
    assert _detail(api, new_id)["run"]["input"] is None


def test_a_run_that_goes_on_is_terminal_and_is_resumed_no_more(api: Lambdas):
    run = api.start()
    _go_on(api, run["id"], {"run_id": "next"})
    assert api.call("GET", f"/v1/runs/{run['id']}/wait", query={"timeout_seconds": 0}).json["terminal"]
    assert not api.call("POST", f"/v1/runs/{run['id']}/resume", {"force": True}).json["resumed"]


def test_a_run_that_goes_on_publishes_no_ending_and_its_last_does(api: Lambdas, house: House):
    _subscribe(api, input="chain")
    run = api.start()
    _go_on(api, run["id"], {"run_id": "next"})
    _publish(house, run["id"])
    assert _detail(api, run["id"])["deliveries"] == []
    api.finish("next")
    _publish(house, "next")
    [delivery] = _detail(api, "next")["deliveries"]
    chain = {"first_run_id": run["id"], "length": 2}
    assert _detail(api, delivery["run_id"])["run"]["input"] == chain


def test_an_intent_to_cancel_goes_on_too(api: Lambdas):
    run = api.start()
    api.call("POST", f"/v1/runs/{run['id']}/cancel", {"reason": "stop"})
    _go_on(api, run["id"], {"run_id": "next"})
    assert _detail(api, "next")["run"]["cancel_requested"]["reason"] == "stop"
    assert [message["type"] for message in api.read("next").json] == ["start", "cancel"]


def test_a_taken_id_is_refused_with_the_run_that_has_it_and_nothing_settles(api: Lambdas):
    run = api.start()
    other = api.start(run_id="taken")
    refused = _go_on(api, run["id"], {"run_id": "taken"})
    assert (refused.status, refused.json["type"]) == (409, "urn:baton:run-exists")
    assert refused.json["run"]["id"] == other["id"]
    assert _detail(api, run["id"])["run"]["state"] == "running"


def test_a_repeat_learns_that_it_was_it_and_begins_no_second_successor(api: Lambdas, house: House):
    run = api.start()
    first = _go_on(api, run["id"], {}, Idempotency_Key="once").json
    again = _go_on(api, run["id"], {}, Idempotency_Key="once").json
    assert (first["finished"], again["finished"]) == (True, True)
    assert first["run"]["continued_as"] == again["run"]["continued_as"]


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_only_a_completed_run_goes_on(api: Lambdas, status: str):
    run = api.start()
    body = {"status": status, "continue_as_new": {}}
    refused = api.call("POST", f"/v1/runs/{run['id']}/finish", body)
    assert refused.status == 400
    assert refused.json["errors"][0]["loc"] == ["body", "continue_as_new"]


@pytest.mark.parametrize("wish", [{"run_id": "h~x"}, {"run_id": ""}, {"output": 1}, [], "yes"])
def test_what_can_not_be_a_successor_is_refused(api: Lambdas, wish: Any):
    run = api.start()
    assert _go_on(api, run["id"], wish).status == 400
    assert _detail(api, run["id"])["run"]["state"] == "running"
