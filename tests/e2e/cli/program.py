"""A command line that runs while the test goes on: its input is the test's, its output is collected."""

from __future__ import annotations

import subprocess
import threading
from contextlib import suppress

GUARD_SECONDS = 60


class Program:
    def __init__(self, command, env):
        self.out: list[str] = []
        self.err: list[str] = []
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="backslashreplace",
            env=env,
        )
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._in, self._out, self._err = (pipe for pipe in pipes if pipe is not None)
        self._grown = threading.Condition()
        self._over = 0
        self._readers = [
            threading.Thread(target=self._read, args=pair, daemon=True)
            for pair in ((self._out, self.out), (self._err, self.err))
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, pipe, into):
        for line in pipe:
            with self._grown:
                into.append(line.rstrip("\n"))
                self._grown.notify_all()
        with self._grown:
            self._over += 1
            self._grown.notify_all()

    def say(self, text):
        self._in.write(text)
        self._in.flush()

    def say_no_more(self):
        self._in.close()

    def hear(self, text, stream="out"):
        """Wait until the output (or ``err``) has a line with ``text``."""
        lines = getattr(self, stream)
        with self._grown:
            heard = self._grown.wait_for(
                lambda: any(text in line for line in lines) or self._over == 2, GUARD_SECONDS
            )
        assert heard and any(text in line for line in lines), (text, self.out, self.err)

    def signal(self, number):
        self._process.send_signal(number)

    def wait(self):
        code = self._process.wait(GUARD_SECONDS)
        for reader in self._readers:
            reader.join(GUARD_SECONDS)
        return code

    def end(self):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join(GUARD_SECONDS)
        for pipe in (self._in, self._out, self._err):
            with suppress(BrokenPipeError):
                pipe.close()
