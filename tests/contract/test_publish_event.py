"""POST events: whom one starts and wakes, when it is kept, and what its repeat answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.lambdas import Answer, Lambdas
from tests.unit.house import House


def _post(api: Lambdas, name: str = "order.paid", body: Any = None, **headers: Any) -> Answer:
    return api.call("POST", f"/v1/events/{name}", body, **headers)


def _subscribe(api: Lambdas, name: str, event: str = "order.paid", **wish: Any) -> None:
    body = {"subscribes": [{"event": event, **wish}]}
    assert api.call("PUT", f"/v1/workflows/{name}", body).status in (200, 201)


def _waiting(api: Lambdas, event: str = "order.paid") -> str:
    run_id: str = api.start()["id"]
    assert api.call("POST", f"/v1/runs/{run_id}/suspend", {"event": event}).status == 200
    return run_id


def _detail(api: Lambdas, run_id: str) -> Any:
    return api.call("GET", f"/v1/runs/{run_id}").json["run"]


def test_each_subscriber_is_started_with_the_event(api: Lambdas):
    _subscribe(api, "ledger")
    _subscribe(api, "report", input="payload.order")
    _subscribe(api, "other", event="order.sent")
    answer = _post(api, body={"payload": {"order": 7.10}, "id": "p1"})
    assert answer.status == 202
    assert (answer.json["event_id"], answer.json["woken"], answer.json["kept"]) == ("p1", 0, False)
    ledger, report = answer.json["started"]
    assert (ledger["subscriber"], report["subscriber"]) == ("ledger", "report")
    run = _detail(api, ledger["run_id"])
    assert (run["workflow"], run["mode"], run["state"]) == ("ledger", "queued", "pending")
    assert run["input"] == {"event": "order.paid", "id": "p1", "payload": {"order": 7.1}}
    assert (run["triggered_by"], run["depth"]) == (None, 1)
    assert _detail(api, report["run_id"])["input"] == 7.1


def test_a_subscriber_registered_just_before_is_started(api: Lambdas):
    _post(api, body={"id": "earlier"})  # the container has read the catalog
    _subscribe(api, "ledger")
    assert [each["subscriber"] for each in _post(api).json["started"]] == ["ledger"]


def test_everyone_that_waits_is_woken(api: Lambdas):
    runs = [_waiting(api) for _ in range(3)]
    elsewhere = _waiting(api, "order.sent")
    assert _post(api).json["woken"] == 3
    assert [_detail(api, run_id)["state"] for run_id in runs] == ["running"] * 3
    assert _detail(api, elsewhere)["state"] == "suspended"


def test_one_that_reaches_nobody_is_kept_for_the_next_that_waits_once(api: Lambdas):
    assert _post(api, body={"payload": 1}).json["kept"] is True
    assert _detail(api, _waiting(api))["state"] == "running"
    assert _detail(api, _waiting(api))["state"] == "suspended"


def test_kept_ones_are_taken_in_the_order_they_came(api: Lambdas, house: House):
    for number in (1, 2):
        _post(api, body={"payload": number})
        house.clock.advance(0.001)
    taken = [api.read(_waiting(api)).json[-1]["data"]["payload"] for _ in range(2)]
    assert taken == [1, 2]


@pytest.mark.parametrize(("seconds", "state"), [(24 * 3600 - 1, "running"), (24 * 3600, "suspended")])
def test_it_is_kept_for_a_day(api: Lambdas, house: House, seconds: int, state: str):
    _post(api)
    house.clock.advance(seconds)
    assert _detail(api, _waiting(api))["state"] == state


@pytest.mark.parametrize(
    ("wish", "kept"),
    [({"where": "payload == `1`"}, True), ({"where": "length(payload)"}, False), ({}, False)],
    ids=["declined", "failed", "started"],
)
def test_it_has_reached_nobody_only_if_all_declined(api: Lambdas, wish: Any, kept: bool):
    _subscribe(api, "ledger", **wish)
    assert _post(api).json["kept"] is kept
    assert _detail(api, _waiting(api))["state"] == ("running" if kept else "suspended")


def test_a_coalesced_one_has_reached_somebody(api: Lambdas):
    body = {
        "subscribes": [{"event": "order.paid"}],
        "batch": {"mode": "debounce", "window_seconds": 10},
    }
    assert api.call("PUT", "/v1/workflows/ledger", body).status == 201
    answer = _post(api).json
    assert (answer["started"], answer["kept"]) == ([], False)


def test_the_same_id_again_starts_nothing_and_answers_the_same(api: Lambdas, house: House):
    _subscribe(api, "ledger")
    run_id = _waiting(api)
    first = _post(api, body={"id": "p1", "payload": 1})
    rows = house.rows()
    assert _post(api, body={"payload": 1, "id": "p1"}).json == first.json
    assert house.rows() == rows
    assert first.json["woken"] == 1
    assert _detail(api, run_id)["state"] == "running"


def test_it_answers_the_same_also_when_it_was_taken_since(api: Lambdas):
    first = _post(api, body={"id": "p1"})
    _waiting(api)
    assert _post(api, body={"id": "p1"}).json == first.json
    assert first.json["kept"] is True


def test_the_same_id_with_another_payload_is_a_mismatch(api: Lambdas):
    _post(api, body={"id": "p1", "payload": 1})
    answer = _post(api, body={"id": "p1", "payload": 1.0})
    assert (answer.status, answer.slug) == (422, "idempotency-mismatch")
    assert _post(api, "other", {"id": "p1", "payload": 2}).status == 202


def test_without_an_id_each_is_an_event_of_its_own(api: Lambdas):
    one, two = _post(api).json, _post(api).json
    assert one["event_id"] != two["event_id"]


def test_the_trace_goes_on_into_what_it_starts(api: Lambdas):
    _subscribe(api, "ledger")
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    [started] = _post(api, traceparent=trace).json["started"]
    assert _detail(api, started["run_id"])["traceparent"] == trace


def test_a_payload_comes_back_as_it_was_sent(api: Lambdas):
    run_id = _waiting(api)
    _post(api, body=b'{"payload":[0.10,-0.0,9007199254740993,"",[],1e2]}')
    assert b'"payload":[0.10,-0.0,9007199254740993,"",[],1e2]' in api.read(run_id).body


def test_a_payload_fills_256_kb_to_the_byte(api: Lambdas):
    text = "é" * ((262_144 - 2) // 2)
    _subscribe(api, "ledger")
    run_id = _waiting(api)
    assert _post(api, body={"payload": text + "x"}).slug == "payload-too-large"
    [started] = _post(api, body={"payload": text}).json["started"]
    assert _detail(api, started["run_id"])["input"]["payload"] == text
    assert api.read(run_id).json[-1]["data"]["payload"] == text


@pytest.mark.parametrize("name", ["run.completed:build", "run.ning", "-e", "e" * 161, "a%20b", "%C3%A9"])
def test_a_name_that_is_none_of_ones_own_events_is_named(api: Lambdas, name: str):
    answer = _post(api, name)
    assert (answer.status, answer.loc) == (400, ["path", "name"])


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"id": ""}, ["body", "id"]),
        ({"id": "i" * 256}, ["body", "id"]),
        ({"id": "é"}, ["body", "id"]),
        ({"id": "i\n"}, ["body", "id"]),
        ({"id": 5}, ["body", "id"]),
        ({"data": 1}, ["body", "data"]),
    ],
)
def test_a_body_that_can_not_be_right_is_named(api: Lambdas, house: House, body: Any, loc: list[Any]):
    answer = _post(api, body=body)
    assert (answer.status, answer.loc) == (400, loc)
    assert house.rows() == []


def test_ids_may_hold_what_keys_are_made_of(api: Lambdas):
    for id_ in ("a#b", "#", "x" * 255):
        assert _post(api, body={"id": id_}).json["event_id"] == id_
        assert _detail(api, _waiting(api))["state"] == "running"
