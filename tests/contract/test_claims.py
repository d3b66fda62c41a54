"""Claims, renewals and releases as workers send them: every answer, every refusal, and whom a run obeys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.functions.lambdas import Answer, Lambdas
from tests.unit.house import House

CLAIMS, CLAIM, RENEW, RELEASE = (
    "/v1/claims",
    "/v1/runs/the-run/claim",
    "/v1/runs/the-run/renew",
    "/v1/runs/the-run/release",
)
W1 = {"worker_id": "w1"}
MINE = {**W1, "attempt": 1}


def _queue(api: Lambdas, run_id: str = "the-run", **body: Any) -> Any:
    return api.start(run_id=run_id, mode="queued", **body)


def _claim(api: Lambdas, worker: str = "w1", *workflows: str, **more: Any) -> Answer:
    headers = {name: more.pop(name) for name in ("idempotency_key",) if name in more}
    body = {"worker_id": worker, "workflows": workflows or ["build"], **more}
    return api.call("POST", CLAIMS, body, **headers)


def _held(api: Lambdas, **body: Any) -> Any:
    """A run that worker w1 holds for a minute."""
    _queue(api, **body)
    [run] = _claim(api).json["runs"]
    return run


def _get(api: Lambdas, run_id: str = "the-run") -> Any:
    return api.call("GET", f"/v1/runs/{run_id}").json["run"]


def _said(api: Lambdas) -> list[Any]:
    return [(entry["type"], entry["attempt"], entry["data"]) for entry in api.read("the-run").json[1:]]


def _taken_over(api: Lambdas, house: House) -> Any:
    """A run that worker w1 lost, and w2 holds at attempt 2."""
    _held(api)
    house.clock.advance(62)
    house.container().sweep.run()
    house.clock.advance(1)
    [run] = _claim(api, "w2").json["runs"]
    assert run["attempt"] == 2
    return run


# Claims


def test_a_claim_answers_the_runs_with_their_inputs_as_anyone_reads_them(api: Lambdas, house: House):
    _queue(api, input={"page": 0.1, "more": []}, tags=["a"])
    answer = _claim(api, "host-1", lease_seconds=30)
    assert (answer.status, list(answer.json)) == (200, ["runs"])
    [run] = answer.json["runs"]
    assert run == _get(api)
    assert run["input"] == {"page": 0.1, "more": []}
    assert (run["state"], run["attempt"], run["mode"]) == ("running", 1, "queued")
    assert run["lease"] == {"worker_id": "host-1", "expires_at": "2026-01-01T00:00:30.000Z"}
    assert run["started_at"] == "2026-01-01T00:00:00.000Z"


def test_a_lease_is_of_a_minute_unless_another_time_is_named(api: Lambdas):
    assert _held(api)["lease"]["expires_at"] == "2026-01-01T00:01:00.000Z"


@pytest.mark.parametrize("asked", [None, 1, 2, 25])
def test_it_answers_as_many_as_are_asked_for_and_one_by_default(api: Lambdas, asked: int | None):
    for n in range(26):
        _queue(api, f"r{n:02}")
    runs = _claim(api, max=asked).json["runs"]
    assert len(runs) == (asked or 1)
    assert len({run["id"] for run in runs}) == len(runs)


@pytest.mark.parametrize("workflows", [["nothing-by-this-name"], ["a", "a"], [f"w{n}" for n in range(32)]])
def test_a_workflow_that_nobody_knows_has_nothing_to_claim(api: Lambdas, workflows: list[str]):
    _queue(api)
    answer = _claim(api, "w1", *workflows)
    assert (answer.status, answer.json) == (200, {"runs": []})


def test_one_that_waits_ends_within_its_time_and_its_functions(api: Lambdas, house: House):
    for wait, seconds, took in [(20, 60, 20_000), (3, 60, 3000), (20, 10, 9000)]:
        at = house.clock.now()
        body = {"worker_id": "w1", "workflows": ["build"], "wait_seconds": wait}
        answer = api.call("POST", CLAIMS, body, seconds=seconds)
        assert answer.json == {"runs": []}
        assert house.clock.now() - at <= took


def test_it_is_answered_when_a_run_comes_to_be_there(api: Lambdas, house: House):
    house.clock.plan(5, lambda: Lambdas(house.container()).start(mode="queued"))
    assert len(_claim(api, wait_seconds=20).json["runs"]) == 1


def test_another_namespaces_runs_are_no_ones_to_claim(api: Lambdas):
    _queue(api)
    body = {"worker_id": "w1", "workflows": ["build"]}
    assert api.call("POST", CLAIMS, body, baton_namespace="other").json == {"runs": []}
    for path, wish in [(CLAIM, W1), (RENEW, MINE), (RELEASE, MINE)]:
        assert api.call("POST", path, wish, baton_namespace="other").slug == "not-found"


def test_a_key_sent_again_gets_the_same_and_with_another_body_422(api: Lambdas, house: House):
    for n in range(4):
        _queue(api, f"r{n}")
    first = _claim(api, max=2, idempotency_key="k").json
    assert _claim(api, max=2, idempotency_key="k").json == first
    assert (
        Lambdas(house.container())
        .call("POST", CLAIMS, {"max": 2, "workflows": ["build"], "worker_id": "w1"}, idempotency_key="k")
        .json
        == first
    )
    assert _claim(api, max=3, idempotency_key="k").slug == "idempotency-mismatch"
    assert _claim(api, "w2", max=2, idempotency_key="k").slug == "idempotency-mismatch"
    assert [_get(api, f"r{n}")["state"] for n in (2, 3)] == ["pending", "pending"]
    house.clock.advance(60)
    assert [run["id"] for run in _claim(api, "w2", max=2, idempotency_key="k").json["runs"]] == ["r2", "r3"]


def test_an_answer_is_never_larger_than_4_mb(api: Lambdas):
    for n in range(17):
        _queue(api, f"r{n}", input="x" * (256 * 1024 - 2), tags=[f"{i:063}" for i in range(16)])
    first = _claim(api, max=25)
    assert len(first.body) <= 4 * 1024 * 1024
    assert len(first.json["runs"]) >= 10
    assert len(first.json["runs"]) + len(_claim(api, max=25).json["runs"]) == 17


# One run


def test_one_run_is_claimed_by_its_id(api: Lambdas):
    _queue(api)
    answer = api.call("POST", CLAIM, {**W1, "lease_seconds": 10})
    assert (answer.status, answer.json) == (200, {"run": _get(api)})
    assert answer.json["run"]["lease"]["expires_at"] == "2026-01-01T00:00:10.000Z"


def test_what_is_not_there_to_be_claimed_is_refused_with_the_truth(api: Lambdas, house: House):
    assert api.call("POST", CLAIM, W1).slug == "not-found"
    _queue(api, available_at="2026-01-01T00:00:05Z")
    answer = api.call("POST", CLAIM, W1)
    assert (answer.status, answer.slug, answer.json["run"]) == (409, "in-flight", _get(api))
    house.clock.advance(5)
    assert api.call("POST", CLAIM, W1).status == 200
    for worker in ("w1", "w2"):
        answer = api.call("POST", CLAIM, {"worker_id": worker})
        assert (answer.slug, answer.json["run"]) == ("in-flight", _get(api))
    api.call("POST", "/v1/runs/the-run/suspend", {"event": "news"}, baton_attempt="1")
    assert api.call("POST", CLAIM, W1).slug == "in-flight"
    api.call("POST", "/v1/runs/the-run/finish", {"status": "completed"}, baton_attempt="1")
    answer = api.call("POST", CLAIM, W1)
    assert (answer.status, answer.slug, answer.json["run"]) == (409, "run-terminal", _get(api))


def test_an_attached_run_is_no_workers(api: Lambdas):
    api.start(run_id="the-run")
    assert api.call("POST", CLAIM, W1).slug == "in-flight"
    assert api.call("POST", RENEW, MINE).slug == "lease-lost"
    assert api.call("POST", RELEASE, MINE).slug == "lease-lost"


def test_its_key_sent_again_gets_it_and_with_another_body_422(api: Lambdas):
    _queue(api)
    first = api.call("POST", CLAIM, W1, idempotency_key="k")
    assert api.call("POST", CLAIM, W1, idempotency_key="k").json == first.json
    for other in ({"worker_id": "w2"}, {**W1, "lease_seconds": 30}):
        assert api.call("POST", CLAIM, other, idempotency_key="k").slug == "idempotency-mismatch"


def test_the_contracts_example_of_attempts(api: Lambdas, house: House):
    run = _held(api)
    assert run["attempt"] == 1
    house.clock.advance(62)
    house.container().sweep.run()
    house.clock.advance(300)
    assert api.call("POST", CLAIM, W1).json["run"]["attempt"] == 2
    failed = {"status": "failed", "resumable": True}
    api.call("POST", "/v1/runs/the-run/finish", failed, baton_attempt="2")
    resumed = api.call("POST", "/v1/runs/the-run/resume").json["run"]
    assert (resumed["attempt"], resumed["state"]) == (3, "pending")
    assert api.call("POST", CLAIM, W1).json["run"]["attempt"] == 4
    assert [(type_, attempt) for type_, attempt, _ in _said(api)] == [
        ("claimed", 2),
        ("end", 2),
        ("resumed", 3),
        ("claimed", 4),
    ]


# Renew


def test_a_renewal_answers_until_when_and_whether_to_end(api: Lambdas, house: House):
    _held(api)
    house.clock.advance(20)
    answer = api.call("POST", RENEW, MINE)
    expected = {"expires_at": "2026-01-01T00:01:20.000Z", "cancel_requested": None}
    assert (answer.status, answer.json) == (200, expected)
    assert _get(api)["lease"]["expires_at"] == "2026-01-01T00:01:20.000Z"
    api.call("POST", "/v1/runs/the-run/cancel", {"reason": "enough"})
    answer = api.call("POST", RENEW, {**MINE, "lease_seconds": 300})
    assert answer.json == {
        "expires_at": "2026-01-01T00:05:20.000Z",
        "cancel_requested": {"at": "2026-01-01T00:00:20.000Z", "reason": "enough"},
    }


@pytest.mark.parametrize("path", [RENEW, RELEASE])
def test_without_a_claim_there_is_nothing_to_hold_or_to_give_back(api: Lambdas, path: str):
    assert api.call("POST", path, MINE).slug == "not-found"
    _queue(api)
    answer = api.call("POST", path, MINE)
    assert (answer.status, answer.slug, answer.json["run"]) == (409, "lease-lost", _get(api))


@pytest.mark.parametrize("path", [RENEW, RELEASE])
@pytest.mark.parametrize("who", [{"worker_id": "w2", "attempt": 1}, {**W1, "attempt": 2}])
def test_whoever_is_not_the_holder_is_refused_with_the_truth(api: Lambdas, path: str, who: Any):
    _held(api)
    before = _get(api)
    answer = api.call("POST", path, who)
    assert (answer.status, answer.slug, answer.json["run"]) == (409, "lease-lost", before)
    assert _get(api) == before


@pytest.mark.parametrize("path", [RENEW, RELEASE])
def test_a_settled_run_says_that_it_is_settled_to_its_own_attempt(api: Lambdas, path: str):
    _held(api)
    api.call("POST", "/v1/runs/the-run/finish", {"status": "completed"}, baton_attempt="1")
    answer = api.call("POST", path, MINE)
    assert (answer.status, answer.slug, answer.json["run"]) == (409, "run-terminal", _get(api))
    assert api.call("POST", path, {**MINE, "attempt": 2}).slug == "lease-lost"


# Release


def test_a_release_answers_the_run_that_waits_again(api: Lambdas):
    _held(api)
    answer = api.call("POST", RELEASE, {**MINE, "delay_seconds": 30})
    assert (answer.status, answer.json) == (200, {"run": _get(api)})
    run = answer.json["run"]
    assert (run["state"], run["lease"], run["attempt"]) == ("pending", None, 1)
    assert run["available_at"] == "2026-01-01T00:00:30.000Z"
    assert api.call("POST", RELEASE, {**MINE, "delay_seconds": 30}).json == answer.json


def test_failures_use_it_up_and_the_log_says_of_what(api: Lambdas):
    _held(api, max_attempts=2)
    error = {"message": "it broke", "type": "Trouble", "stack": "line 1"}
    failed = {"error": error, "delay_seconds": 0}
    assert api.call("POST", RELEASE, {**MINE, **failed}).json["run"]["state"] == "pending"
    api.call("POST", CLAIM, W1)
    answer = api.call("POST", RELEASE, {**W1, "attempt": 2, **failed})
    assert answer.status == 200
    run = answer.json["run"]
    assert (run["state"], run["resumable"], run["ended_at"]) == ("dead", False, "2026-01-01T00:00:00.000Z")
    told = {**error, "message": "it broke (failure 2 of 2 that it may have)"}
    assert run["error"] == told
    assert run == _get(api) == api.call("POST", RELEASE, {**W1, "attempt": 2, **failed}).json["run"]
    [(claimed, _, why), (end, _, how)] = _said(api)
    after = {"attempt": 1, "worker_id": "w1", "error": {"message": "it broke", "type": "Trouble"}}
    assert (claimed, why) == ("claimed", {"attempt": 2, "worker_id": "w1", "after": after})
    assert (end, how["status"], how["error"]) == ("end", "dead", told)


# Fencing


def test_who_was_taken_over_changes_nothing_by_any_route(api: Lambdas, house: House):
    before, log = _taken_over(api, house), api.read("the-run").body
    paths: list[tuple[str, Any]] = [
        ("stream", {"type": "note"}),
        ("finish", {"status": "completed"}),
        ("finish", {"status": "failed", "resumable": True}),
        ("suspend", {"event": "news"}),
    ]
    for container in (api, Lambdas(house.container())):
        for end, body in paths:
            answer = container.call("POST", f"/v1/runs/the-run/{end}", body, baton_attempt="1")
            assert (answer.status, answer.slug) == (409, "lease-lost"), end
            without = container.call("POST", f"/v1/runs/the-run/{end}", body)
            assert (without.slug, without.loc) == ("invalid-request", ["header", "Baton-Attempt"]), end
        for path, body in [(RENEW, MINE), (RELEASE, MINE), (RELEASE, {**MINE, "error": {"message": "m"}})]:
            assert container.call("POST", path, body).slug == "lease-lost"
    assert _get(api) == before
    assert api.read("the-run").body == log


def test_a_batch_that_was_acknowledged_before_is_a_duplicate_also_after_the_takeover(
    api: Lambdas, house: House
):
    _held(api)
    producer = {"producer_id": "p", "producer_epoch": "0", "producer_seq": "0", "baton_attempt": "1"}
    assert api.append("the-run", **producer).status == 200
    house.clock.advance(62)
    house.container().sweep.run()
    house.clock.advance(1)
    _claim(api, "w2")
    assert api.append("the-run", **producer).status == 204
    assert [type_ for type_, _, _ in _said(api)] == ["note", "claimed"]


def test_a_late_finish_is_accepted_as_long_as_nobody_has_claimed_since(api: Lambdas, house: House):
    _held(api)
    house.clock.advance(62)
    house.container().sweep.run()
    assert _get(api)["state"] == "pending"
    answer = api.call("POST", "/v1/runs/the-run/finish", {"status": "completed"}, baton_attempt="1")
    assert (answer.status, answer.json["finished"]) == (200, True)
    assert _claim(api, "w2").json == {"runs": []}


def test_a_lease_that_ran_out_and_was_not_swept_yet_is_still_its_holders(api: Lambdas, house: House):
    _held(api)
    house.clock.advance(3600)
    assert api.append("the-run", baton_attempt="1").status == 204
    assert api.call("POST", RENEW, MINE).status == 200
    assert _claim(api, "w2").json == {"runs": []}


def test_a_pending_run_takes_no_appends(api: Lambdas, house: House):
    _queue(api)
    assert api.append("the-run").slug == "stream-conflict"
    assert api.append("the-run", baton_attempt="1").slug == "stream-conflict"
    _claim(api)
    assert api.append("the-run", baton_attempt="1").status == 204
    assert api.append("the-run").slug == "invalid-request"
    api.call("POST", RELEASE, MINE)
    for container in (api, Lambdas(house.container())):
        answer = container.append("the-run", baton_attempt="1")
        assert (answer.status, answer.slug) == (409, "stream-conflict")


def test_who_brings_the_logs_end_is_heard_until_the_next_claim_and_not_after(api: Lambdas):
    """What ends a lease takes no slot of the log; the claim after it does."""
    _held(api)
    tail = api.append("the-run", baton_attempt="1").headers["baton-tail"]
    api.call("POST", RELEASE, MINE)
    heard = api.append("the-run", baton_attempt="1", baton_tail=tail)
    assert heard.status == 204
    _claim(api, "w2")
    for echo in (tail, heard.headers["baton-tail"]):
        answer = api.append("the-run", baton_attempt="1", baton_tail=echo)
        assert (answer.status, answer.slug) == (409, "lease-lost")
    assert [type_ for type_, _, _ in _said(api)] == ["note", "note", "claimed"]


# Bad input

OUT_OF_BOUNDS: dict[str, list[Any]] = {
    "max": [0, 26, -1, 1.5, "1", True],
    "lease_seconds": [0, 9.999, 43_200.1, -60, "60", True],
    "wait_seconds": [-0.1, 20.1, "1", True],
    "limit": [1],
}
BODIES: list[tuple[str, Any, list[Any]]] = [
    (CLAIMS, {}, ["body", "worker_id"]),
    (CLAIMS, {**W1}, ["body", "workflows"]),
    (CLAIMS, {**W1, "workflows": []}, ["body", "workflows"]),
    (CLAIMS, {**W1, "workflows": "w"}, ["body", "workflows"]),
    (CLAIMS, {**W1, "workflows": ["w", "-w"]}, ["body", "workflows", 1]),
    (CLAIMS, {**W1, "workflows": ["w" * 129]}, ["body", "workflows", 0]),
    (CLAIMS, {**W1, "workflows": [None]}, ["body", "workflows", 0]),
    (CLAIMS, {**W1, "workflows": [f"w{n}" for n in range(33)]}, ["body", "workflows"]),
    (CLAIMS, {"worker_id": "", "workflows": ["w"]}, ["body", "worker_id"]),
    (CLAIMS, {"worker_id": "a/b", "workflows": ["w"]}, ["body", "worker_id"]),
    (CLAIMS, {"worker_id": "w" * 129, "workflows": ["w"]}, ["body", "worker_id"]),
    *(
        (CLAIMS, {**W1, "workflows": ["w"], name: value}, ["body", name])
        for name, values in OUT_OF_BOUNDS.items()
        for value in values
    ),
    (CLAIMS, b'{"worker_id":"w","workflows":["w"],"lease_seconds":1e400}', ["body", "lease_seconds"]),
    (CLAIM, {}, ["body", "worker_id"]),
    (CLAIM, {**W1, "lease_seconds": 5}, ["body", "lease_seconds"]),
    (CLAIM, {**W1, "attempt": 1}, ["body", "attempt"]),
    *(
        (path, {**W1, "attempt": value}, ["body", "attempt"])
        for path in (RENEW, RELEASE)
        for value in (0, -1, 1.5, "1", True, None, 2**53)
    ),
    (RENEW, {**W1}, ["body", "attempt"]),
    (RENEW, {"attempt": 1}, ["body", "worker_id"]),
    (RENEW, {**MINE, "lease_seconds": 9}, ["body", "lease_seconds"]),
    (RENEW, {**MINE, "lease_seconds": 43_201}, ["body", "lease_seconds"]),
    (RELEASE, {**W1}, ["body", "attempt"]),
    (RELEASE, {**MINE, "delay_seconds": -1}, ["body", "delay_seconds"]),
    (RELEASE, {**MINE, "delay_seconds": 86_401}, ["body", "delay_seconds"]),
    (RELEASE, {**MINE, "delay_seconds": "1"}, ["body", "delay_seconds"]),
    (RELEASE, {**MINE, "error": "m"}, ["body", "error"]),
    (RELEASE, {**MINE, "error": {}}, ["body", "error", "message"]),
    (RELEASE, {**MINE, "error": {"message": 1}}, ["body", "error", "message"]),
    (RELEASE, {**MINE, "error": {"message": "m", "why": 1}}, ["body", "error", "why"]),
    (RELEASE, {**MINE, "reason": "m"}, ["body", "reason"]),
]


@pytest.mark.parametrize(("path", "body", "loc"), BODIES)
def test_a_bad_field_is_named_and_nothing_is_written(
    api: Lambdas, house: House, path: str, body: Any, loc: list[Any]
):
    _held(api)
    stored = house.rows(), house.log()
    answer = api.call("POST", path, body)
    assert (answer.status, answer.slug, answer.loc) == (400, "invalid-request", loc)
    assert (house.rows(), house.log()) == stored


@pytest.mark.parametrize("path", [CLAIMS, CLAIM, RENEW, RELEASE])
def test_what_is_no_json_object_or_of_another_type_is_refused(api: Lambdas, path: str):
    for body in (b"{", b"[]", b"5", b"null"):
        answer = api.call("POST", path, body)
        assert (answer.slug, answer.loc) == ("invalid-request", ["body"])
    assert api.call("POST", path, b"{}", content_type="text/plain").slug == "unsupported-media-type"


def test_a_key_is_checked_as_everywhere(api: Lambdas):
    for path in (CLAIMS, CLAIM):
        answer = api.call("POST", path, {**W1}, idempotency_key="k" * 256)
        assert answer.slug == "invalid-request"


def test_an_error_too_large_is_refused_before_any_write(api: Lambdas, house: House):
    _held(api)
    stored = house.rows(), house.log()
    answer = api.call("POST", RELEASE, {**MINE, "error": {"message": "m", "stack": "s" * 262_144}})
    assert (answer.status, answer.slug) == (413, "payload-too-large")
    assert (house.rows(), house.log()) == stored


def test_numbers_may_be_written_as_json_writes_them_and_null_is_as_good_as_absent(api: Lambdas):
    _queue(api)
    body = {**W1, "workflows": ["build"], "max": None, "lease_seconds": None, "wait_seconds": None}
    assert len(api.call("POST", CLAIMS, body).json["runs"]) == 1
    renewed = api.call("POST", RENEW, b'{"worker_id":"w1","attempt":1.0,"lease_seconds":6.1e1}')
    assert renewed.json["expires_at"] == "2026-01-01T00:01:01.000Z"
    released = api.call("POST", RELEASE, json.dumps({**MINE, "error": None, "delay_seconds": None}).encode())
    assert released.json["run"]["state"] == "pending"
