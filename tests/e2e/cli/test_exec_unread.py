"""``baton exec … | less``, and nobody scrolls: the run is settled all the same."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys

import pytest

from tests.e2e.cli.conftest import environment

GUARD_SECONDS = 60
LINE = "x" * 99
ENDLESS = ("yes", LINE)
ENDLESS_ERR = ("sh", "-c", f"exec yes {LINE} >&2")
STUBBORN = ("sh", "-c", f"trap '' INT; exec yes {LINE}")
ENOUGH = 32 * 1024
"""With what the command's own pipe holds by then, more than the pipe to the reader does."""


@pytest.fixture
def unread(stack):
    """Begin an exec of whose output nothing is read but what the test reads; it is ended with the test."""
    jobs = []

    def unread(*args):
        pipe = subprocess.PIPE
        command = [sys.executable, "-m", "baton_sdk.cli", "exec", *args]
        jobs.append(
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
                bufsize=0,
                env=environment(stack.url),
            )
        )
        return jobs[-1]

    yield unread
    for job in jobs:
        job.kill()
        job.communicate()


def fill(client, run_id):
    """Until the log has so much of the output that whoever only writes it to the reader is stuck."""
    size = 0
    for event in client.follow(run_id):
        if event.type in {"stdout", "stderr"}:
            size += len(event.data["line"]) + 1
        if size >= ENOUGH:
            return


def settled(client, run_id):
    return client.wait(run_id, GUARD_SECONDS).state


def test_a_command_that_has_ended_is_settled_before_anybody_reads(unread, client, run_id):
    job = unread("--run-id", run_id, "--", "seq", "30000")
    assert b"follows it" in job.stderr.readline()
    assert settled(client, run_id) == "completed"
    assert b"completed" in job.stderr.readline()
    assert job.poll() is None  # as any program, it waits for its reader
    out = job.stdout.read()
    assert job.wait(GUARD_SECONDS) == 0
    assert out == b"".join(b"%d\n" % number for number in range(1, 30001))


def test_a_settled_run_is_left_by_a_signal_with_the_commands_own_code(unread, client, run_id):
    job = unread("--run-id", run_id, "--", "sh", "-c", "seq 30000; exit 7")
    job.stderr.readline()
    assert settled(client, run_id) == "failed"
    assert b"failed" in job.stderr.readline()
    job.send_signal(signal.SIGINT)
    assert job.wait(GUARD_SECONDS) == 7
    assert b"nobody read all" in job.stderr.read()


@pytest.mark.parametrize(
    ("options", "command", "heard", "cancel"),
    [
        ((), ENDLESS, "stderr", True),
        ((), ENDLESS, "stderr", False),
        ((), ENDLESS_ERR, "stderr", False),
        (("--json",), ENDLESS, "stdout", False),
    ],
)
def test_a_stop_settles_the_run_whoever_reads(options, command, heard, cancel, unread, client, run_id):
    job = unread(*options, "--run-id", run_id, "--", *command)
    getattr(job, heard).readline()
    fill(client, run_id)
    number = signal.SIGTERM if cancel else signal.SIGINT
    client.cancel(run_id) if cancel else job.send_signal(number)
    assert settled(client, run_id) == "cancelled"
    assert job.wait(GUARD_SECONDS) == 128 + number


def test_a_second_signal_kills_though_nobody_reads_and_the_log_has_what_the_screen_has(
    unread, client, run_id
):
    job = unread("--run-id", run_id, "--", *STUBBORN)
    job.stderr.readline()
    fill(client, run_id)
    job.send_signal(signal.SIGINT)
    assert b"told the command" in job.stderr.readline()
    job.send_signal(signal.SIGINT)
    assert b"killed the command" in job.stderr.readline()
    assert settled(client, run_id) == "cancelled"
    assert job.wait(GUARD_SECONDS) == 128 + signal.SIGKILL
    shown = len(job.stdout.read())
    logged = sum(len(LINE) + 1 for event in client.follow(run_id) if event.type == "stdout")
    assert ENOUGH <= shown <= logged
    assert job.stderr.read().count(b"nobody read all") == 1


def by_shell(stack, line, run_id):
    """What came of a line in which BATON stands for exec."""
    ours = shlex.join([sys.executable, "-m", "baton_sdk.cli", "exec", "--run-id", run_id])
    return subprocess.run(
        ["sh", "-c", line.replace("BATON", ours)],
        env=environment(stack.url),
        capture_output=True,
        timeout=GUARD_SECONDS,
    )


@pytest.mark.parametrize(
    ("closed", "out"), [(">&-", b""), ("2>&-", b"out\n"), (">&- 2>&-", b""), ("<&- >&- 2>&-", b"")]
)
def test_a_stream_that_is_closed_keeps_no_command_from_its_run(closed, out, stack, client, run_id):
    done = by_shell(stack, f"BATON -- sh -c 'echo out; echo err >&2; exit 3' {closed}", run_id)
    assert (done.returncode, done.stdout) == (3, out)
    assert b"Traceback" not in done.stderr
    lines = {
        event.type: event.data["line"] for event in client.follow(run_id) if event.type.startswith("std")
    }
    assert lines == {"stdout": "out", "stderr": "err"}


def test_output_that_can_not_be_written_is_said_and_stands_in_the_log(stack, client, run_id):
    done = by_shell(stack, "BATON -- echo out >/dev/full", run_id)
    assert b"No space left" in done.stderr
    assert [event.data["line"] for event in client.follow(run_id) if event.type == "stdout"] == ["out"]


def test_a_signal_that_is_ignored_stays_ignored(stack, client, run_id):
    line = "trap '' HUP; BATON -- sh -c 'kill -HUP $PPID; kill -HUP $$; echo on'"
    done = by_shell(stack, line, run_id)
    assert (done.returncode, done.stdout) == (0, b"on\n")
    assert client.get(run_id).run.state == "completed"
