"""Scripts of workers: claims, polls that find nothing, renewals, releases."""

import uuid
from collections.abc import Callable
from typing import Any

from tests.bench import requests
from tests.bench.limits import Limits, Sample
from tests.bench.stage import Driver, Stage
from tests.bench.writing import ROUNDS, SMALL_INPUT

FIRST = Limits(wru=5)
LATER = Limits(wru=7)
"""From the second attempt on, which takes a slot of the log."""
BROKE = {
    "message": "HTTPSConnectionPool(host='example.org', port=443): Max retries exceeded with url: /feed.json",
    "type": "ConnectionError",
}
LARGEST_INLINE = "x" * 510
"""With its quotes as much as a row holds."""

MOST_LOOKS = 24
"""In 20 s, by the luckiest of chances."""


def _workflow(stage: Stage) -> str:
    """A workflow that nothing else waits of, its name known to every container."""
    name = f"claimed-{uuid.uuid4().hex[:8]}"
    for _ in range(stage.turns):
        Driver(stage, key=_key(), workflow=name, mode="attached")
    return name


def _queued(stage: Stage, workflow: str, **fields: Any) -> str:
    """A run that waits, started a moment ago."""
    wish = {"input": SMALL_INPUT, **fields}
    return Driver(stage, key=_key(), workflow=workflow, mode="queued", **wish).run


def _held(stage: Stage, **fields: Any) -> str:
    workflow = _workflow(stage)
    run = _queued(stage, workflow, **fields)
    stage.send(requests.claim(workflow))
    return run


def _given_back(stage: Stage, workflow: str, **how: Any) -> str:
    """A run that waits again, its first attempt over."""
    run = _queued(stage, workflow, input=LARGEST_INLINE)
    stage.send(requests.claim(workflow))
    stage.send(requests.release(run, **how))
    return run


def starts(stage: Stage) -> list[Sample]:
    """Starts of runs that wait: no watchdog has them be found, the queue does."""
    workflow = _workflow(stage)
    wish: dict[str, Any] = {"workflow": workflow, "mode": "queued", "input": SMALL_INPUT}
    return [
        Sample(stage.measure(requests.start(_key(), **wish)), Limits(wru=3, trips=1)) for _ in range(ROUNDS)
    ]


def claims(
    stage: Stage, prepare: Callable[[Stage, str], str], limits: Limits, *, keyed: bool
) -> list[Sample]:
    """Claims of what ``prepare`` has wait."""
    samples = []
    for _ in range(ROUNDS):
        workflow = _workflow(stage)
        prepare(stage, workflow)
        wish = requests.claim(workflow, key=_key() if keyed else None)
        answer, tally = stage.send(wish)
        assert b'"state":"running"' in answer.body
        samples.append(Sample(tally, limits))
    return samples


def first(stage: Stage, *, keyed: bool) -> list[Sample]:
    """First claims of runs."""
    return claims(stage, _queued, FIRST, keyed=keyed)


def later(stage: Stage, *, keyed: bool, failed: bool = False) -> list[Sample]:
    """Second claims, of runs with as large an input as a row holds; ``failed``: and why there is another."""
    how: dict[str, Any] = {"error": BROKE, "delay_seconds": 0} if failed else {}
    return claims(stage, lambda at, name: _given_back(at, name, **how), LATER, keyed=keyed)


def of_one(stage: Stage) -> list[Sample]:
    """First claims by id."""
    runs = [_queued(stage, _workflow(stage)) for _ in range(ROUNDS)]
    return [Sample(stage.measure(requests.claim_one(run, _key())), FIRST) for run in runs]


def of_many(stage: Stage, count: int) -> list[Sample]:
    """First claims of so many runs at once: no dearer for each than alone."""
    workflow = _workflow(stage)
    for _ in range(count):
        _queued(stage, workflow)
    limits = Limits(wru=5 * count)
    return [Sample(stage.measure(requests.claim(workflow, key=_key(), max=count)), limits)]


def idle_looks(stage: Stage) -> list[Sample]:
    """Claims that find nothing and do not wait."""
    workflow = _workflow(stage)
    limits = Limits(wru=0, rru=0.5 * stage.settings.queue_shards, trips=1)
    return [Sample(stage.measure(requests.claim(workflow)), limits) for _ in range(ROUNDS)]


def idle_polls(stage: Stage) -> list[Sample]:
    """Claims with a key that wait for 20 s and find nothing: backed off, and their key is looked up before
    and after."""
    workflow, looks = _workflow(stage), MOST_LOOKS
    limits = Limits(wru=0, rru=0.5 * stage.settings.queue_shards * looks + 2)
    return [Sample(stage.measure(requests.claim(workflow, key=_key(), wait_seconds=20)), limits)]


def renewals(stage: Stage) -> list[Sample]:
    """Renewals: the row alone, in no index."""
    run = _held(stage, input=LARGEST_INLINE)
    return [Sample(stage.measure(requests.renew(run)), Limits(wru=1, rru=1, trips=2)) for _ in range(ROUNDS)]


def releases(stage: Stage, **how: Any) -> list[Sample]:
    """Runs given back."""
    runs = [_held(stage, input=LARGEST_INLINE) for _ in range(ROUNDS)]
    return [Sample(stage.measure(requests.release(run, **how)), Limits(wru=3)) for run in runs]


def last_failures(stage: Stage) -> list[Sample]:
    """Releases that settle their run: a finish, but for what its worker says last."""
    runs = [_held(stage, max_attempts=1) for _ in range(ROUNDS)]
    return [Sample(stage.measure(requests.release(run, error=BROKE)), Limits(wru=7)) for run in runs]


def _key() -> str:
    return uuid.uuid4().hex
