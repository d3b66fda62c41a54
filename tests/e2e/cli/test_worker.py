"""``baton worker`` as a process against a real stack: it performs what is started, and ends when it is told
to."""

from __future__ import annotations

import json
import signal

import pytest

APP = """\
import sys
from baton_sdk import Context, Worker

worker = Worker(drain_seconds=0)

@worker.workflow({name!r})
def work(ctx: Context, input: dict) -> dict:
    doubled = ctx.step("double", lambda: input["n"] * 2)
    ctx.log.info("doubled to %d", doubled)
    return {{"doubled": doubled}}

@worker.workflow({name!r} + "-stubborn")
def stubborn(ctx: Context) -> None:
    ctx.emit("note", "up")
    sys.stdin.readline()
"""


@pytest.fixture
def app(tmp_path, monkeypatch, run_id):
    """A module in the current folder, whose workflows nobody else has."""
    (tmp_path / "app.py").write_text(APP.format(name=run_id))
    monkeypatch.chdir(tmp_path)
    return "app"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_performs_what_is_started_and_ends_with_a_signal(number, app, launch, baton, client, run_id):
    working = launch("worker", app, "--id", run_id)
    working.hear(f"{run_id} serves {run_id}, {run_id}-stubborn of ", "err")
    client.start(run_id, run_id=run_id, input={"n": 21}, mode="queued")
    working.hear(f"ended\t{run_id}\t{run_id}\t1\tcompleted")
    working.hear(f"{run_id}: doubled to 42", "err")
    assert client.get(run_id).run.output == {"doubled": 42}
    listed = json.loads(baton("workers", "--json").stdout)["workers"]
    served = {each["worker_id"]: each["workflows"] for each in listed}
    assert served[run_id] == [run_id, f"{run_id}-stubborn"]
    working.signal(number)
    assert working.wait() == 0
    working.hear("stopped", "err")


def test_a_workflow_that_a_worker_serves_is_started_for_it(app, launch, baton, client, run_id):
    working = launch("worker", app, "--json")
    working.hear('"type":"serving"')
    client.start(run_id, run_id=f"{run_id}-1st", input={"n": 1}, mode="queued")
    working.hear('"outcome":"completed"')  # so it has been announced
    baton("start", run_id, "--run-id", run_id, "--input", '{"n": 4}')
    baton("runs", "wait", run_id, "--timeout", "60")
    assert client.get(run_id).run.output == {"doubled": 8}


def test_a_function_that_does_not_end_is_left_and_its_run_given_back(app, launch, baton, client, run_id):
    working = launch("worker", app, "--id", run_id)
    client.start(f"{run_id}-stubborn", run_id=run_id, mode="queued")
    working.hear(f"claimed\t{run_id}-stubborn\t{run_id}\t1")
    next(event for event in client.follow(run_id) if event.type == "note")
    working.signal(signal.SIGTERM)
    working.hear("released")
    assert working.wait() == 0
    run = client.get(run_id).run
    assert (run.state, run.lease, run.attempt) == ("pending", None, 1)
    assert f"came back\tfrom {run_id}, attempt 1: given back" in baton("runs", "show", run_id).stdout
    baton("runs", "cancel", run_id)


def test_told_twice_a_worker_gives_all_back_at_once_and_takes_none_of_it_again(app, launch, client, run_id):
    working = launch("worker", app, "--drain-seconds", "3600")
    client.start(f"{run_id}-stubborn", run_id=run_id, mode="queued")
    next(event for event in client.follow(run_id) if event.type == "note")
    working.signal(signal.SIGTERM)
    working.hear("stopping; under way: 1, with 3600 s to end", "err")
    working.signal(signal.SIGTERM)
    assert working.wait() == 0
    run = client.get(run_id).run
    assert (run.state, run.lease) == ("pending", None)
    client.cancel(run_id)


def test_a_module_that_is_not_there_is_told_by_name(baton, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "no module nobody_has_this" in baton("worker", "nobody_has_this", expect=2).output
