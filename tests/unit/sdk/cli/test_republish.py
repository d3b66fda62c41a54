"""``baton republish`` and ``baton publish``: what they ask, what they say, and how they exit."""

from __future__ import annotations

import json

import pytest

from tests.unit.sdk.answers import republished_json
from tests.unit.sdk.service import problem

REFUSAL = {"run_id": "r7", "subscriber": "report", "error": {"message": "deeper than 64", "type": "depth"}}
PAGES = [
    republished_json(runs=100, created=97, existing=3, next_token="t1"),
    republished_json(runs=20, created=18, skipped=1, refused=[REFUSAL], busy=["r8"]),
]


def pages(*answers):
    left = list(answers)
    return lambda request: left.pop(0)


def bodies(requests):
    return [json.loads(request.content) for request in requests]


def test_a_run_is_republished(run, requests):
    result = run("republish", "r1", "--subscriber", "report", answer=republished_json(runs=1, created=1))
    assert result.exit_code == 0
    assert (requests[0].url.path, bodies(requests)) == ("/v1/runs/r1/republish", [{"subscriber": "report"}])
    assert dict(line.split("\t") for line in result.stdout.splitlines()) == {
        "settled runs": "1", "created": "1", "existing": "0", "owed again": "0", "skipped": "0",
        "refused": "0", "busy": "0",
    }  # fmt: skip


def test_a_workflow_s_runs_are_republished_page_after_page(run, requests):
    args = ["--workflow", "build", "--ending", "completed", "--since", "2026-11-29T00:00:00Z", "--dry-run"]
    result = run("republish", *args, answer=pages(PAGES[0], republished_json(runs=1, created=1)))
    assert result.exit_code == 0
    assert bodies(requests)[0] == {
        "workflow": "build", "ending": "completed", "since": "2026-11-29T00:00:00.000Z", "limit": 25,
        "dry_run": True,
    }  # fmt: skip
    assert [sent.get("next_token") for sent in bodies(requests)] == [None, "t1"]
    assert "created\t98" in result.stdout


@pytest.mark.parametrize("left", [{"refused": [REFUSAL]}, {"busy": ["r8"]}])
def test_what_was_refused_or_busy_is_exit_1(left, run):
    result = run("republish", "r7", answer=republished_json(runs=1, **left))
    assert result.exit_code == 1
    assert "deeper than 64" in result.stderr or "r8" in result.stderr


def test_as_json_it_is_one_document_of_all_pages(run):
    result = run("republish", "--workflow", "build", "--json", answer=pages(*PAGES))
    assert result.exit_code == 1
    assert json.loads(result.stdout) == republished_json(
        runs=120, created=115, existing=3, skipped=1, refused=[REFUSAL], busy=["r8"]
    )


def test_a_person_sees_what_was_done_and_why_not(run):
    shown = run("republish", "--workflow", "build", answer=pages(*PAGES), terminal=True).output
    for said in ("REPUBLISHED", "settled runs", "115", "r7", "report", "deeper than 64", "busy", "r8"):
        assert said in shown


def test_a_person_sees_the_counts_move(run):
    shown = run("republish", "--workflow", "build", answer=pages(*PAGES), terminal=True).stderr
    assert "120 settled runs, 115 created" in shown


def test_a_dry_run_is_said_to_be_one(run):
    shown = run("republish", "-w", "build", "--dry-run", answer=republished_json(runs=3), terminal=True)
    assert "DRY RUN" in shown.output


def test_a_range_over_nothing_says_so(run):
    result = run("republish", "--workflow", "nothing", answer=republished_json())
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "settled runs\t0")


def test_what_was_done_before_a_failure_is_told(run):
    result = run("republish", "--workflow", "build", answer=pages(PAGES[0], problem(403, "forbidden")))
    assert result.exit_code == 1
    assert "created\t97" in result.stdout
    assert "error:" in result.stderr and "there are more" in result.stderr


def test_a_failure_at_once_tells_no_counts(run):
    result = run("republish", "r1", answer=problem(404, "not-found"))
    assert (result.exit_code, result.stdout) == (1, "")


def test_the_limit_ends_it_and_says_that_there_are_more(run, requests):
    result = run("republish", "-w", "build", "--limit", "100", answer=pages(PAGES[0]))
    assert result.exit_code == 0
    assert len(requests) == 1
    assert "there are more" in result.stderr


EVENT = {"event_id": "e1", "started": [{"subscriber": "report", "run_id": "h~1"}], "woken": 2, "kept": False}


def test_an_event_is_published_with_what_it_says(run, requests):
    result = run("publish", "order.paid", "--payload", '{"total": 0.1}', "--id", "e1", answer=EVENT)
    assert result.exit_code == 0
    assert requests[0].url.path == "/v1/events/order.paid"
    assert bodies(requests) == [{"payload": {"total": 0.1}, "id": "e1"}]
    assert result.stdout == "report\th~1\n"
    assert "event e1 is published: 1 started so far, 2 woken" in result.stderr
    assert json.loads(run("publish", "x", "-p", "-", "--json", answer=EVENT, stdin="[1]").stdout) == EVENT
    assert bodies(requests)[1]["payload"] == [1]


def test_an_event_that_reached_nobody_is_said_to_be_kept(run):
    answer = EVENT | {"started": [], "woken": 0, "kept": True}
    assert (
        "0 started so far; kept for the next run" in run("publish", "x", answer=answer, terminal=True).stderr
    )


def test_a_failure_of_a_kind_nobody_knows_is_still_told(run):
    error = {"code": 7}
    answer = republished_json(runs=1, refused=[REFUSAL | {"error": error}])
    assert '{"code": 7}' in run("republish", "r7", answer=answer).stderr
