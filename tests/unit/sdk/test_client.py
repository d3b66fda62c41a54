from __future__ import annotations

import json
from datetime import UTC, datetime

import httpx
import pytest

import baton_sdk
from baton_sdk import Client, Run
from tests.unit.sdk.answers import answering
from tests.unit.sdk.service import NOW, problem, run_json


def test_a_start_sends_what_was_given_and_nothing_else(connect):
    handler, seen = answering(httpx.Response(201, json={"run": run_json(), "started": True}))
    started = connect(handler).start(
        "build",
        input={"z": 0.1, "a": [-0.0, 2**53 + 1, "", []]},
        tags=["x"],
        max_attempts=2,
        idempotency_key="k",
    )
    assert started.started and started.run.id == "r1"
    assert seen[0].headers["idempotency-key"] == "k"
    assert json.loads(seen[0].content) == {
        "workflow": "build", "tags": ["x"], "max_attempts": 2,
        "input": {"a": [-0.0, 2**53 + 1, "", []], "z": 0.1},
    }  # fmt: skip
    assert b"-0.0,9007199254740993" in seen[0].content


@pytest.mark.parametrize("value", [float("nan"), "\udfff", {"a": {1}}])
def test_what_json_can_not_say_is_refused_before_anything_is_sent(value, connect):
    handler, seen = answering()
    with pytest.raises(baton_sdk.InvalidRequest):
        connect(handler).start("build", input=value)
    assert seen == []


def test_payloads_come_back_as_they_were_sent(connect):
    output = '[0.1, -0.0, 9007199254740993, 1e-7, 123456789012345678901234567890, "", {}]'
    run = json.dumps(run_json()).replace('"output": null', f'"output": {output}')
    text = f'{{"run": {run}, "deliveries": []}}'
    handler, _ = answering(httpx.Response(200, text=text, headers={"etag": '"7"'}))
    detail = connect(handler).get("r1")
    assert (
        repr(detail.run.output)
        == "[0.1, -0.0, 9007199254740993, 1e-07, 123456789012345678901234567890, '', {}]"
    )
    assert detail.etag == '"7"'


def test_a_run_has_every_field_of_the_contract():
    run = Run.from_json(
        run_json(
            cancel_requested={"at": NOW, "reason": "why"},
            lease={"worker_id": "w", "expires_at": NOW},
            triggered_by={"run_id": "r0", "workflow": "w", "event": "run.completed:w", "attempt": 2},
            state="failed",
            later_field=1,
        )
    )
    assert set(run_json()) <= set(vars(run)) | {"later_field"}
    assert run.created_at == datetime(2026, 11, 29, 12, tzinfo=UTC)
    assert run.cancel_requested and run.cancel_requested.reason == "why"
    assert run.lease and run.lease.worker_id == "w"
    assert run.triggered_by and run.triggered_by.attempt == 2
    assert run.terminal and run.raw["later_field"] == 1


@pytest.mark.parametrize(
    "answer", ["[]", "null", "<html>", '{"run": {"id": 1}}', '{"run": null}', '{"run": NaN}', ""]
)
def test_an_answer_of_something_else_is_told(answer, connect):
    handler, _ = answering(httpx.Response(200, text=answer))
    with pytest.raises(baton_sdk.BadAnswer):
        connect(handler).get("r1")


def test_a_redirect_is_not_taken_for_an_answer(connect):
    handler, _ = answering(httpx.Response(302, headers={"location": "http://elsewhere"}))
    with pytest.raises(baton_sdk.BadAnswer, match="is the URL right"):
        connect(handler).health()


def test_a_list_goes_over_all_pages_also_empty_ones(connect):
    handler, seen = answering(
        {"runs": [run_json("a")], "next_token": "t1"},
        {"runs": [], "next_token": "t2"},
        {"runs": [run_json("b")]},
    )
    runs = connect(handler).list(workflow="w/x", states=["failed", "dead"], page_size=1)
    assert [run.id for run in runs] == ["a", "b"]
    assert [request.url.params.get("next_token") for request in seen] == [None, "t1", "t2"]
    assert seen[2].url.params.get_list("state") == ["failed", "dead"]
    assert seen[0].url.params["workflow"] == "w/x"


