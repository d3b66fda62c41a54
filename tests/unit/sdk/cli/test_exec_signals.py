"""A signal to exec at any moment: the run is settled or named, the word about it is true, the exit code is
the signal's."""

from __future__ import annotations

import json
import signal
import sys

import httpx
import pytest

from baton_sdk.cli.exec.child import Child, Stopper
from baton_sdk.cli.exec.signals import Leave, Signals
from tests.unit.sdk.service import run_json

START, FINISH = "/v1/runs", "/v1/runs/r1/finish"
FOREVER = "import threading; threading.Event().wait()"
ALL = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
STARTED = {"run": run_json(run_id="r1", mode="attached"), "started": True}


def service(during=None, numbers=(), then=None):
    """Answers, and before it answers ``during`` these signals come; ``then`` is raised instead."""

    def answer(request):
        if request.url.path == during:
            for number in numbers:
                signal.raise_signal(number)
            if then is not None:
                raise then
        if request.url.path == START:
            return httpx.Response(201, json=STARTED)
        if request.url.path == FINISH:
            status = json.loads(request.content)["status"]
            return httpx.Response(200, json={"run": run_json(run_id="r1", state=status), "finished": True})
        return httpx.Response(404, json={"title": "not found", "status": 404})

    return answer


@pytest.mark.parametrize("number", ALL)
def test_a_signal_during_the_start_settles_the_run_and_begins_nothing(number, run, requests, tmp_path):
    result = run("exec", "--", "touch", f"{tmp_path}/ran", answer=service(START, [number]))
    assert result.exit_code == 128 + number
    assert [request.url.path for request in requests] == [START, FINISH]
    finish = json.loads(requests[-1].content)
    assert (finish["status"], finish["resumable"]) == ("cancelled", True)
    assert "will not begin" in result.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [(("--run-id", "r9"), "r9 may have"), (("--key", "k9"), "with the key k9"), ((), "runs list")],
)
@pytest.mark.parametrize(
    ("numbers", "then"), [([2], httpx.ReadError("cut")), ([2, 15], None), ([15, 1], None)]
)
def test_a_start_left_without_an_answer_is_not_repeated_and_says_what_may_be(
    numbers, then, options, named, run, requests
):
    result = run("exec", *options, "--", "true", answer=service(START, numbers, then))
    assert result.exit_code == 128 + numbers[-1]
    assert named in result.stderr
    assert len(requests) == 1


def test_a_start_that_was_never_sent_has_started_nothing(run, requests):
    result = run("exec", "--", "true", answer=service(START, [2], httpx.ConnectError("refused")))
    assert result.exit_code == 130
    assert "not begun" in result.stderr
    assert "may have been" not in result.stderr
    assert len(requests) == 1


def test_a_signal_while_the_run_is_settled_changes_nothing_and_claims_nothing(run):
    result = run("exec", "--", "true", answer=service(FINISH, [signal.SIGINT]))
    assert result.exit_code == 0
    assert "the command has ended; settling its run" in result.stderr
    assert "told" not in result.stderr


@pytest.mark.parametrize("last", ALL)
def test_the_next_one_leaves_the_run_maybe_unsettled(last, run):
    result = run("exec", "--", "true", answer=service(FINISH, [signal.SIGTERM, last]))
    assert result.exit_code == 128 + last
    assert "r1 may not be settled" in result.stderr
    assert "killed" not in result.stderr


def test_a_run_that_the_key_had_started_before_is_not_ours_to_settle(run, requests):
    def answer(request):
        signal.raise_signal(signal.SIGTERM)
        return {"run": run_json(run_id="r1"), "started": False}

    assert run("exec", "--key", "k", "--", "true", answer=answer).exit_code == 1
    assert len(requests) == 1


def test_what_comes_while_the_command_is_started_reaches_it():
    said: list[str] = []
    with Signals(said.append) as signals:
        signals.hold()
        signal.raise_signal(signal.SIGTERM)
        assert (signals.asked, said) == (False, [])
        child = Child([sys.executable, "-c", FOREVER], {})
        stopper = Stopper(child, grace_seconds=60)
        signals.release(stopper)
        assert child.result().signal == "SIGTERM"
        assert said == ["told the command to stop; once more kills it"]
        assert (stopper.reason, signals.stopping, signals.exit_code) == ("interrupt", True, 143)
        stopper.done()
        signal.raise_signal(signal.SIGINT)
        assert said[1].startswith("the command has ended")
        with pytest.raises(Leave) as left:
            signal.raise_signal(signal.SIGHUP)
        assert left.value.exit_code == 129
        child.close()
