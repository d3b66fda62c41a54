"""A local stack of the demo's own: started on a free port, waited for, stopped whatever happens."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from baton_sdk.cli.dev import stack_command, stack_environment
from baton_sdk.client import Client
from baton_sdk.errors import BatonError, Fault
from baton_sdk.retry import RetryPolicy

READY_WITHIN_SECONDS = 30.0
STOP_WITHIN_SECONDS = 10.0
_EAGER = RetryPolicy(
    attempts=None, patience_seconds=READY_WITHIN_SECONDS, first_wait_seconds=0.05, longest_wait_seconds=0.2
)
_ONE_TRY = RetryPolicy(attempts=1)


@contextmanager
def own_stack(root: Path) -> Iterator[tuple[str, float]]:
    """The URL of a stack that serves, and how many seconds it took. Raises Fault when it does not come up."""
    url = f"http://127.0.0.1:{_free_port()}"
    command = stack_command(int(url.rpartition(":")[2]))
    with tempfile.TemporaryFile() as said:
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            env=stack_environment(root),
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            # A Ctrl-C is the demo's: it ends what still runs, and then the stack.
            start_new_session=True,
        )
        try:
            _wait_until_serving(url, process)
            yield url, time.monotonic() - began
        except BatonError as error:
            said.seek(0)
            lines = said.read().decode(errors="replace").splitlines()[-15:]
            raise Fault("\n  ".join([f"{error}; the stack said:", *lines])) from error
        finally:
            _stop(process)


def _wait_until_serving(url: str, process: subprocess.Popen[bytes]) -> None:
    def serving_or_dead() -> None:
        if process.poll() is not None:
            raise Fault(f"the local stack ended at once, with exit code {process.returncode}")
        client.health()

    with Client(url, retry=_ONE_TRY, timeout=5.0) as client:
        _EAGER.retrying(lambda error: isinstance(error, BatonError) and error.retryable)(serving_or_dead)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_WITHIN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
