"""Scripts of the hand-off: finishes that owe, publishing as the live publisher does it, windows, details."""

import json
import uuid
from typing import Any

from tests.bench import requests
from tests.bench.limits import Limits, Sample
from tests.bench.material import KB, prose
from tests.bench.meter import Tally
from tests.bench.stage import Driver, Stage
from tests.bench.writing import ROUNDS, SMALL_INPUT, batch

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
FULL: dict[str, Any] = {
    "context_ref": "https://example.org/feeds/7",
    "tags": ["nightly", "eu-central"],
    "input": SMALL_INPUT,
}
FULL_OUTPUT = {
    "report": "https://example.org/feeds/7/reports/2026-11-29.html",
    "pages": 117,
    "skipped": [{"page": 42, "why": "status 404"}, {"page": 43, "why": "status 500, given up after 3 tries"}],
    "took_seconds": 318.25,
}
SMALL_OUTPUT = {"pages": 117}
WINDOW = {"mode": "batch", "window_seconds": 3600}


def subscribed(stage: Stage, subscribers: int, **fields: Any) -> str:
    """A new workflow whose completion starts so many, the name of each known to every container."""
    workflow = f"build-{uuid.uuid4().hex[:8]}"
    wish = {"subscribes": [{"event": f"run.completed:{workflow}"}]} | fields
    stage.register({f"{workflow}-report-{count}": wish for count in range(subscribers)})
    for name in (workflow, *(f"{workflow}-report-{count}" for count in range(subscribers))):
        for _ in range(stage.turns):
            Driver(stage, key=_key(), workflow=name, mode="attached")
    return workflow


def settled(stage: Stage, workflow: str, output: object = SMALL_OUTPUT) -> tuple[Driver, Tally]:
    """A run of it that has completed, and what its finish took."""
    driver = Driver(stage, key=_key(), workflow=workflow, input=SMALL_INPUT)
    driver.append(batch("prose", 1))
    return driver, driver.finish(output=output)


def owing_finishes(stage: Stage) -> list[Sample]:
    """Finishes that one subscriber is owed for."""
    workflow = subscribed(stage, 1)
    return [Sample(settled(stage, workflow)[1], Limits(wru=7, trips=2)) for _ in range(ROUNDS)]


def hand_offs(stage: Stage, subscribers: int) -> list[Sample]:
    """Live publishings, each of an ending that so many are owed."""
    workflow = subscribed(stage, subscribers)
    limits = Limits(wru=3 * subscribers + 3)
    return [Sample(stage.publish(settled(stage, workflow)[0].run), limits) for _ in range(ROUNDS)]


def full_hand_offs(stage: Stage, subscribers: int) -> list[Sample]:
    """The same of runs that have told all about themselves, as they would: the payload is some 750 bytes."""
    workflow = subscribed(stage, subscribers)
    samples = []
    for _ in range(ROUNDS):
        driver = Driver(stage, key=_key(), traceparent=TRACE, workflow=workflow, **FULL)
        driver.finish(output=FULL_OUTPUT)
        samples.append(Sample(stage.publish(driver.run), Limits(wru=3 * subscribers + 3)))
    return samples


def heavy_hand_offs(stage: Stage) -> list[Sample]:
    """Live publishings of an ending whose payload is too large to stand in the started run's row."""
    workflow = subscribed(stage, 1)
    return [Sample(stage.publish(settled(stage, workflow, prose(2 * KB))[0].run)) for _ in range(ROUNDS)]


def repeated_hand_offs(stage: Stage) -> list[Sample]:
    """The stream's word once more, of what has been delivered: one read."""
    workflow = subscribed(stage, 1)
    samples = []
    for _ in range(ROUNDS):
        run = settled(stage, workflow)[0].run
        stage.publish(run)
        samples.append(Sample(stage.publish(run), Limits(wru=0, reads=1)))
    return samples


def joins(stage: Stage) -> list[Sample]:
    """Live publishings to one that coalesces, whose window is open."""
    workflow = subscribed(stage, 1, batch=WINDOW)
    stage.publish(settled(stage, workflow)[0].run)
    return [Sample(stage.publish(settled(stage, workflow)[0].run)) for _ in range(ROUNDS)]


def opening_joins(stage: Stage) -> list[Sample]:
    """Live publishings to one that coalesces, none of whose windows is open."""
    samples = []
    for _ in range(ROUNDS):
        workflow = subscribed(stage, 1, batch=WINDOW)
        samples.append(Sample(stage.publish(settled(stage, workflow)[0].run)))
    return samples


def details(stage: Stage, subscribers: int) -> list[Sample]:
    """Looks at a settled run with its deliveries: a started run's state takes half a unit."""
    workflow = subscribed(stage, subscribers)
    driver, _ = settled(stage, workflow)
    stage.publish(driver.run)
    limits = Limits(rru=1.5 + 0.5 * subscribers, trips=2)
    return [Sample(stage.measure(requests.get(driver.run)), limits) for _ in range(ROUNDS)]


def healings(stage: Stage) -> list[Sample]:
    """Healings while the catalog does not change: one read, however many runs have settled."""
    while stage.invoke(requests.HEAL)[0]["works"]:
        stage.clock.sleep(60)
    limits = Limits(wru=0, rru=1, reads=1)
    return [Sample(stage.invoke(requests.HEAL)[1], limits) for _ in range(ROUNDS)]


def started_by(stage: Stage, run: str) -> list[str]:
    """The runs that a run's ending has started."""
    answer, _ = stage.send(requests.get(run))
    return [delivery["run_id"] for delivery in json.loads(answer.body)["deliveries"]]


def _key() -> str:
    return uuid.uuid4().hex