def test_a_wait_asks_window_after_window_until_the_run_is_terminal(connect):
    going, gone = run_json(), run_json(state="completed")
    handler, seen = answering(
        {"run": going, "terminal": False}, {"run": going, "terminal": False}, {"run": gone, "terminal": True}
    )
    assert connect(handler).wait("r1").terminal
    assert [request.url.params["timeout_seconds"] for request in seen] == ["25", "25", "25"]


def test_a_wait_ends_at_its_timeout_with_the_run_as_it_is(connect):
    handler, seen = answering({"run": run_json(), "terminal": False})
    assert not connect(handler).wait("r1", timeout_seconds=0).terminal
    assert seen[0].url.params["timeout_seconds"] == "0"


def test_a_finish_carries_the_fence_and_says_who_settled(connect):
    handler, seen = answering({"run": run_json(state="cancelled"), "finished": False})
    answer = connect(handler).finish("r1", "failed", error="boom", code=0, attempt=4, resumable=False)
    assert (answer.finished, answer.run.state) == (False, "cancelled")
    assert seen[0].headers["baton-attempt"] == "4"
    assert json.loads(seen[0].content) == {
        "status": "failed", "error": {"message": "boom"}, "code": 0, "resumable": False,
    }  # fmt: skip


def test_an_unchanged_run_is_not_sent_again(connect):
    handler, seen = answering(httpx.Response(304))
    assert connect(handler).get_if_changed("r1", '"7"') is None
    assert seen[0].headers["if-none-match"] == '"7"'


def test_a_run_id_is_one_part_of_the_path(connect):
    handler, seen = answering(problem(404, "not-found"))
    with pytest.raises(baton_sdk.NotFound):
        connect(handler).get("a/../b?c")
    assert seen[0].url.raw_path == b"/v1/runs/a%2F..%2Fb%3Fc"


@pytest.mark.parametrize("run_id", ["", ".", ".."])
def test_an_id_that_would_name_another_path_is_refused(run_id, connect):
    with pytest.raises(baton_sdk.InvalidRequest):
        connect(answering()[0]).delete(run_id)


def test_address_token_and_namespace_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("BATON_URL", "https://baton.example/")
    monkeypatch.setenv("BATON_TOKEN", "secret")
    monkeypatch.setenv("BATON_NAMESPACE", "team")
    handler, seen = answering({"status": "ok"}, {"status": "ok"})
    with Client(transport=httpx.MockTransport(handler)) as client:
        client.health()
    with Client("http://other", "mine", "ours", transport=httpx.MockTransport(handler)) as client:
        client.health()
    assert [str(request.url) for request in seen] == [
        "https://baton.example/v1/health",
        "http://other/v1/health",
    ]
    assert [request.headers["authorization"] for request in seen] == ["Bearer secret", "Bearer mine"]
    assert [request.headers["baton-namespace"] for request in seen] == ["team", "ours"]


def test_the_default_is_the_stack_on_this_machine(monkeypatch):
    for name in ("BATON_URL", "BATON_TOKEN", "BATON_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    handler, seen = answering({"status": "ok"})
    with Client(transport=httpx.MockTransport(handler)) as client:
        client.health()
    assert str(seen[0].url) == "http://127.0.0.1:4437/v1/health"
    assert "authorization" not in seen[0].headers
    assert "baton-namespace" not in seen[0].headers


@pytest.mark.parametrize("url", ["baton.example", "ftp://x", "http://", "http://x:port"])
def test_a_url_that_is_none_is_told_at_once(url):
    with pytest.raises(baton_sdk.InvalidRequest, match="URL of a service"):
        Client(url)


@pytest.mark.parametrize("token", ["geheimÜ", "gehe\nim", "gehe\0im"])
def test_a_token_that_fits_no_header_is_told_at_once_without_it(token):
    with pytest.raises(baton_sdk.InvalidRequest, match="ASCII") as refused:
        Client("http://x", token)
    assert refused.value.__cause__ is None and "gehe" not in str(refused.value)


def test_a_namespace_that_fits_no_header_is_told_at_once():
    with pytest.raises(baton_sdk.InvalidRequest, match="ASCII"):
        Client("http://x", namespace="größe")
