from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from baton_sdk import Client
from baton_sdk.cli.app import app
from tests.e2e.cli.program import Program
from tests.e2e.cli.wire import Wire

GUARD_SECONDS = 60


@pytest.fixture
def client(stack) -> Iterator[Client]:
    with Client(stack.url) as client:
        yield client


@pytest.fixture
def baton(stack, monkeypatch):
    """Run a command line to its end against the stack, in this process."""

    def baton(*args, url=None, stdin="", expect=0):
        for name, value in environment(url or stack.url).items():
            monkeypatch.setenv(name, value)
        done = CliRunner().invoke(app, list(args), input=stdin, catch_exceptions=False)
        assert expect is None or done.exit_code == expect, done.output
        return done

    return baton


@pytest.fixture
def baton_process(stack):
    """Run a command line to its end against the stack, as a process of its own."""

    def baton_process(*args, url=None, expect=0, seconds=GUARD_SECONDS):
        done = subprocess.run(
            [sys.executable, "-m", "baton_sdk.cli", *args],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            env=environment(url or stack.url),
        )
        # Decoded here, not by the pipe, which would make every line's end the same.
        said = SimpleNamespace(
            stdout=done.stdout.decode(errors="backslashreplace"),
            stderr=done.stderr.decode(errors="backslashreplace"),
        )
        assert done.returncode == expect, said
        return said

    return baton_process


@pytest.fixture
def launch(stack) -> Iterator:
    """Begin a command line whose standard input the test holds; it is ended with the test."""
    with ExitStack() as ends:

        def launch(*args, url=None) -> Program:
            program = Program([sys.executable, "-m", "baton_sdk.cli", *args], environment(url or stack.url))
            ends.callback(program.end)
            return program

        yield launch


@pytest.fixture
def wire(stack) -> Iterator[Wire]:
    """A network to the stack that can be cut: use its url."""
    with Wire(stack.url) as wire:
        yield wire


@pytest.fixture
def run_id(request) -> str:
    return f"e2e-{os.getpid()}-{next(_NUMBERS)}"


_NUMBERS = itertools.count()


def environment(url):
    # Python leaves its bytecode about, as it does for a user, whatever this shell has told it.
    ours = ("BATON_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    paths = [str(Path("layers/sdk/python").resolve()), os.environ.get("PYTHONPATH")]
    return kept | {"BATON_URL": url, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
