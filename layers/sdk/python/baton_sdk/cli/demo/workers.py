"""Workers in a scene: two of them, one killed in the middle of a run, and the other goes on from what is
recorded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

from rich.syntax import Syntax

from baton_sdk.cli.demo.stage import Stage
from baton_sdk.cli.demo.timeline import timeline
from baton_sdk.errors import Fault
from baton_sdk.run import Run

APP = """\
import time
from baton_sdk import Context, Worker

worker = Worker()

def trace(word, seconds=0):  # an effect that anyone can count
    with open("effects.txt", "a") as effects:
        effects.write(word + "\\n")
    time.sleep(seconds)
    return len(word)

@worker.workflow("demo-import")
def import_(ctx: Context, input: dict) -> dict:
    rows = ctx.step("fetch", trace, input["source"])
    ctx.step("transform", trace, "transform", 1.0)
    ctx.step("load", trace, "load")
    return {"rows": rows}

@worker.workflow("demo-receipt", on_completed=["demo-import"])
def receipt(ctx: Context, input: dict) -> str:
    return f"{input['run']['output']['rows']} rows imported"
"""
IMPORT, RECEIPT = "demo-import", "demo-receipt"
LEASE_SECONDS = 2.0
SKEW_SECONDS = 0.5
"""In the demo's stack, so that a death is noticed soon."""
STOP_SECONDS = 10.0


class Workers:
    """Plays on ``stage``, its files in ``scratch``."""

    def __init__(self, stage: Stage, scratch: Path) -> None:
        self._stage = stage
        self._client = stage.client
        self._scratch = scratch
        self._working: dict[str, subprocess.Popen[bytes]] = {}
        self.results: dict[str, object] = {}

    def play(self) -> None:
        """Raises Fault at the first deviation; leaves no process behind."""
        stage = self._stage
        stage.scene("Write a worker, start it twice: baton worker app")
        (self._scratch / "app.py").write_text(APP)
        stage.console.print(Syntax(APP, "python", theme="ansi_dark", background_color="default"))
        try:
            for name in ("ann", "bob"):
                self._begin(f"{name}-{stage.mark}")
            run_id, killed = self._one_is_killed()
            self._the_other_goes_on(run_id, killed)
            self._drain()
        finally:
            for process in self._working.values():
                process.kill()
                process.wait()

    def _one_is_killed(self) -> tuple[str, str]:
        stage = self._stage
        run = self._client.start(IMPORT, run_id=f"{IMPORT}-{stage.mark}", input={"source": "orders.csv"}).run
        stage.expect(run.state == "pending", f"{run.id} waits for a worker")
        begun = stage.until(partial(self._in_transform, run.id), f"the second step of {run.id}")
        holder = begun.lease.worker_id if begun.lease is not None else ""
        os.kill(self._working[holder].pid, signal.SIGKILL)
        self._working.pop(holder).wait()
        stage.say(f"{run.id} has its first step recorded; killed {holder} in the second: kill -9")
        return run.id, holder

    def _the_other_goes_on(self, run_id: str, killed: str) -> None:
        stage = self._stage
        run = self._client.wait(run_id, STOP_SECONDS + 4 * LEASE_SECONDS)
        stage.expect((run.state, run.attempt) == ("completed", 2), "the other one has finished it")
        events = list(self._client.stream(run_id))
        (claimed,) = [event for event in events if event.type == "claimed"]
        after = claimed.data["after"]
        stage.expect(after["worker_id"] == killed, f"its log says why: {after['error']['message']}")
        effects = (self._scratch / "effects.txt").read_text().split()
        stage.expect(effects.count("orders.csv") == 1, f"what was recorded was not done again: {effects}")
        stage.console.print(timeline(run, events))
        receipt = stage.until(partial(self._receipt, run_id), f"the {RECEIPT} of {run_id}")
        stage.expect(
            receipt.output == "10 rows imported", f"its {RECEIPT} was started and performed: {receipt.output}"
        )
        self.results = {"import": run_id, "attempts": run.attempt, "effects": effects, "receipt": receipt.id}

    def _drain(self) -> None:
        ((name, process),) = self._working.items()
        process.terminate()
        code = process.wait(STOP_SECONDS)
        self._stage.expect(code == 0, f"told to stop, {name} has ended with exit code 0")

    def _in_transform(self, run_id: str) -> Run | None:
        effects = self._scratch / "effects.txt"
        begun = effects.is_file() and "transform" in effects.read_text()
        return self._client.get(run_id).run if begun else None

    def _receipt(self, run_id: str) -> Run | None:
        (delivery,) = self._client.get(run_id).deliveries
        run = None if delivery.run_id is None else self._client.get(delivery.run_id).run
        return run if run is not None and run.terminal else None

    def _begin(self, name: str) -> None:
        options = ["--id", name, "--lease-seconds", f"{LEASE_SECONDS:g}"]
        self._working[name] = subprocess.Popen(
            [sys.executable, "-m", "baton_sdk.cli", "--url", self._stage.url, "worker", "app", *options],
            cwd=self._scratch,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(self._scratch / f"{name}.err").open("wb"),
            start_new_session=True,
        )
        self._stage.until(partial(self._alive, name), f"worker {name}: {self._complaint(name)}")
        self._stage.say(f"{name} is at work")

    def _alive(self, name: str) -> bool | None:
        if self._working[name].poll() is not None:
            raise Fault(f"worker {name} has ended: {self._complaint(name)}")
        return any(worker.worker_id == name for worker in self._client.workers()) or None

    def _complaint(self, name: str) -> str:
        return (self._scratch / f"{name}.err").read_text()[-500:]
