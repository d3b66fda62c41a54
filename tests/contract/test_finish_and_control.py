"""POST finish, cancel and resume: what each answers in each state, and to its repeat."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.lambdas import Lambdas

FAILED = {"status": "failed", "resumable": True, "error": {"message": "no"}}


def _finish(api: Lambdas, run_id: str, body: Any, **headers: Any) -> Any:
    return api.call("POST", f"/v1/runs/{run_id}/finish", body, **headers)


def test_a_finish_settles_with_all_it_says(api: Lambdas):
    run = api.start()
    outcome = {
        "output": {"n": 1},
        "error": {"message": "m", "type": "t", "stack": "s"},
        "code": 137,
        "signal": "SIGKILL",
        "resumable": True,
        "session_ref": "s-1",
    }
    answer = _finish(api, run["id"], {"status": "failed", **outcome})
    assert answer.json["finished"] is True
    settled = answer.json["run"]
    assert {name: settled[name] for name in outcome} == outcome
    assert (settled["state"], settled["ended_at"]) == ("failed", "2026-01-01T00:00:00.000Z")
    [end] = api.read(run["id"]).json[1:]
    assert (end["type"], end["data"]) == ("end", {"status": "failed", **outcome})


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("completed", "completed"),
        ("succeeded", "completed"),
        ("failed", "failed"),
        ("cancelled", "cancelled"),
        ("canceled", "cancelled"),
    ],
)
def test_other_spellings_are_taken_and_never_stored(api: Lambdas, said: str, state: str):
    run = api.start()
    assert api.finish(run["id"], said)["state"] == state
    assert api.read(run["id"]).json[-1]["data"]["status"] == state


def test_output_and_error_together_fill_256_kb_to_the_byte(api: Lambdas):
    error = {"message": "x" * (262_144 - len('{"message":""}'))}
    run = api.start()
    assert _finish(api, run["id"], {"status": "failed", "error": error, "output": 1}).status == 413
    assert _finish(api, run["id"], {"status": "failed", "error": error}).json["run"]["error"] == error
    text = "x" * (262_144 - len('""'))
    assert api.finish(api.start()["id"], output=text)["output"] == text


def test_a_session_ref_may_be_any_text_of_256_characters(api: Lambdas):
    for ref in ("", "é" * 256, "two\nlines"):
        run = api.finish(api.start()["id"], session_ref=ref)
        assert run["session_ref"] == ref
        assert api.call("GET", f"/v1/runs/{run['id']}").json["run"] == run


def test_a_later_finish_changes_nothing_and_learns_the_outcome(api: Lambdas):
    run = api.start()
    first = api.finish(run["id"], "failed", error={"message": "first"})
    answer = _finish(api, run["id"], {"status": "completed", "output": 2}, idempotency_key="other")
    assert (answer.status, answer.json) == (200, {"run": first, "finished": False})


def test_a_repeat_by_the_same_key_hears_that_it_settled_the_run(api: Lambdas):
    run = api.start()
    first = _finish(api, run["id"], FAILED, idempotency_key="K")
    again = _finish(api, run["id"], FAILED, idempotency_key="K")
    assert first.json == again.json
    assert again.json["finished"] is True


def test_a_repeat_by_the_same_body_under_the_same_attempt_hears_so_too(api: Lambdas):
    run = api.start()
    assert _finish(api, run["id"], FAILED, baton_attempt="1").json["finished"] is True
    assert _finish(api, run["id"], FAILED, baton_attempt="1").json["finished"] is True
    assert _finish(api, run["id"], {"status": "failed"}, baton_attempt="1").json["finished"] is False


def test_a_repeat_with_neither_key_nor_attempt_can_not_tell(api: Lambdas):
    run = api.start()
    assert _finish(api, run["id"], FAILED).json["finished"] is True
    assert _finish(api, run["id"], FAILED).json["finished"] is False


def test_a_fence_does_not_make_another_anonymous_finish_ones_own(api: Lambdas):
    run = api.start()
    assert _finish(api, run["id"], FAILED).json["finished"] is True
    assert _finish(api, run["id"], FAILED, baton_attempt="1").json["finished"] is False


def test_the_same_key_with_another_body_is_a_mismatch(api: Lambdas):
    run = api.start()
    settled = _finish(api, run["id"], FAILED, idempotency_key="K").json["run"]
    answer = _finish(api, run["id"], {"status": "completed"}, idempotency_key="K")
    assert answer.slug == "idempotency-mismatch"
    assert answer.json["run"] == settled


@pytest.mark.parametrize("settled", [False, True])
def test_a_foreign_fence_is_refused_terminal_or_not(api: Lambdas, settled: bool):
    run = api.start()
    if settled:
        api.finish(run["id"])
    answer = _finish(api, run["id"], {"status": "completed"}, baton_attempt="2")
    assert answer.slug == "lease-lost"
    assert answer.json["run"]["attempt"] == 1


def test_after_a_resume_a_fence_is_required(api: Lambdas):
    run = api.start()
    api.finish(run["id"], "failed", resumable=True)
    api.call("POST", f"/v1/runs/{run['id']}/resume")
    answer = _finish(api, run["id"], {"status": "completed"})
    assert (answer.slug, answer.loc) == ("invalid-request", ["header", "Baton-Attempt"])
    assert _finish(api, run["id"], {"status": "completed"}, baton_attempt="1").slug == "lease-lost"
    assert _finish(api, run["id"], {"status": "completed"}, baton_attempt="2").json["finished"] is True


def test_a_pending_run_is_finished_under_its_attempt_alone(api: Lambdas):
    run = api.start(mode="queued")
    refused = _finish(api, run["id"], {"status": "completed"})
    assert (refused.slug, refused.json["run"]) == ("in-flight", run)
    assert _finish(api, run["id"], {"status": "completed"}, baton_attempt="1").json["finished"] is True


def test_a_tail_given_with_an_append_may_come_back_with_the_finish(api: Lambdas):
    run = api.start()
    tail = api.append(run["id"]).headers["baton-tail"]
    for echo in ("forged", tail):
        assert _finish(api, run["id"], FAILED, baton_tail=echo).status == 200
    assert [message["type"] for message in api.read(run["id"]).json] == ["start", "note", "end"]


def test_a_cancel_is_latched_on_a_driven_run_and_written_into_its_log(api: Lambdas):
    run = api.start()
    answer = api.call("POST", f"/v1/runs/{run['id']}/cancel", {"reason": "enough"})
    requested = {"at": "2026-01-01T00:00:00.000Z", "reason": "enough"}
    assert (answer.status, set(answer.json)) == (200, {"run"})
    assert (answer.json["run"]["state"], answer.json["run"]["cancel_requested"]) == ("running", requested)
    again = api.call("POST", f"/v1/runs/{run['id']}/cancel", {"reason": "really"})
    assert again.json["run"]["cancel_requested"] == requested
    messages = api.read(run["id"]).json
    assert [(message["type"], message["data"]) for message in messages[1:]] == [
        ("cancel", {"reason": "enough", "force": False})
    ]


def test_a_cancel_settles_a_run_that_nobody_drives(api: Lambdas):
    run = api.start(mode="queued")
    answer = api.call("POST", f"/v1/runs/{run['id']}/cancel", {"reason": "not needed"})
    assert answer.json["run"]["state"] == "cancelled"
    assert answer.json["run"]["error"] == {"message": "not needed", "type": "cancelled"}


def test_a_forced_cancel_does_not_wait(api: Lambdas):
    run = api.start()
    assert (
        api.call("POST", f"/v1/runs/{run['id']}/cancel", {"force": True}).json["run"]["state"] == "cancelled"
    )


def test_a_cancel_of_a_settled_run_answers_the_truth(api: Lambdas):
    settled = api.finish(api.start()["id"], output=1)
    assert api.call("POST", f"/v1/runs/{settled['id']}/cancel").json == {"run": settled}


def test_a_driver_that_finishes_after_a_cancel_reports_its_real_outcome(api: Lambdas):
    run = api.start()
    api.call("POST", f"/v1/runs/{run['id']}/cancel")
    assert api.finish(run["id"], "completed")["state"] == "completed"


def test_a_resume_begins_the_next_attempt_and_the_log_goes_on(api: Lambdas):
    run = api.start()
    ended = api.finish(run["id"], "failed", resumable=True, error={"message": "x"})
    answer = api.call("POST", f"/v1/runs/{run['id']}/resume")
    resumed = answer.json["run"]
    assert (answer.status, answer.json["resumed"]) == (200, True)
    assert (resumed["state"], resumed["attempt"], resumed["resumable"]) == ("running", 2, False)
    assert (resumed["ended_at"], resumed["error"], resumed["cancel_requested"]) == (None, None, None)
    [message] = api.read(run["id"], ended["next_offset"]).json
    assert (message["type"], message["seq"], message["attempt"]) == ("resumed", 2, 2)
    assert message["data"]["attempt"] == 2


@pytest.mark.parametrize(
    ("outcome", "force", "resumed"),
    [
        (None, False, False),
        (None, True, False),
        ({"status": "completed"}, False, False),
        ({"status": "completed"}, True, False),
        ({"status": "failed"}, False, False),
        ({"status": "failed"}, True, True),
        ({"status": "failed", "resumable": True}, False, True),
        ({"status": "cancelled"}, True, True),
    ],
)
def test_a_resume_that_may_not_be_is_no_error(api: Lambdas, outcome: Any, force: bool, resumed: bool):
    run = api.start()
    if outcome:
        _finish(api, run["id"], outcome)
    before = api.call("GET", f"/v1/runs/{run['id']}").json["run"]
    answer = api.call("POST", f"/v1/runs/{run['id']}/resume", {"force": force})
    assert (answer.status, answer.json["resumed"]) == (200, resumed)
    if not resumed:
        assert answer.json["run"] == before


def test_a_repeated_resume_by_the_same_key_hears_that_it_won(api: Lambdas):
    run = api.start()
    api.finish(run["id"], "failed", resumable=True)
    path = f"/v1/runs/{run['id']}/resume"
    assert api.call("POST", path, idempotency_key="K").json["resumed"] is True
    assert api.call("POST", path, idempotency_key="K").json["resumed"] is True
    assert api.call("POST", path, idempotency_key="L").json["resumed"] is False
    assert api.call("POST", path, {"force": True}, idempotency_key="K").slug == "idempotency-mismatch"
    assert api.call("GET", f"/v1/runs/{run['id']}").json["run"]["attempt"] == 2


@pytest.mark.parametrize("mode", ["attached", "queued"])
def test_the_same_key_with_another_body_cancels_nothing_more_and_is_told_so(api: Lambdas, mode: str):
    run = api.call("POST", "/v1/runs", {"workflow": "w", "mode": mode}).json["run"]
    path, key = f"/v1/runs/{run['id']}/cancel", "once"
    first = api.call("POST", path, {"reason": "enough"}, idempotency_key=key)
    assert first.json["run"]["cancel_requested"]["reason"] == "enough"
    assert api.call("POST", path, {"reason": "enough"}, idempotency_key=key).json == first.json
    assert api.call("POST", path, {"reason": "other"}, idempotency_key=key).status == 422
