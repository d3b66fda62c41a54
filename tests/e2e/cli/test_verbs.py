"""The other verbs against a real stack."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pytest

from tests.e2e.cli.conftest import environment


def document(done):
    return json.loads(done.stdout)


def test_a_run_by_hand_from_start_to_deletion(baton, run_id):
    started = document(
        baton("start", "by-hand", "--run-id", run_id, "--input", '{"a": [0.1, -0.0]}', "--json")
    )
    assert started["started"] and started["run"]["input"] == {"a": [0.1, -0.0]}
    assert document(baton("append", run_id, "note", "--data", '"hello"', "--json"))["appended"] == 1
    lines = "".join(json.dumps({"type": "note", "data": n}) + "\n" for n in range(20))
    assert document(baton("append", run_id, "--lines", "--json", stdin=lines))["appended"] == 20
    settled = document(baton("finish", run_id, "--output", '{"ok": true}', "--json"))
    assert settled["finished"] and settled["run"]["output"] == {"ok": True}
    assert "settled before" in baton("finish", run_id, "--status", "failed", expect=1).stderr
    shown = document(baton("runs", "show", run_id, "--json"))
    assert shown["run"]["state"] == "completed"
    events = [json.loads(line) for line in baton("tail", run_id, "--json").stdout.splitlines()]
    assert [event["data"] for event in events if event["type"] == "note"] == ["hello", *range(20)]
    baton("runs", "wait", run_id)
    baton("runs", "resume", run_id, expect=1)
    baton("runs", "delete", run_id)
    assert "error" in baton("runs", "show", run_id, expect=1).stderr


def test_the_same_key_starts_one_run(baton, run_id):
    first, second = (document(baton("start", "keyed", "--key", run_id, "--json")) for _ in range(2))
    assert (first["started"], second["started"]) == (True, False)
    assert first["run"]["id"] == second["run"]["id"]
    clash = baton("start", "keyed", "--key", run_id, "--input", "1", "--json", expect=1)
    assert json.loads(clash.stderr)["error"]["slug"] == "idempotency-mismatch"
    baton("runs", "cancel", first["run"]["id"], "--force")


def test_runs_are_found_by_what_they_are(baton, run_id):
    for number in range(3):
        baton(
            "exec", "-q", "--run-id", f"{run_id}.{number}", "-w", run_id, "--tag", f"n{number}", "--", "true"
        )
    listed = document(baton("runs", "list", "--workflow", run_id, "--json"))["runs"]
    assert [run["id"] for run in listed] == [f"{run_id}.{number}" for number in (2, 1, 0)]
    tagged = document(baton("runs", "list", "-w", run_id, "--tag", "n1", "--since", "1h", "--json"))["runs"]
    assert [run["id"] for run in tagged] == [f"{run_id}.1"]
    assert document(baton("runs", "list", "-w", run_id, "--state", "failed", "--json")) == {"runs": []}
    assert len(baton("runs", "list", "-w", run_id, "--limit", "2").stdout.splitlines()) == 2


def test_a_wait_ends_with_its_run(launch, client, run_id):
    client.start("waited", run_id=run_id)
    wait = launch("runs", "wait", run_id)
    client.finish(run_id, "failed", error="boom", attempt=1)
    assert wait.wait() == 1
    assert "failed" in wait.out[0] and "boom" in wait.out[0]


def test_a_tail_that_joins_late_sees_everything_once_and_ends_with_the_run(launch, client, run_id):
    client.start("tailed", run_id=run_id)
    with client.writer(run_id, attempt=1) as log:
        for number in range(10):
            log.emit("note", number)
        log.flush()
        tail = launch("tail", run_id, "--json")
        tail.hear('"data":9')
        for number in range(10, 20):
            log.emit("note", number)
    client.finish(run_id, "completed", attempt=1)
    assert tail.wait() == 0
    events = [json.loads(line) for line in tail.out]
    assert [event["seq"] for event in events] == list(range(22))
    assert [event["data"] for event in events[1:-1]] == list(range(20))


def test_a_tail_survives_a_cut_wire(launch, client, wire, run_id):
    client.start("tailed", run_id=run_id)
    tail = launch("tail", run_id, "--json", url=wire.url)
    with client.writer(run_id, attempt=1) as log:
        for outage in range(3):
            log.emit("note", outage)
            tail.hear(f'"data":{outage}')
            wire.cut()
            log.emit("note", f"unheard {outage}")
            log.flush()
            wire.up()
            tail.hear(f"unheard {outage}")
    client.finish(run_id, "completed", attempt=1)
    assert tail.wait() == 0
    assert [json.loads(line)["seq"] for line in tail.out] == list(range(8))


def test_a_tail_of_what_is_there_does_not_wait(baton, client, run_id):
    client.start("tailed", run_id=run_id)
    client.append(run_id, [{"type": "note", "data": 1}, {"type": "other"}], attempt=1)
    plain = baton("tail", run_id, "--no-follow", "--type", "note").stdout.split("\t")
    assert plain[1:] == ["note", "1\n"]
    client.cancel(run_id, force=True)


def test_an_interrupted_tail_is_exit_130(launch, client, run_id):
    client.start("tailed", run_id=run_id)
    tail = launch("tail", run_id)
    tail.hear("start")
    tail.signal(signal.SIGINT)
    assert tail.wait() == 130
    client.cancel(run_id, force=True)


def test_a_reader_who_has_seen_enough_ends_a_tail_in_silence(baton, client, run_id, stack):
    client.start("tailed", run_id=run_id)
    with client.writer(run_id, attempt=1) as log:
        for number in range(5000):
            log.emit("note", {"number": number})
    client.finish(run_id, "completed", attempt=1)
    piped = f"{sys.executable} -m baton_sdk.cli tail {run_id} | head -2; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", piped], capture_output=True, text=True, timeout=60, env=environment(stack.url)
    )
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 2)


def test_a_wrong_id_is_told_at_once(baton):
    for command in (["runs", "show"], ["tail"], ["runs", "wait"], ["runs", "cancel"], ["exec", "--run"]):
        rest = ["--", "true"] if command[0] == "exec" else []
        assert "error" in baton(*command, "no-such-run", *rest, expect=1).stderr


def test_the_doctor_finds_a_service_in_good_health(baton):
    told = document(baton("doctor", "--write", "--json"))
    assert told["ok"]
    assert [check["check"] for check in told["checks"]] == [
        "reachable", "clock", "authorisation", "contract", "hand-off", "a run's life",
    ]  # fmt: skip


def test_the_doctor_says_what_is_in_the_way(baton):
    done = baton("doctor", url="http://127.0.0.1:9", expect=1)
    assert re.search(r"FAILED\s+reachable\s+no answer", done.stdout)


@pytest.mark.slow
def test_dev_serves_until_interrupted(launch):
    stack = launch("dev", "--port", "0")
    stack.hear("ready at http://127.0.0.1:")
    stack.signal(signal.SIGINT)
    assert stack.wait() == 0


@pytest.mark.slow
def test_the_demo_plays_to_its_end(baton_process):
    told = document(baton_process("demo", "--json", seconds=240))
    assert told["ok"] and told["resumed"]["attempts"] == 2
    handed = told["hand_off"]
    assert (handed["killed"]["reports"], handed["healed"]["audits"]) == (1, 1)
    assert handed["republished"]["created"] + handed["republished"]["existing"] == 30
