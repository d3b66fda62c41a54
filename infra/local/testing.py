"""A local stack for tests: in this process, or as the child process that a user would start."""

from __future__ import annotations

import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from baton.bootstrap import Runtime
from baton.domain.clock import Clock
from infra.local.functions import FOLDER, Invoker
from infra.local.settings import local_settings
from infra.local.stack import Options, Stack
from infra.manifest import FUNCTIONS, Function

CHECKOUT = Path(__file__).parents[2]
STOP_SECONDS = 20.0


@contextmanager
def running_stack(
    *,
    endpoint_url: str | None = None,
    clock: Clock | None = None,
    auth: bool = False,
    schedules: bool = True,
    signals: bool = True,
    by_hand: bool = False,
    functions: tuple[Function, ...] = FUNCTIONS,
    folder: Path = FOLDER,
    around: Callable[[Invoker, Runtime], Invoker] = Options.around,
    **settings: Any,
) -> Iterator[Stack]:
    """A stack on a free port, in threads of this process, with tables of its own; the block's end drains it.

    Without ``endpoint_url`` its DynamoDB is moto, for every AWS client that this process makes meanwhile.
    ``settings`` are fields of `baton.config.Settings`.
    """
    own = local_settings(settings, endpoint_url=endpoint_url, suffix=f"-{secrets.token_hex(4)}")
    stack = Stack(
        Options(
            settings=own,
            clock=clock,
            auth=auth,
            schedules=schedules,
            signals=signals,
            by_hand=by_hand,
            functions=functions,
            folder=folder,
            around=around,
        )
    )
    try:
        yield stack
    finally:
        assert stack.stop(), "the stack did not drain"


class Child(NamedTuple):
    """A stack in a process of its own."""

    url: str
    process: subprocess.Popen[str]


@contextmanager
def child_stack(*arguments: str, stderr: int | None = None, **settings: Any) -> Iterator[Child]:
    """``python -m infra.local`` on a free port, ready to serve; told to stop when the block ends.

    ``stderr`` as for `subprocess.Popen`: by default what it says is seen.
    """
    given = [f"--setting={name}={value}" for name, value in settings.items()]
    process = subprocess.Popen(
        [sys.executable, "-m", "infra.local", "--port", "0", *given, *arguments],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )
    assert process.stdout is not None
    with process, process.stdout:
        try:
            said = process.stdout.readline()
            found = re.search(r"http://\S+", said)
            if found is None:
                raise RuntimeError(f"the local stack did not start: {said or 'it said nothing'}")
            yield Child(found[0], process)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
