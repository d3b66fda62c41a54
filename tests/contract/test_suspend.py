"""POST suspend: what a run may wait for, what answers in each state, and how it shows that it waits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.lambdas import Answer, Lambdas
from tests.unit.house import House

LATER = "2026-01-01T00:10:00.000Z"


def _suspend(api: Lambdas, run_id: str, body: Any, **headers: Any) -> Answer:
    return api.call("POST", f"/v1/runs/{run_id}/suspend", body, **headers)


def _detail(api: Lambdas, run_id: str) -> Any:
    return api.call("GET", f"/v1/runs/{run_id}").json


def _said(api: Lambdas, run_id: str) -> list[tuple[str, Any]]:
    """The entries of the log after the first."""
    return [(entry["type"], entry["data"]) for entry in api.read(run_id).json[1:]]


def _settled(api: Lambdas, house: House, run_id: str) -> None:
    """Finish it, and publish its ending as the stream would."""
    api.finish(run_id)
    house.container().publisher.publish("default", run_id)


# What it may wait for


def test_a_run_waits_for_a_time_and_says_so(api: Lambdas):
    run = api.start()
    answer = _suspend(api, run["id"], {"until": "2026-01-01T01:10:00+01:00"})
    assert answer.status == 200
    assert answer.json["run"] == _detail(api, run["id"])["run"]
    assert answer.json["run"]["state"] == "suspended"
    assert _detail(api, run["id"])["waits_for"] == [{"kind": "time", "until": LATER}]
    assert _said(api, run["id"]) == [("suspended", {"kind": "time", "until": LATER})]


def test_the_sweep_wakes_it_when_its_time_has_come_and_not_before(api: Lambdas, house: House):
    run = api.start()
    _suspend(api, run["id"], {"until": LATER})
    house.clock.advance(599)
    house.container().sweep.run()
    assert _detail(api, run["id"])["run"]["state"] == "suspended"
    house.clock.advance(1)
    house.container().sweep.run()
    assert _detail(api, run["id"])["run"]["state"] == "running"
    assert _detail(api, run["id"])["waits_for"] == []
    assert _said(api, run["id"])[1] == ("woken", {"kind": "time", "until": LATER})
    assert api.append(run["id"]).status == 204


@pytest.mark.parametrize("until", ["2025-12-31T23:59:59Z", "2026-01-01T00:00:00Z", "1900-01-01T00:00:00Z"])
def test_a_time_that_has_come_wakes_at_once(api: Lambdas, until: str):
    run = api.start()
    assert _suspend(api, run["id"], {"until": until}).json["run"]["state"] == "running"
    assert [type_ for type_, _ in _said(api, run["id"])] == ["suspended", "woken"]
    assert api.append(run["id"]).status == 204


def test_a_run_waits_for_another_and_both_show_it(api: Lambdas):
    target, run = api.start(), api.start()
    assert _suspend(api, run["id"], {"run": target["id"]}).json["run"]["state"] == "suspended"
    assert _detail(api, run["id"])["waits_for"] == [
        {"kind": "run", "run_id": target["id"], "run_state": "running"}
    ]
    assert _detail(api, target["id"])["awaited_by"] == [{"run_id": run["id"], "run_state": "suspended"}]
    assert _said(api, run["id"]) == [("suspended", {"kind": "run", "run_id": target["id"]})]


def test_it_is_woken_by_the_settling(api: Lambdas, house: House):
    target, run = api.start(), api.start()
    _suspend(api, run["id"], {"run": target["id"]})
    _settled(api, house, target["id"])
    why = {"kind": "run", "run_id": target["id"], "run_state": "completed"}
    assert _said(api, run["id"])[1] == ("woken", why)
    assert _detail(api, target["id"])["awaited_by"] == []
    assert _detail(api, run["id"])["run"]["state"] == "running"


def test_the_detail_changes_its_etag_with_who_waits(api: Lambdas):
    target, run = api.start(), api.start()
    before = api.call("GET", f"/v1/runs/{target['id']}").headers["etag"]
    _suspend(api, run["id"], {"run": target["id"]})
    assert api.call("GET", f"/v1/runs/{target['id']}").headers["etag"] != before


def test_a_run_that_has_settled_wakes_at_once(api: Lambdas):
    target, run = api.start(), api.start()
    api.finish(target["id"], "failed", error={"message": "no"})
    assert _suspend(api, run["id"], {"run": target["id"]}).json["run"]["state"] == "running"
    why = {"kind": "run", "run_id": target["id"], "run_state": "failed"}
    assert _said(api, run["id"])[1] == ("woken", why)


def test_a_run_that_went_on_as_another_is_waited_for_to_its_end(api: Lambdas, house: House):
    target, run = api.start(), api.start()
    body = {"status": "completed", "continue_as_new": {"run_id": "second"}}
    api.call("POST", f"/v1/runs/{target['id']}/finish", body)
    _suspend(api, run["id"], {"run": target["id"]})
    assert _detail(api, run["id"])["waits_for"] == [
        {"kind": "run", "run_id": "second", "run_state": "running"}
    ]
    _settled(api, house, "second")
    assert _detail(api, run["id"])["run"]["state"] == "running"


def test_who_waits_moves_along_when_a_run_goes_on_as_another(api: Lambdas, house: House):
    target, run = api.start(), api.start()
    _suspend(api, run["id"], {"run": target["id"]})
    body = {"status": "completed", "continue_as_new": {"run_id": "second"}}
    api.call("POST", f"/v1/runs/{target['id']}/finish", body)
    house.container().publisher.publish("default", target["id"])
    assert _detail(api, run["id"])["waits_for"][0]["run_id"] == "second"
    assert _detail(api, "second")["awaited_by"] == [{"run_id": run["id"], "run_state": "suspended"}]
    assert _detail(api, target["id"])["awaited_by"] == []


def test_it_waits_for_the_attempt_that_it_found(api: Lambdas, house: House):
    target, run, later = api.start(), api.start(), api.start()
    _suspend(api, run["id"], {"run": target["id"]})
    api.finish(target["id"], "failed", resumable=True)
    api.call("POST", f"/v1/runs/{target['id']}/resume")
    _suspend(api, later["id"], {"run": target["id"]})
    house.container().publisher.publish("default", target["id"], 1)
    assert _said(api, run["id"])[1][1]["run_state"] == "failed"
    assert _detail(api, later["id"])["run"]["state"] == "suspended"


def test_two_may_wait_for_each_other(api: Lambdas):
    one, two = api.start(), api.start()
    for run, other in ((one, two), (two, one)):
        assert _suspend(api, run["id"], {"run": other["id"]}).json["run"]["state"] == "suspended"


def test_a_run_waits_for_an_event(api: Lambdas):
    run = api.start()
    assert _suspend(api, run["id"], {"event": "order/paid"}).json["run"]["state"] == "suspended"
    assert _detail(api, run["id"])["waits_for"] == [{"kind": "event", "event": "order/paid"}]
    answer = api.call("POST", "/v1/events/order%2Fpaid", {"payload": {"n": 1.50}, "id": "p1"})
    assert answer.json == {"event_id": "p1", "started": [], "woken": 1, "kept": False}
    why = {"kind": "event", "event": "order/paid", "id": "p1", "payload": {"n": 1.5}}
    assert _said(api, run["id"])[1] == ("woken", why)


# What is refused


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({}, ["body"]),
        ({"until": None, "run": None}, ["body"]),
        ({"until": LATER, "run": "r"}, ["body"]),
        ({"run": "r", "event": "e"}, ["body"]),
        ({"until": "tomorrow"}, ["body", "until"]),
        ({"until": "2026-01-01T00:00:00"}, ["body", "until"]),
        ({"until": 1}, ["body", "until"]),
        ({"until": "9999-12-31T23:59:59.999-23:59"}, ["body", "until"]),
        ({"run": "a/b"}, ["body", "run"]),
        ({"run": ""}, ["body", "run"]),
        ({"event": ""}, ["body", "event"]),
        ({"event": "e" * 161}, ["body", "event"]),
        ({"event": "run.completed:build"}, ["body", "event"]),
        ({"event": "run.ning"}, ["body", "event"]),
        ({"seconds": 5}, ["body", "seconds"]),
    ],
)
def test_what_can_not_be_waited_for_is_named(api: Lambdas, house: House, body: Any, loc: list[Any]):
    run = api.start()
    before = house.rows()
    answer = _suspend(api, run["id"], body)
    assert (answer.status, answer.loc) == (400, loc)
    assert house.rows() == before


def test_itself_is_refused_and_what_leads_to_it(api: Lambdas):
    run = api.start()
    assert _suspend(api, run["id"], {"run": run["id"]}).loc == ["body", "run"]
    body = {"status": "completed", "continue_as_new": {"run_id": "second"}}
    api.call("POST", f"/v1/runs/{run['id']}/finish", body)
    assert _suspend(api, "second", {"run": run["id"]}).loc == ["body", "run"]


def test_what_is_not_there_is_not_found_before_any_fence(api: Lambdas):
    run = api.start()
    assert _suspend(api, "absent", {"event": "e"}).slug == "not-found"
    assert _suspend(api, run["id"], {"run": "absent"}, baton_attempt="2").slug == "not-found"
    assert _suspend(api, run["id"], {"event": "e"}, baton_attempt="2").slug == "lease-lost"


def test_a_run_that_is_deleted_is_not_there_to_be_waited_for(api: Lambdas):
    target, run = api.start(), api.start()
    api.finish(target["id"])
    api.call("DELETE", f"/v1/runs/{target['id']}")
    assert _suspend(api, run["id"], {"run": target["id"]}).slug == "not-found"


def test_a_fence_is_required_where_the_run_has_another_attempt(api: Lambdas):
    run = api.start()
    api.finish(run["id"], "failed", resumable=True)
    api.call("POST", f"/v1/runs/{run['id']}/resume")
    assert _suspend(api, run["id"], {"event": "e"}).loc == ["header", "Baton-Attempt"]
    assert _suspend(api, run["id"], {"event": "e"}, baton_attempt="2").json["run"]["state"] == "suspended"


def test_only_a_running_run_can_wait(api: Lambdas):
    pending, suspended, settled = api.start(mode="queued"), api.start(), api.start()
    _suspend(api, suspended["id"], {"event": "e"})
    api.finish(settled["id"])
    for run, slug in ((pending, "in-flight"), (suspended, "in-flight"), (settled, "run-terminal")):
        answer = _suspend(api, run["id"], {"event": "e"})
        assert (answer.status, answer.slug) == (409, slug)
        assert answer.json["run"]["id"] == run["id"]


# Repeats


def test_a_repeat_by_the_same_key_suspends_nothing_anew(api: Lambdas):
    run = api.start()
    first = _suspend(api, run["id"], {"event": "e"}, idempotency_key="K")
    assert _suspend(api, run["id"], {"event": "e"}, idempotency_key="K").json == first.json
    api.call("POST", "/v1/events/e")
    again = _suspend(api, run["id"], {"event": "e"}, idempotency_key="K")
    assert again.json["run"]["state"] == "running"
    api.finish(run["id"])
    again = _suspend(api, run["id"], {"event": "e"}, idempotency_key="K")
    assert again.json["run"]["state"] == "completed"
    assert [type_ for type_, _ in _said(api, run["id"])] == ["suspended", "woken", "end"]


def test_another_key_lets_it_wait_again(api: Lambdas):
    run = api.start()
    for key in ("K", "L"):
        _suspend(api, run["id"], {"event": "e"}, idempotency_key=key)
        assert api.call("POST", "/v1/events/e").json["woken"] == 1
    assert [type_ for type_, _ in _said(api, run["id"])] == ["suspended", "woken"] * 2


def test_the_same_key_with_another_body_is_a_mismatch(api: Lambdas):
    run = api.start()
    _suspend(api, run["id"], {"event": "e"}, idempotency_key="K")
    answer = _suspend(api, run["id"], {"event": "f"}, idempotency_key="K")
    assert (answer.status, answer.slug) == (422, "idempotency-mismatch")


# While it waits, and after


def test_its_log_takes_nothing_while_it_waits(api: Lambdas):
    run = api.start()
    tail = api.append(run["id"]).headers["baton-tail"]
    _suspend(api, run["id"], {"event": "e"})
    for headers in ({}, {"baton_tail": tail}):
        assert api.append(run["id"], **headers).slug == "stream-conflict"


def test_it_may_be_finished_while_it_waits_and_is_not_woken_then(api: Lambdas):
    run = api.start()
    _suspend(api, run["id"], {"event": "e"})
    assert api.finish(run["id"])["state"] == "completed"
    assert _detail(api, run["id"])["waits_for"] == []
    assert api.call("POST", "/v1/events/e").json == {**_ANY_ID, "started": [], "woken": 0, "kept": True}


def test_a_cancel_settles_it_at_once(api: Lambdas):
    target, run = api.start(), api.start()
    _suspend(api, run["id"], {"run": target["id"]})
    assert api.call("POST", f"/v1/runs/{run['id']}/cancel").json["run"]["state"] == "cancelled"
    assert _detail(api, target["id"])["awaited_by"] == []


def test_what_is_waited_for_can_not_be_deleted(api: Lambdas, house: House):
    target, run = api.start(), api.start()
    _suspend(api, run["id"], {"run": target["id"]})
    api.finish(target["id"])
    path = f"/v1/runs/{target['id']}"
    assert api.call("DELETE", path).slug == "still-owed"
    house.container().publisher.publish("default", target["id"])
    assert api.call("DELETE", path).status == 204


def test_an_attached_run_is_watched_anew_once_it_is_woken(api: Lambdas, house: House):
    run = api.start(inactivity_timeout_seconds=60)
    _suspend(api, run["id"], {"until": LATER})
    house.clock.advance(600)
    house.container().sweep.run()
    house.clock.advance(59)
    house.container().sweep.run()
    assert _detail(api, run["id"])["run"]["state"] == "running"
    house.clock.advance(1)
    house.container().sweep.run()
    assert _detail(api, run["id"])["run"]["state"] == "failed"


def test_other_namespaces_hear_nothing_of_an_event(api: Lambdas):
    run = api.start()
    _suspend(api, run["id"], {"event": "e"})
    answer = api.call("POST", "/v1/events/e", baton_namespace="other")
    assert (answer.json["woken"], answer.json["kept"]) == (0, True)
    assert _detail(api, run["id"])["run"]["state"] == "suspended"


class _Any:
    def __eq__(self, _other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


_ANY_ID = {"event_id": _Any()}
