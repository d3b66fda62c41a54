"""The command as a process group of its own, and how it is stopped: a signal, and SIGKILL after a grace."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO


class Child:
    """A started command. In a session of its own, so a terminal's Ctrl-C reaches it once, through us."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            list(command),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            env={**os.environ, **env},
        )
        self.stdout = _pipe(self._process.stdout)
        self.stderr = _pipe(self._process.stderr)

    @property
    def exited(self) -> bool:
        """Whether the command itself has ended (what it left behind may still run)."""
        return self._process.poll() is not None

    def send(self, number: int) -> bool:
        """Signal the whole group. False when there is nobody any more."""
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def result(self) -> Result:
        """Wait for the command's end."""
        return Result(self._process.wait())

    def close(self) -> None:
        """Let go of the pipes."""
        self.stdout.close()
        self.stderr.close()


class Result:
    """How a command ended."""

    def __init__(self, returncode: int) -> None:
        self.code = returncode if returncode >= 0 else None
        self.signal = None if returncode >= 0 else _signal_name(-returncode)
        self.exit_code = returncode if returncode >= 0 else 128 - returncode
        """As a shell tells it: 128 and the signal's number for a signal."""


class Stopper:
    """Stops a child once, for the first reason given; kills it when the grace has passed. What a child that
    has ended left of its group is told, too, while it holds the output open; that is no reason: the child's
    own outcome counts."""

    def __init__(self, child: Child, grace_seconds: float) -> None:
        self.reason: str | None = None
        self._child = child
        self._grace = grace_seconds
        self._timer: threading.Timer | None = None
        self._over = False
        self._lock = threading.RLock()  # re-entrant: a signal handler may come in the middle

    @property
    def whom(self) -> str:
        """Who is there to be told."""
        return "what the command left behind" if self._child.exited else "the command"

    def stop(self, reason: str, number: int = signal.SIGTERM) -> bool:
        """Ask it to end. False when nobody is there any more; True when it is told now or has been before."""
        with self._lock:
            if self._over:
                return False
            if self.reason is not None and not self._child.exited:
                return True
            ended = self._child.exited
            if not self._child.send(number):
                return False
            if not ended:
                self.reason = reason
                self._timer = threading.Timer(min(self._grace, threading.TIMEOUT_MAX), self.kill)
                self._timer.daemon = True
                self._timer.start()
            return True

    def kill(self) -> bool:
        """End the group without asking. False when nobody is there any more."""
        with self._lock:
            return not self._over and self._child.send(signal.SIGKILL)

    def done(self) -> None:
        """The command and its output have ended: no signal is due any more, but to what is left of a group
        that was to stop."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self.reason is not None:
                self.kill()
            self._over = True


def _pipe(found: IO[bytes] | None) -> IO[bytes]:
    assert found is not None
    os.set_blocking(found.fileno(), False)
    return found


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"SIG{number}"
