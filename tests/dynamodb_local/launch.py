"""Run one DynamoDB Local, in memory, for as long as a `with` block lasts."""

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.dynamodb_local.install import Unavailable, install, java

START_SECONDS = 60.0
STOP_SECONDS = 10.0
# Between choosing a free port and Java taking it, another process may.
TRIES = 3


@contextmanager
def serving() -> Iterator[str]:
    """Yield the endpoint URL of a fresh, empty DynamoDB Local; it is gone when the block ends.

    Every pair of access key and region sees tables of its own. Raises Unavailable if it does not come up.
    """
    home, launcher = install(), java()
    with tempfile.TemporaryFile("w+") as output:
        process, port = _start(launcher, home, output)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            _stop(process)


def _start(launcher: str, home: Path, output: IO[str]) -> tuple[subprocess.Popen[str], int]:
    for _ in range(TRIES):
        port = _free_port()
        process = subprocess.Popen(
            [
                launcher,
                "-Xmx1g",
                "-Djava.library.path=DynamoDBLocal_lib",
                "-jar",
                "DynamoDBLocal.jar",
                "-inMemory",
                "-disableTelemetry",
                "-port",
                str(port),
            ],
            cwd=home,
            env=os.environ | {"DDB_LOCAL_TELEMETRY": "0"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if _answers(process, port):
            return process, port
        _stop(process)
    output.seek(0)
    raise Unavailable(f"DynamoDB Local did not come up in {TRIES} tries; it said:\n{output.read()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(process: subprocess.Popen[str], port: int) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except OSError:
            time.sleep(0.05)  # noqa: TID251 - another process comes up: there is no clock to hand in
        else:
            return process.poll() is None
    return False


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
