"""The signals that end ``exec``: taken from before the start until the last word, and what each of them
does."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

from baton_sdk.cli.exec.child import Stopper

INTERRUPT = "interrupt"
_TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Leave(KeyboardInterrupt):
    """Raised in the main thread by the signal that leaves at once."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


class Signals:
    """Use it as a context manager. A signal does first and speaks then, and does what the last one said it
    would: before the command it keeps it from beginning; then the first is passed on and the second kills;
    after the command it changes nothing. What has been announced as leaving leaves."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._first: int | None = None
        self._stopper: Stopper | None = None
        self._passed_on = False
        self._leaves = False
        self._held: list[int] | None = None
        self._before: dict[int, Any] = {}
        self.left = False
        """Whether one has raised Leave."""

    def __enter__(self) -> Self:
        # What is ignored stays ignored, also by the command: whoever called us (nohup, a shell's &) wants it.
        taken = [number for number in _TAKEN if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._on_signal) for number in taken}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def asked(self) -> bool:
        """Whether one has come."""
        return self._first is not None

    @property
    def exit_code(self) -> int:
        """128 and the number of the first that came; 1 while none has."""
        return 1 if self._first is None else 128 + self._first

    @property
    def stopping(self) -> bool:
        """Whether anybody, by a signal or not, has asked for the end."""
        return self.asked or (self._stopper is not None and self._stopper.reason is not None)

    def hold(self) -> None:
        """Only remember what comes: a command that is being started can't be told anything yet."""
        self._held = []

    def release(self, stopper: Stopper | None = None) -> None:
        """Do what came meanwhile. From now on signals reach ``stopper``, if there is one."""
        self._stopper = stopper
        held, self._held = self._held or [], None
        for number in held:
            self._do(number)

    def nothing_left(self) -> None:
        """All is done but to be read: the next one leaves."""
        self._leaves = True

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._held is not None:
            self._held.append(number)
        else:
            self._do(number)

    def _do(self, number: int) -> None:
        self._first = self._first or number
        if self._leaves:
            self.left = True
            raise Leave(number)
        if self._stopper is None:
            self._leaves = True
            self._say("the command will not begin; once more leaves at once, its run maybe unsettled")
            return
        whom = self._stopper.whom
        if not self._passed_on and self._stopper.stop(INTERRUPT, number):
            self._passed_on = True
            self._say(f"told {whom} to stop; once more kills it")
        elif self._stopper.kill():
            self._leaves = True
            self._say(f"killed {whom}; once more leaves the run, maybe unsettled")
        else:
            self._leaves = True
            self._say("the command has ended; settling its run; once more leaves it, maybe unsettled")
