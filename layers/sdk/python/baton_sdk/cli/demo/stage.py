"""What every scene of the demo stands on: the service it plays against, and how it says and checks things."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from rich.console import Console
from rich.text import Text

from baton_sdk.client import Client
from baton_sdk.errors import Fault

T = TypeVar("T")

LOOK_SECONDS = 0.05
PATIENCE_SECONDS = 20.0


class Stage:
    """The service at ``url`` and the audience at ``console``; ``mark`` tells the names of this play from
    others'. Use it as a context manager."""

    def __init__(self, console: Console, url: str, mark: str) -> None:
        self.console = console
        self.url = url
        self.client = Client(url)
        self.mark = mark

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()

    def scene(self, title: str) -> None:
        """A new scene begins."""
        self.console.print(Text(f"\n{title}", style="bold"))

    def say(self, text: str) -> None:
        """Something happens."""
        self.console.print(Text(f"  · {text}", style="cyan"))

    def expect(self, holds: bool, what: str) -> None:
        """Show a promise that was kept. Raises Fault at one that was not."""
        if not holds:
            raise Fault(f"the demo went wrong: expected that {what.strip()}")
        self.console.print(Text.assemble(("  ✓ ", "green"), what.strip()))

    def until(self, look: Callable[[], T | None], what: str) -> T:
        """What ``look`` finds, as soon as it finds it. Raises Fault when it does not in time."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (found := look()) is None:
            if time.monotonic() > deadline:
                raise Fault(f"the demo went wrong: {what} did not come within {PATIENCE_SECONDS:g} s")
            time.sleep(LOOK_SECONDS)
        return found
