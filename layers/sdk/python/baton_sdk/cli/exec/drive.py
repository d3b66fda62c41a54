"""Drives a run with a command: start it, carry its output, pass signals on, and settle the run whatever
happens."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton_sdk.cli.exec import watch
from baton_sdk.cli.exec.child import Child, Result, Stopper
from baton_sdk.cli.exec.lines import Piece
from baton_sdk.cli.exec.notices import Notices
from baton_sdk.cli.exec.outlet import Screen
from baton_sdk.cli.exec.pump import Pump
from baton_sdk.cli.exec.signals import INTERRUPT, Leave, Signals
from baton_sdk.client import Client
from baton_sdk.errors import BatonError, LeaseLost, NotAllowed, RunTerminal
from baton_sdk.log import START
from baton_sdk.retry import RetryPolicy
from baton_sdk.run import Run, Started
from baton_sdk.writer import Writer

LOG_LOST = "log lost"
CANCELLING = frozenset({watch.CANCEL, INTERRUPT})

NOT_FOUND = 127
NOT_EXECUTABLE = 126


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The command and how patient to be with it and with the network."""

    command: Sequence[str]
    grace_seconds: float
    patience_seconds: float
    drain_seconds: float = 5.0


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What became of the run and what ``exec`` exits with. ``run`` is None when nobody could be told."""

    exit_code: int
    run: Run | None
    finished: bool


class Drive:
    """One command driving one run. ``render`` makes of each line what goes to stdout instead of the bytes as
    they come."""

    def __init__(
        self,
        client: Client,
        started: Started,
        plan: Plan,
        signals: Signals,
        screen: Screen,
        notices: Notices,
        render: Callable[[str, Piece], bytes] | None,
    ) -> None:
        self._client = client
        self._run = started.run
        self._tail = started.tail
        self._plan = plan
        self._signals = signals
        self._screen = screen
        self._notices = notices
        self._render = render
        self._retry = RetryPolicy(attempts=None, patience_seconds=plan.patience_seconds)
        self._child: Child | None = None
        self._stopper: Stopper | None = None
        self._writer: Writer | None = None
        self._lookout: watch.Watch | None = None
        self._log_lost: BatonError | None = None

    def to_the_end(self) -> Ending:
        """Run the command and settle the run."""
        try:
            return self._to_the_end()
        except Leave as left:
            self._notices.warn(f"gave up, {self._run.id} may not be settled: `baton finish` does that")
            return Ending(exit_code=left.exit_code, run=None, finished=False)

    def _to_the_end(self) -> Ending:
        self._signals.hold()  # either it keeps the command from beginning, or it reaches it
        if self._run.cancel_requested is not None or self._signals.asked:
            self._signals.release()
            if self._run.cancel_requested is not None:
                self._notices.warn("a cancel was asked for before the command began: not started")
            return self._settle({"status": "cancelled", "resumable": True}, exit_code=self._signals.exit_code)
        try:
            child = self._child = Child(self._plan.command, self._environment())
        except OSError as exc:
            self._signals.release()
            code = NOT_FOUND if isinstance(exc, FileNotFoundError) else NOT_EXECUTABLE
            self._notices.warn(f"can't run {self._plan.command[0]}: {exc.strerror}")
            error = {"message": str(exc), "type": "spawn"}
            return self._settle({"status": "failed", "code": code, "error": error}, exit_code=code)
        result = self._carry(child)
        if isinstance(self._log_lost, LeaseLost):
            self._notices.warn(f"another driver has taken over {self._run.id}: stopped, nothing settled")
            return Ending(exit_code=result.exit_code, run=self._log_lost.run, finished=False)
        ending = self._settle(self._outcome(result), exit_code=result.exit_code)
        if ending.run is not None and self._lookout is not None:
            self._lookout.join()
        return ending

    def _carry(self, child: Child) -> Result:
        """The command from its first to its last byte, all of it in the log when this returns."""
        self._stopper = stopper = Stopper(child, self._plan.grace_seconds)
        try:
            return self._carried(child, stopper)
        except BaseException:
            stopper.kill()
            if self._writer is not None:
                self._writer.abort()
            raise
        finally:
            child.close()

    def _carried(self, child: Child, stopper: Stopper) -> Result:
        self._signals.release(stopper)
        self._writer = self._client.writer(
            self._run.id,
            attempt=self._run.attempt,
            tail=self._tail,
            retry=self._retry,
            listener=self._notices.outage,
            on_failure=self._lose_log,
        )
        follower = self._client.follow(self._run.id, self._run.next_offset or START, retry=self._retry)
        self._lookout = watch.Watch(follower, self._react)
        self._lookout.start()
        outlets = {"stdout": self._screen.stdout, "stderr": self._screen.stderr}
        pump = Pump(
            child,
            self._emit,
            {} if self._render else outlets,
            hurried=self._hurried,
            drain_seconds=self._plan.drain_seconds,
        )
        try:
            if not pump.run():
                self._notices.warn("the command left processes behind that hold its output: not waiting")
            result = child.result()
        finally:
            self._lookout.off()
            stopper.done()
        self._close_log()
        return result

    def _emit(self, name: str, piece: Piece) -> None:
        if self._render is not None:
            self._screen.stdout.pass_on(self._render(name, piece), self._hurried)
        if self._log_lost is not None or self._writer is None:
            return
        try:
            self._writer.emit(name, piece.data())
        except BatonError as error:
            self._lose_log(error)

    def _close_log(self) -> None:
        if self._writer is None or self._log_lost is not None:
            return
        try:
            self._writer.close()
        except BatonError as error:
            self._lose_log(error)

    def _lose_log(self, error: BatonError) -> None:
        # Without a log there is no run to drive: a fenced-out or unheard driver stops.
        if self._log_lost is not None:
            return
        self._log_lost = error
        told = self._stopper is not None and self._stopper.stop(LOG_LOST)
        self._notices.warn(f"the log takes no more: {error}{'; stopping the command' if told else ''}")

    def _react(self, what: str, why: str) -> None:
        if self._stopper is not None:
            told = self._stopper.stop(what)
            self._notices.say(f"{why}; {'stopping the command' if told else 'the command has ended'}")

    def _hurried(self) -> bool:
        # A reader is waited for as long as the command may wait with us.
        ended = self._child is not None and self._child.exited
        return ended or self._signals.stopping or self._log_lost is not None

    def _outcome(self, result: Result) -> dict[str, Any]:
        known: dict[str, Any] = {"code": result.code, "signal": result.signal}
        reason = self._stopper.reason if self._stopper is not None else None
        if reason in CANCELLING:
            return {"status": "cancelled", "resumable": True, **known}
        if self._log_lost is not None and not isinstance(self._log_lost, RunTerminal):
            error = {"message": f"the log could not be written: {self._log_lost}"[:1000], "type": "log"}
            return {"status": "failed", "resumable": True, "error": error, **known}
        if result.code == 0:
            return {"status": "completed", **known}
        message = f"killed by {result.signal}" if result.signal else f"exit code {result.code}"
        kind = "signal" if result.signal else "exit"
        return {"status": "failed", "error": {"message": message, "type": kind}, **known}

    def _settle(self, outcome: Mapping[str, Any], *, exit_code: int) -> Ending:
        try:
            answer = self._client.finish(
                self._run.id,
                attempt=self._run.attempt,
                tail=self._writer.tail if self._writer is not None else self._tail,
                retry=self._retry,
                listener=self._notices.outage,
                **outcome,
            )
        except BatonError as error:
            then = "; with another token `baton finish` does that" if isinstance(error, NotAllowed) else ""
            self._notices.warn(f"{self._run.id} is not settled as {outcome['status']}: {error}{then}")
            return Ending(exit_code=exit_code or 1, run=error.run, finished=False)
        if not answer.finished:
            self._notices.warn(f"{self._run.id} had been settled before, as {answer.run.state}")
        return Ending(exit_code=exit_code, run=answer.run, finished=answer.finished)

    def _environment(self) -> dict[str, str]:
        address = self._client.address
        told = {
            "BATON_URL": address.url,
            "BATON_NAMESPACE": address.namespace,
            "BATON_RUN_ID": self._run.id,
            "BATON_ATTEMPT": str(self._run.attempt),
        }
        return {name: value for name, value in told.items() if value is not None}


def command_name(command: Sequence[str]) -> str:
    """A command's own name, without its folder."""
    return os.path.basename(command[0])  # noqa: PTH119 - a command, not a file's path
