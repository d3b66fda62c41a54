"""What ``exec`` says on stderr beside the command's own output: little."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from baton_sdk.cli.outage import Outage


class Notices:
    """Lines beginning ``baton:``; ``outage`` is told of requests that are repeated. For any thread."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self.outage = Outage(self.say, "the output is kept, trying again")

    def say(self, text: str) -> None:
        """Something about the run; not when quiet."""
        if not self._quiet:
            self.warn(text)

    def say_in_handler(self, text: str) -> None:
        """As ``say``, for a signal's handler: it may interrupt a write to the very same buffer."""
        if not self._quiet:
            with suppress(OSError):
                os.write(2, f"baton: {text}\n".encode())

    def warn(self, text: str) -> None:
        """Something that must be known."""
        sys.stderr.write(f"baton: {text}\n")
        sys.stderr.flush()
