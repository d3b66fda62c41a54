"""Scripts of the operations that write: start, append, finish, cancel, resume, delete, sweep."""

import uuid
from typing import Any

from tests.bench import requests
from tests.bench.limits import Limits, Sample
from tests.bench.material import KB, lines, messages, prose
from tests.bench.meter import Tally
from tests.bench.sizes import put_units
from tests.bench.stage import Driver, Stage

ROUNDS = 4
"""A multiple of the containers that take turns."""

LARGE_INPUT = prose(256 * KB - 2)
"""With its quotes 256 KB to the byte."""

SMALL_INPUT = {"url": "https://example.org/feed.json", "page": 42}
_FRAME = len('{"line":""}')


def batch(kind: str, events: int) -> str:
    """The body of an append of so many events of 1 KB each, as data is measured."""
    return messages(lines(kind, KB - _FRAME), events)


def _key() -> str:
    return uuid.uuid4().hex


def starts(
    stage: Stage, limits: Limits, *, keyed: bool = True, named: bool = False, **fields: Any
) -> list[Sample]:
    """Starts of a workflow that every container has seen before."""
    for _ in range(stage.turns):
        Driver(stage)
    samples = []
    for _ in range(ROUNDS):
        body = {"input": SMALL_INPUT} | ({"run_id": _key()} if named else {}) | fields
        wish = requests.start(_key() if keyed else None, **body)
        samples.append(Sample(stage.measure(wish), limits))
    return samples


def large_starts(stage: Stage) -> list[Sample]:
    """Starts with 256 KB of input."""
    return starts(stage, Limits(trips=1), input=LARGE_INPUT)


def first_starts(stage: Stage) -> list[Sample]:
    """The first start of a workflow: its name is kept, beside."""
    return [
        Sample(stage.measure(requests.start(_key(), workflow=_key())), Limits(trips=1)) for _ in range(ROUNDS)
    ]


def repeated_starts(stage: Stage) -> list[Sample]:
    """The same start once more, also at another container."""
    samples = []
    for _ in range(ROUNDS):
        key = _key()
        Driver(stage, key=key)
        samples.append(Sample(stage.measure(requests.start(key))))
    return samples


def steady(tally: Tally) -> Sample:
    """An append in the steady state: its item's size in KB, no read, one round trip."""
    return Sample(tally, Limits(wru=sum(put_units(item) for item in tally.puts), reads=0, trips=1))


def first_appends(stage: Stage) -> list[Sample]:
    """The first append after a start, with the tail that the start gave."""
    return [steady(Driver(stage, key=_key()).append(batch("prose", 1))) for _ in range(ROUNDS)]


def steady_appends(stage: Stage, body: str, **fields: Any) -> list[Sample]:
    """Appends one after the other, each with the tail of the last."""
    driver = Driver(stage, key=_key(), **fields)
    driver.append(body)
    return [steady(driver.append(body)) for _ in range(ROUNDS)]


def forgetful_appends(stage: Stage, body: str) -> list[Sample]:
    """Appends of a client that sends no tail: what a container remembers must do."""
    driver = Driver(stage, key=_key(), echoes=False)
    driver.append(body)
    tallies = [driver.append(body) for _ in range(ROUNDS)]
    return [steady(tally) if stage.turns == 1 else Sample(tally) for tally in tallies]


def cold_appends(stage: Stage, strangers: Stage) -> list[Sample]:
    """Appends without a tail at a container that has not seen the run."""
    samples = []
    for _ in range(ROUNDS):
        driver = Driver(stage, key=_key(), echoes=False)
        driver.append(batch("prose", 1))
        samples.append(Sample(driver.append(batch("prose", 1), strangers), Limits(trips=2)))
    return samples


FINISH = Limits(wru=6, trips=2)
"""Of a run that nobody subscribes to: row and end 2 each, and 1 each for the entries by which its watchdog
was to be found and its ending now is. Owed to somebody it stays to be found, at another time: 1 more."""


def finishes(stage: Stage, limits: Limits = FINISH, **fields: Any) -> list[Sample]:
    """Finishes with the tail of the last append."""
    samples = []
    for _ in range(ROUNDS):
        driver = Driver(stage, key=_key(), **fields)
        driver.append(batch("prose", 1))
        samples.append(Sample(driver.finish(output={"pages": 117}), limits))
    return samples


def cold_finishes(stage: Stage, strangers: Stage) -> list[Sample]:
    """Finishes without a tail at a container that has not seen the run."""
    samples = []
    for _ in range(ROUNDS):
        driver = Driver(stage, key=_key(), echoes=False)
        driver.append(batch("prose", 1))
        samples.append(Sample(driver.finish(strangers, output={"pages": 117}), FINISH))
    return samples


def repeated_finishes(stage: Stage) -> list[Sample]:
    """The same finish once more, of a run with input and output that stand in its log."""
    samples = []
    for _ in range(ROUNDS):
        driver = Driver(stage, key=_key(), input=prose(2 * KB))
        driver.append(batch("prose", 1))
        driver.finish(output=prose(2 * KB))
        samples.append(Sample(driver.finish(output=prose(2 * KB)), Limits(wru=0)))
    return samples


def heavy_appends(stage: Stage, body: str) -> list[Sample]:
    """Appends to a run with 256 KB of input: no dearer than to one with none."""
    plain = max(sample.tally.wru for sample in steady_appends(stage, body))
    return [
        Sample(sample.tally, Limits(wru=plain, reads=0, trips=1))
        for sample in steady_appends(stage, body, input=LARGE_INPUT)
    ]


def heavy_finishes(stage: Stage) -> list[Sample]:
    """Finishes of a run with 256 KB of input: no dearer than of one with none."""
    plain = max(sample.tally.wru for sample in finishes(stage))
    return finishes(stage, Limits(wru=plain, trips=2), input=LARGE_INPUT)


def cancels(stage: Stage) -> list[Sample]:
    """Intents latched on driven runs."""
    return [Sample(stage.measure(requests.cancel(Driver(stage, key=_key()).run))) for _ in range(ROUNDS)]


def resumes(stage: Stage) -> list[Sample]:
    """Next attempts of runs that failed."""
    samples = []
    for _ in range(ROUNDS):
        driver = Driver(stage, key=_key())
        driver.finish(status="failed", resumable=True)
        samples.append(Sample(stage.measure(requests.resume(driver.run, _key()))))
    return samples


def deletes(stage: Stage) -> list[Sample]:
    """Ends of settled runs."""
    samples = []
    for _ in range(ROUNDS):
        driver = Driver(stage, key=_key())
        driver.finish()
        samples.append(Sample(stage.measure(requests.delete(driver.run))))
    return samples


def sweeps(stage: Stage) -> list[Sample]:
    """Sweeps that find nothing due: what other scripts left has been swept before."""
    while any(call.writes for call in stage.invoke(requests.SWEEP)[1].calls):
        pass
    return [Sample(stage.invoke(requests.SWEEP)[1]) for _ in range(stage.turns)]
