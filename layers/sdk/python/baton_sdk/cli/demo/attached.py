"""One ``baton exec`` of the demo, as a process of its own, and what a client that follows it has seen."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from baton_sdk.client import Client
from baton_sdk.errors import BatonError, Fault
from baton_sdk.log import START, Event

PATIENCE_SECONDS = 60.0
STOP_SECONDS = 10.0


class Exec:
    """``baton exec OPTIONS -- COMMAND`` against ``url``; ``lines`` is its standard output, line by line."""

    def __init__(
        self, url: str, options: Sequence[str], command: Sequence[str], *, cwd: Path, env: dict[str, str]
    ) -> None:
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "baton_sdk.cli",
                "--url",
                url,
                "exec",
                "--quiet",
                *options,
                "--",
                *command,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **env},
            text=True,
            start_new_session=True,
        )
        self._errors: list[str] = []
        self._readers = [
            threading.Thread(target=self._collect, args=pair, daemon=True)
            for pair in ((self._process.stdout, self.lines), (self._process.stderr, self._errors))
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _collect(pipe: Sequence[str], into: list[str]) -> None:
        into.extend(line.removesuffix("\n") for line in pipe)

    def wait(self) -> int:
        """Its exit code. Raises Fault when it does not end."""
        try:
            code = self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise Fault(f"`baton exec` did not end within {PATIENCE_SECONDS:g} s") from None
        for reader in self._readers:
            reader.join(5)
        return code

    def complaint(self) -> str:
        """What it said on standard error."""
        return " / ".join(self._errors)

    def stop(self) -> None:
        """End it, if it still runs."""
        if self._process.poll() is not None:
            return
        self._process.terminate()  # which it passes on: nothing is left behind
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Tail:
    """Follows a run in a thread of its own, from ``offset`` to its end."""

    def __init__(
        self, url: str, run_id: str, offset: str = START, see: Callable[[Event], None] | None = None
    ) -> None:
        self.events: list[Event] = []
        self.offset = offset
        self._client = Client(url)
        self._run_id = run_id
        self._see = see
        self._error: BatonError | None = None
        self._grown = threading.Condition()
        self._over = False
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        follower = self._client.follow(self._run_id, self.offset)
        try:
            for event in follower:
                with self._grown:
                    self.events.append(event)
                    self._grown.notify_all()
                if self._see is not None:
                    self._see(event)
        except BatonError as error:
            self._error = error
        finally:
            self.offset = follower.offset
            with self._grown:
                self._over = True
                self._grown.notify_all()

    def wait_for_lines(self, count: int) -> None:
        """Block until ``count`` lines of output have come. Raises Fault when the log ends or stalls
        before."""
        with self._grown:
            self._grown.wait_for(lambda: self._over or self._has_lines(count), PATIENCE_SECONDS)
            if not self._has_lines(count):
                why = self._error or "it stalled"
                raise Fault(f"{self._run_id}: {count} lines of output did not come; {why}")

    def _has_lines(self, count: int) -> bool:
        return len(output_lines(self.events)) >= count

    def to_the_end(self) -> list[Event]:
        """Every event. Raises what broke the following."""
        self._thread.join(PATIENCE_SECONDS)
        self._client.close()
        if self._error is not None:
            raise self._error
        if not self._over:
            raise Fault(f"the log of {self._run_id} did not end")
        return self.events


def output_lines(events: Sequence[Event]) -> list[str]:
    """The lines of standard output that a log holds."""
    return [event.data["line"] for event in events if event.type == "stdout"]
