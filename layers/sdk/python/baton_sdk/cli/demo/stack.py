"""A local stack of the demo's own: started on a free port, waited for, stopped whatever happens. In it the
publisher of one run dies."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from baton_sdk.cli.dev import stack_command, stack_environment
from baton_sdk.client import Client
from baton_sdk.errors import BatonError, Fault
from baton_sdk.retry import RetryPolicy

MODULE = "infra.local.mishap"
READY_WITHIN_SECONDS = 30.0
STOP_WITHIN_SECONDS = 10.0
_EAGER = RetryPolicy(
    attempts=None, patience_seconds=READY_WITHIN_SECONDS, first_wait_seconds=0.05, longest_wait_seconds=0.2
)
_ONE_TRY = RetryPolicy(attempts=1)


class OwnStack(NamedTuple):
    """A stack that serves at ``url``, ``took`` seconds after its start; ``heard`` tells what it has said."""

    url: str
    took: float
    heard: Callable[[], str]


@contextmanager
def own_stack(root: Path, doomed: str, **settings: float) -> Iterator[OwnStack]:
    """A stack that kills the publisher of the run ``doomed`` once, between its writes. ``settings`` are the
    local stack's, by name. Raises Fault when it does not come up."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    more = ["--doomed", doomed, *(f"--setting={name}={value:g}" for name, value in settings.items())]
    command = stack_command(port, more, module=MODULE)
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
            yield OwnStack(url, time.monotonic() - began, partial(_read, said))
        except BatonError as error:
            lines = _read(said).splitlines()[-15:]
            raise Fault("\n  ".join([f"{error}; the stack said:", *lines])) from error
        finally:
            _stop(process)


def _read(said: IO[bytes]) -> str:
    # Not by seeking: the stack writes where this file stands.
    return os.pread(said.fileno(), os.fstat(said.fileno()).st_size, 0).decode(errors="replace")


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
