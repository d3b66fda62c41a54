"""``baton exec`` against a real stack: the log is the output, the ending is the exit, a cancel is a
signal."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from tests.e2e.cli.conftest import environment

PY = (sys.executable, "-u", "-c")
# Says what it hears, so that the test decides when it goes on; ends at the end of its input.
ECHO = "import sys\nprint('up')\nfor line in sys.stdin: print('heard', line.strip())"
# Looks up now and then: a signal that comes just before a blocking read is heard only after it.
STUBBORN = (
    "import signal,time\nsignal.signal(signal.SIGTERM, lambda *_: print('no'))\nprint('up')\n"
    "while True: time.sleep(0.05)"
)


def output(events, stream="stdout"):
    data = [event.data for event in events if event.type == stream]
    return "".join(entry["line"] + ("\n" if entry.get("eol", True) else "") for entry in data)


def kinds(events):
    return [event.type for event in events if event.type not in {"stdout", "stderr"}]


def test_output_exit_and_order_are_in_the_log(baton_process, client, run_id):
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"
    done = baton_process("exec", "--run-id", run_id, "--tag", "t", "--", *PY, code, expect=7)
    assert done.stdout == "out\n"
    assert "err" in done.stderr.splitlines()
    run = client.get(run_id).run
    assert (run.state, run.code, run.signal, run.resumable, run.tags) == ("failed", 7, None, False, ("t",))
    assert run.error is not None and run.error["message"] == "exit code 7"
    events = list(client.follow(run_id))
    assert kinds(events) == ["start", "end"]
    assert (output(events), output(events, "stderr")) == ("out\n", "err\n")
    assert events[0].data["input"] == {"command": [*PY, code]}


def test_a_command_that_succeeds_completes_its_run(baton, client, run_id):
    baton("exec", "--run-id", run_id, "--workflow", "w", "--input", '{"n": 0.1}', "--", "true")
    run = client.get(run_id).run
    assert (run.workflow, run.state, run.code, run.input) == ("w", "completed", 0, {"n": 0.1})


def test_a_command_killed_by_a_signal_has_failed_by_it(baton, client, run_id):
    baton("exec", "--run-id", run_id, "--", "sh", "-c", "kill -9 $$", expect=137)
    run = client.get(run_id).run
    assert (run.state, run.code, run.signal) == ("failed", None, "SIGKILL")


@pytest.mark.parametrize(
    "code",
    [
        "print('no newline', end='')",
        "print('x' * 200_000); print('y')",
        "for n in range(3000): print(n, 'line')",
        "import sys; sys.stdout.buffer.write(b'caf\\xc3\\xa9 \\xff\\xfe \\x00 end\\n')",
        "print(); print('\\r\\n', end='')",
        "print('😀' * 30_000)",
    ],
)
def test_every_byte_is_in_the_log_and_comes_back(code, baton, baton_process, client, run_id):
    done = baton_process("exec", "--run-id", run_id, "--", *PY, code)
    events = list(client.follow(run_id))
    assert [event.seq for event in events] == list(range(len(events)))
    # The log writes what is no UTF-8 as \xNN, and so does the test's own reading of the pipe.
    assert output(events) == done.stdout
    written = baton("tail", "--output", run_id).stdout_bytes
    assert written.decode(errors="backslashreplace") == done.stdout


def test_output_is_live_before_the_command_ends(launch, client, run_id):
    job = launch("exec", "--run-id", run_id, "--", *PY, ECHO)
    job.hear("up")
    follower = iter(client.follow(run_id))
    assert [next(follower).type for _ in range(2)] == ["start", "stdout"]
    job.say("one\n")
    assert next(follower).data == {"line": "heard one"}
    job.end()
    client.cancel(run_id, force=True)


def test_a_cancel_arrives_as_sigterm_and_settles_resumable(launch, client, run_id):
    job = launch("exec", "--run-id", run_id, "--", *PY, ECHO)
    job.hear("up")
    client.cancel(run_id, reason="enough")
    assert job.wait() == 128 + signal.SIGTERM
    job.hear("cancelled: enough", "err")
    run = client.get(run_id).run
    assert (run.state, run.signal, run.resumable) == ("cancelled", "SIGTERM", True)
    assert kinds(client.follow(run_id)) == ["start", "cancel", "end"]


def test_a_command_that_ignores_a_cancel_is_killed(launch, client, run_id):
    job = launch("exec", "--run-id", run_id, "--grace", "0.2", "--", *PY, STUBBORN)
    job.hear("up")
    client.cancel(run_id)
    assert job.wait() == 128 + signal.SIGKILL
    run = client.get(run_id).run
    assert (run.state, run.signal, run.resumable) == ("cancelled", "SIGKILL", True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGQUIT])
def test_an_interrupt_is_passed_on_and_settles_cancelled_resumable(number, launch, client, run_id):
    job = launch("exec", "--run-id", run_id, "--", "sh", "-c", "echo up; exec cat")
    job.hear("up")
    job.signal(number)
    assert job.wait() == 128 + number
    run = client.get(run_id).run
    assert (run.state, run.signal, run.resumable) == ("cancelled", number.name, True)


def test_a_second_interrupt_kills(launch, client, run_id):
    job = launch("exec", "--run-id", run_id, "--", *PY, STUBBORN.replace("SIGTERM", "SIGINT"))
    job.hear("up")
    job.signal(signal.SIGINT)
    job.hear("no")
    job.signal(signal.SIGINT)
    assert job.wait() == 128 + signal.SIGKILL
    assert client.get(run_id).run.state == "cancelled"


def test_a_run_settled_from_outside_stops_its_command(launch, client, run_id):
    job = launch("exec", "--run-id", run_id, "--", *PY, ECHO)
    job.hear("up")
    client.cancel(run_id, force=True)
    assert job.wait() == 128 + signal.SIGTERM
    job.hear("settled", "err")
    assert client.get(run_id).run.state == "cancelled"
    assert kinds(client.follow(run_id))[-1] == "end"


def test_a_cancelled_run_is_resumed_and_driven_to_its_end(launch, baton, client, run_id):
    job = launch("exec", "--run-id", run_id, "--", *PY, ECHO)
    job.hear("up")
    client.cancel(run_id)
    job.wait()
    assert "opens it again" in baton("exec", "--run", run_id, "--", "true", expect=1).stderr
    baton("runs", "resume", run_id)
    baton("exec", "--run", run_id, "--", *PY, "print('second')")
    run = client.get(run_id).run
    assert (run.state, run.attempt) == ("completed", 2)
    events = list(client.follow(run_id))
    assert kinds(events) == ["start", "cancel", "end", "resumed", "end"]
    assert [event.seq for event in events] == list(range(len(events)))
    assert output(events) == "up\nsecond\n"


def test_a_driver_whose_run_was_resumed_by_another_is_stopped(launch, client, run_id):
    job = launch("exec", "--run-id", run_id, "--", *PY, ECHO)
    job.hear("up")
    client.finish(run_id, "failed", attempt=1, resumable=True)
    client.resume(run_id)
    job.wait()
    run = client.get(run_id).run
    assert (run.state, run.attempt) == ("running", 2)
    client.cancel(run_id, force=True)


def test_a_key_runs_its_command_once(baton, client, run_id, tmp_path):
    command = ("exec", "--key", run_id, "--", "sh", "-c", f"echo ran >> {tmp_path}/log; exit 3")
    assert "run before" in (baton(*command, expect=3), baton(*command, expect=3))[1].stderr
    assert (tmp_path / "log").read_text() == "ran\n"


def test_what_can_not_be_started_is_not_run(baton, tmp_path):
    done = baton("exec", "--", "touch", f"{tmp_path}/ran", url="http://127.0.0.1:9", expect=1)
    assert "no answer from http://127.0.0.1:9" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_the_command_can_speak_in_its_own_run(baton, client, run_id):
    own = (
        f"{sys.executable} -m baton_sdk.cli append $BATON_RUN_ID checkpoint --data 3 --attempt $BATON_ATTEMPT"
    )
    baton("exec", "--run-id", run_id, "--", "sh", "-c", own)
    assert [event.data for event in client.follow(run_id) if event.type == "checkpoint"] == [3]


def test_the_network_may_go_away_and_no_line_is_lost_or_doubled(launch, client, wire, run_id):
    job = launch("exec", "--run-id", run_id, "--", *PY, ECHO, url=wire.url)
    job.hear("up")
    said = []
    for outage in range(4):
        for number in range(20):
            said.append(f"{outage}-{number}")
            job.say(f"{said[-1]}\n")
            if number == 10:
                wire.cut()
        job.hear(f"heard {said[-1]}")
        if outage == 0:
            job.hear("the output is kept", "err")
        wire.up()
    job.say_no_more()
    assert job.wait() == 0
    events = list(client.follow(run_id))
    assert output(events) == "up\n" + "".join(f"heard {word}\n" for word in said)
    assert client.get(run_id).run.state == "completed"


def test_a_command_that_ends_while_the_network_is_away_is_settled_when_it_is_back(
    launch, client, wire, run_id
):
    job = launch("exec", "--run-id", run_id, "--", *PY, ECHO, url=wire.url)
    job.hear("up")
    wire.cut()
    job.say("last words\n")
    job.say_no_more()
    job.hear("the output is kept", "err")
    wire.up()
    assert job.wait() == 0
    run = client.get(run_id).run
    assert run.state == "completed"
    assert output(client.follow(run_id)) == "up\nheard last words\n"


def test_a_server_that_stays_away_is_given_up_after_the_patience(launch, wire, run_id):
    job = launch("exec", "--run-id", run_id, "--patience", "0.5", "--", *PY, ECHO, url=wire.url)
    job.hear("up")
    wire.cut()
    job.say("words\n")
    assert job.wait() == 128 + signal.SIGTERM
    job.hear("the log takes no more", "err")
    job.hear("is not settled", "err")


def test_a_third_interrupt_leaves_at_once_though_nobody_can_be_told(launch, wire, run_id):
    job = launch("exec", "--run-id", run_id, "--", *PY, STUBBORN.replace("SIGTERM", "SIGINT"), url=wire.url)
    job.hear("up")
    wire.cut()
    job.signal(signal.SIGINT)
    job.hear("no")
    job.signal(signal.SIGINT)
    job.hear("killed", "err")  # two signals that come together are one
    job.hear("trying again", "err")
    job.signal(signal.SIGINT)
    assert job.wait() == 130
    job.hear("may not be settled", "err")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_start_leaves_no_run_without_a_driver(number, launch, wire, client, run_id):
    def interrupt(data):
        if data.startswith(b"POST /v1/runs HTTP"):
            job.signal(number)

    wire.before = interrupt
    job = launch("exec", "--run-id", run_id, "--", *PY, "print('began')", url=wire.url)
    assert job.wait() == 128 + number
    run = client.get(run_id).run
    assert (run.state, run.resumable, job.out) == ("cancelled", True, [])
    job.hear("will not begin", "err")


def test_signals_while_the_run_is_settled_are_told_the_truth(launch, wire, run_id):
    def interrupt(data):
        if b"/finish HTTP" in data:
            job.signal(signal.SIGINT)
            job.hear("the command has ended", "err")
            job.signal(signal.SIGHUP)
            job.hear("may not be settled", "err")

    wire.before = interrupt
    job = launch("exec", "--run-id", run_id, "--", "true", url=wire.url)
    assert job.wait() == 128 + signal.SIGHUP
    job.hear("may not be settled", "err")
    assert not [line for line in job.err if "told" in line or "killed" in line]


def test_a_reader_of_the_output_who_leaves_does_not_end_the_run(client, run_id, stack):
    exec_ = f"{sys.executable} -m baton_sdk.cli exec -q --run-id {run_id} -- seq 20000"
    piped = f"{exec_} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", piped], capture_output=True, text=True, timeout=60, env=environment(stack.url)
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert output(client.follow(run_id)).endswith("19999\n20000\n")


def test_json_lines_tell_the_whole_story(baton, run_id):
    done = baton(
        "exec", "--json", "--run-id", run_id, "--", "sh", "-c", "echo out; echo err >&2; exit 2", expect=2
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["type"] for line in lines][::3] == ["run", "outcome"]
    assert sorted((line["type"], line["data"]["line"]) for line in lines[1:-1]) == [
        ("stderr", "err"),
        ("stdout", "out"),
    ]
    assert (lines[-1]["exit_code"], lines[-1]["finished"], lines[-1]["run"]["state"]) == (2, True, "failed")
    assert done.stderr == ""
