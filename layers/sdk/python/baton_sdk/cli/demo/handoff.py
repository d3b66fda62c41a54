"""Handing off in scenes: a chain that runs by itself, a publisher that dies, a subscriber that came late, and
an operator who sends a day's endings again."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from baton_sdk.cli.chain import chain
from baton_sdk.cli.demo.stage import Stage
from baton_sdk.cli.graph import drawn
from baton_sdk.cli.republish import in_short, progress
from baton_sdk.errors import Fault
from baton_sdk.handoff import Republished
from baton_sdk.run import Delivery, Run
from baton_sdk.workflow import Subscription

BUILD, REPORT, AUDIT = "demo-build", "demo-report", "demo-audit"
INGEST, INVOICE = "demo-ingest", "demo-invoice"
HEAL_WINDOW_SECONDS = 5.0
"""In the demo's stack; elsewhere ten minutes. What settled before that is an operator's to send again."""
DAY = 30
DRIVERS = 4
RUNS_PER_CALL = 3


class HandOff:
    """Plays on ``stage``. Its stack kills the publisher of the run ``doomed``, once, and says so; ``heard``
    tells what it has said so far."""

    def __init__(self, stage: Stage, doomed: str, heard: Callable[[], str]) -> None:
        self._stage = stage
        self._client = stage.client
        self._doomed = doomed
        self._heard = heard
        self.results: dict[str, object] = {}

    def a_day_passes(self) -> None:
        """What the operator finds later: played well before the rest."""
        stage, client = self._stage, self._client
        stage.scene(f"A day's work, for later: {DAY} runs of {INGEST}, which nobody subscribes to yet")
        client.put_workflow(INGEST)

        def ingest(hour: int) -> str:
            run = client.start(INGEST, input={"batch": hour}, inactivity_timeout_seconds=0).run
            return client.finish(run.id, "completed", output={"rows": 100 + hour}, attempt=1).run.state

        with ThreadPoolExecutor(DRIVERS) as drivers:
            states = list(drivers.map(ingest, range(DAY)))
        stage.expect(states == ["completed"] * DAY, f"{DAY} runs are completed")

    def play(self) -> None:
        """Every scene in order. Raises BatonError at the first deviation."""
        self._build_then_report()
        self._publisher_dies()
        self._subscriber_comes_late()
        self._operator_republishes()
        self._nothing_is_owed()

    def _build_then_report(self) -> None:
        stage, client = self._stage, self._client
        stage.scene(f"Hand off: a {BUILD} completes, and its {REPORT} starts by itself")
        wish = Subscription(
            event=f"run.completed:{BUILD}",
            where="run.output.tests > `0`",
            input="{build: run.id, tests: run.output.tests}",
        )
        client.put_workflow(BUILD)
        client.put_workflow(REPORT, description="what a build came to", subscribes=[wish])
        build = f"demo-chain-{stage.mark}"
        report = self._build(build)
        run = client.get(report).run
        stage.expect((run.state, run.mode) == ("pending", "queued"), "it waits for its driver")
        stage.expect(run.input == {"build": build, "tests": 42}, f"its input is as mapped: {run.input}")
        client.finish(report, "completed", output={"page": "report.html"}, attempt=1)
        detail = client.get(report)
        stage.expect(detail.run.state == "completed", "driven, it is completed")
        self._draw(report)
        self.results["chain"] = {"build": build, "report": report}

    def _publisher_dies(self) -> None:
        stage = self._stage
        stage.scene("Kill the publisher between its two writes")
        report = self._build(self._doomed)
        told = [line for line in self._heard().splitlines() if self._doomed in line and "died" in line]
        stage.expect(len(told) == 1, f"the stack says: {' / '.join(told)}")
        runs = [run.id for run in self._client.list(workflow=REPORT) if _cause(run) == self._doomed]
        stage.expect(runs == [report], "whoever published next found what was started: there is one report")
        self._draw(self._doomed)
        self.results["killed"] = {"build": self._doomed, "reports": len(runs)}

    def _subscriber_comes_late(self) -> None:
        stage, client = self._stage, self._client
        build = f"demo-early-{stage.mark}"
        stage.scene(f"Subscribe a moment late: {AUDIT}, when {build} has settled")
        self._drive(build)
        client.put_workflow(AUDIT, subscribes=[Subscription(event=f"run.completed:{BUILD}")])
        began = time.monotonic()
        audit = stage.until(partial(self._started, build, AUDIT), f"{AUDIT} of {build}")
        stage.say(f"subscribed; healed {time.monotonic() - began:.1f} s later")
        audits = [run.id for run in client.list(workflow=AUDIT) if _cause(run) == build]
        stage.expect(audits == [audit], "it has its audit, once")
        self.results["healed"] = {"build": build, "audits": len(audits)}

    def _operator_republishes(self) -> None:
        stage, client = self._stage, self._client
        stage.scene(f"Republish the day to a new subscriber: baton republish --workflow {INGEST} --since 24h")
        client.put_workflow(INVOICE, subscribes=[Subscription(event=f"run.completed:{INGEST}")])
        first, again = self._republish(), self._republish()
        stage.say(in_short(first))
        stage.expect(first.complete and first.created + first.existing == DAY, f"{DAY} invoices have started")
        stage.say(f"once more: {in_short(again)}")
        stage.expect((again.created, again.existing) == (0, DAY), "sent again, it starts none of them again")
        stage.expect(len(list(client.list(workflow=INVOICE, page_size=100))) == DAY, f"there are {DAY}")
        self.results["republished"] = {"created": first.created, "existing": first.existing}

    def _nothing_is_owed(self) -> None:
        stage, client = self._stage, self._client
        stage.scene("Who starts whom: baton graph")
        for tree in drawn(client.graph()):
            stage.console.print(tree)
        stage.until(lambda: True if client.stats().owed == 0 else None, "the end of what is owed")
        stage.expect(True, "nothing is owed to anyone")

    def _republish(self) -> Republished:
        total = Republished()
        with progress(self._stage.console) as show:
            answers = self._client.republish_all(INGEST, subscriber=INVOICE, runs_per_call=RUNS_PER_CALL)
            for answer in answers:
                total = total.plus(answer)
                show(total)
        return total

    def _drive(self, run_id: str) -> None:
        client = self._client
        client.start(BUILD, run_id=run_id)
        with client.writer(run_id, attempt=1) as log:
            log.emit("stdout", {"line": "42 tests passed"})
        client.finish(run_id, "completed", output={"tests": 42}, attempt=1)

    def _build(self, run_id: str) -> str:
        """Drive a build to its end; the id of the report that its ending starts."""
        stage = self._stage
        self._drive(run_id)
        began = time.monotonic()
        report = stage.until(lambda: self._started(run_id, REPORT), f"{REPORT} of {run_id}")
        stage.say(f"{run_id} has settled; {time.monotonic() - began:.2f} s later {report} has started")
        return report

    def _started(self, run_id: str, subscriber: str) -> str | None:
        for delivery in self._client.get(run_id).deliveries:
            if delivery.subscriber == subscriber and delivery.state != "owed":
                return _run_of(delivery)
        return None

    def _draw(self, run_id: str) -> None:
        tree = chain(self._client, self._client.get(run_id))
        if tree is not None:
            self._stage.console.print(tree)


def _cause(run: Run) -> str:
    return str(run.triggered_by.run_id) if run.triggered_by else ""


def _run_of(delivery: Delivery) -> str:
    if delivery.state != "started" or delivery.run_id is None:
        raise Fault(f"the demo went wrong: {delivery.subscriber} is {delivery.state}: {delivery.error}")
    return delivery.run_id
