"""What ``exec`` says on stderr beside the command's own output: little."""

from __future__ import annotations

from baton_sdk.cli.exec.outlet import Outlet
from baton_sdk.cli.outage import Outage


class Notices:
    """Lines beginning ``baton:``; ``outage`` is told of requests that are repeated. For any thread, and for a
    signal's handler: nothing here waits."""

    def __init__(self, outlet: Outlet, *, quiet: bool) -> None:
        self._outlet = outlet
        self._quiet = quiet
        self.outage = Outage(self.say, "the output is kept, trying again")

    def say(self, text: str) -> None:
        """Something about the run; not when quiet."""
        if not self._quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Something that must be known."""
        self._outlet.say(f"baton: {text}\n".encode(errors="backslashreplace"))
