"""`python -m infra.local`: what it says, what it refuses, how it ends."""

import os
import pty
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest

from infra.local.testing import CHECKOUT, child_stack

SECONDS = 30


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "infra.local", *arguments],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_stop_it_ends_live_streams_and_exits_0_without_a_traceback(number):
    with child_stack("--quiet", stderr=subprocess.PIPE) as child, httpx.Client(base_url=child.url) as client:
        run_id = client.post("/v1/runs", json={"workflow": "w"}).json()["run"]["id"]
        query = {"live": "sse", "offset": "-1"}
        with client.stream("GET", f"/v1/runs/{run_id}/stream", params=query) as stream:
            chunks = stream.iter_raw()
            next(chunks)
            child.process.send_signal(number)
            for _ in chunks:
                pass
        assert child.process.wait(SECONDS) == 0
        assert child.process.stderr is not None
        said = child.process.stderr.read()
    assert "stopping" in said
    assert "Traceback" not in said


@contextmanager
def stack_that_can_not_drain():
    """A stack, while a request whose body does not come keeps it from ending in order for some seconds."""
    with child_stack("--quiet", stderr=subprocess.PIPE) as child:
        url = httpx.URL(child.url)
        with socket.create_connection((url.host, url.port)) as stalled:
            stalled.sendall(b"POST /v1/runs HTTP/1.1\r\nhost: b\r\ncontent-length: 9\r\n\r\n")
            assert httpx.get(f"{child.url}/v1/stats").is_success, "what came before it is in flight, too"
            yield child


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_does_not_wait(number):
    with stack_that_can_not_drain() as child:
        child.process.send_signal(number)
        assert child.process.stderr is not None
        assert "stopping" in child.process.stderr.readline()
        child.process.send_signal(number)
        assert child.process.wait(SECONDS) == 128 + number


def test_a_second_signal_does_not_wait_though_it_comes_with_the_first():
    with stack_that_can_not_drain() as child:
        child.process.send_signal(signal.SIGINT)
        child.process.send_signal(signal.SIGTERM)
        assert child.process.wait(SECONDS) == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--host", "0.0.0.0"], "loopback"),
        (["--setting", "due_shards=many"], "due_shards"),
        (["--setting", "nothing=1"], "nothing"),
        (["--setting", "poll_seconds"], "NAME=VALUE"),
        (["--auth"], "is none: say --token-file FILE"),
        (["--token-file", "admin.token"], "without --auth there is no token"),
        (["--auth", "--token-file", "/dev/null"], "stays as it is"),
    ],
)
def test_what_it_can_not_do_is_a_usage_error_that_names_it(arguments, named):
    done = run(*arguments)
    assert done.returncode == 2
    assert named in done.stderr
    assert "Traceback" not in done.stderr


def test_the_first_token_is_told_once_on_a_terminal_and_in_no_log():
    ours, theirs = pty.openpty()
    asking = [sys.executable, "-m", "infra.local", "--port", "0", "--auth", "--verbose"]
    with (
        subprocess.Popen(asking, cwd=CHECKOUT, stdout=theirs, stderr=subprocess.PIPE, text=True) as process,
        os.fdopen(ours, "rb") as terminal,
    ):
        os.close(theirs)
        told, token, ready = (terminal.readline().decode().strip() for _ in range(3))
        url = ready.partition("ready at ")[2].partition(" ")[0]
        with httpx.Client(base_url=url) as client:
            assert client.get("/v1/tokens").status_code == 401
            assert client.get("/v1/tokens", headers={"authorization": f"Bearer {token}"}).is_success
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=SECONDS)
    assert "told this once" in told
    assert "/v1/tokens" in log and token.rpartition("_")[2] not in log


def test_a_port_that_is_taken_is_said_in_one_line(stack):
    done = run("--port", stack.url.rpartition(":")[2])
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("baton: can't listen on 127.0.0.1:")
    assert done.stderr.count("\n") == 1


def test_a_dynamodb_that_is_not_there_is_said_in_one_line():
    done = run("--port", "0", "--endpoint-url", "http://127.0.0.1:9")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("baton: can't work with the DynamoDB at http://127.0.0.1:9:")
    assert done.stderr.count("\n") == 1
