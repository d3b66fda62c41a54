"""Containers that take turns, as a load balancer would have it, and a driver who speaks to them."""

from collections.abc import Mapping
from typing import Any

from baton.bootstrap import SystemClock
from baton.config import Settings
from baton.store.rows import run_key
from infra.local.events import HttpAnswer
from tests.bench import requests
from tests.bench.house import NAMESPACE, Container, Request, Tables, header, run_id
from tests.bench.meter import Meter, Tally
from tests.bench.streaming import PUBLISH, Told

A_MOMENT = 0.001


class Stage:
    """``turns`` containers, each request going to the next one."""

    def __init__(self, tables: Tables, clock: SystemClock, turns: int) -> None:
        self.tables = tables
        self.clock = clock
        self.turns = turns
        self._containers = [Container(tables, clock) for _ in range(turns)]
        self._meters = [Meter(container.runtime.dynamo, tables) for container in self._containers]
        self._turn = 0
        self.told = Told(tables)
        self.refresh()

    @property
    def settings(self) -> Settings:
        """Those of its containers."""
        return self._containers[0].runtime.settings

    def refresh(self) -> None:
        """Have every container read the catalog, unmeasured: it is no older than its containers then."""
        for container in self._containers:
            container.runtime.catalog.snapshot(NAMESPACE, fresh=True)

    def register(self, workflows: Mapping[str, Mapping[str, Any]]) -> None:
        """Put workflows into the catalog, and let every container know."""
        for name, fields in workflows.items():
            self.send(requests.register(name, fields))
        self.refresh()

    def next(self) -> tuple[Container, Meter]:
        """Whose turn it is; a moment has passed since the last one's."""
        self.clock.sleep(A_MOMENT)
        self._turn = (self._turn + 1) % self.turns
        return self._containers[self._turn], self._meters[self._turn]

    def send(self, request: Request) -> tuple[HttpAnswer, Tally]:
        """The answer, and what it took."""
        container, meter = self.next()
        with meter.counting() as tally:
            answer = container.send(request)
        return answer, tally

    def measure(self, request: Request) -> Tally:
        """What a request takes."""
        return self.send(request)[1]

    def invoke(self, request: Request) -> tuple[Any, Tally]:
        """What a call returns that is no HTTP request, and what it took."""
        container, meter = self.next()
        event = container.event(request)
        with meter.counting() as tally:
            answer = container.invoke(request.function, event)
        return answer, tally

    def publish(self, run: str) -> Tally:
        """What the live publisher takes for the newest word of a run."""
        container, meter = self.next()
        event = self.told.event(run_key(NAMESPACE, run))
        with meter.counting() as tally:
            answer = container.invoke(PUBLISH, event)
        assert not answer["batchItemFailures"], f"run {run} could not be published"
        return tally


class Driver:
    """Someone who starts a run, appends to it and finishes it, as the client does: with producer headers,
    and (unless told not to) with the tail of the last answer."""

    def __init__(self, stage: Stage, *, key: str | None = None, echoes: bool = True, **fields: Any) -> None:
        self._stage = stage
        self._echoes = echoes
        self._echo: str | None = None
        self._seq = 0
        self._heard, self.started = stage.send(requests.start(key, **fields))
        self.run = run_id(self._heard)
        self._listen()

    @property
    def offset(self) -> str:
        """Where the log ended when this driver last appended."""
        found = header(self._heard, "stream-next-offset")
        assert found is not None
        return found

    def append(self, body: str, stage: Stage | None = None) -> Tally:
        """One batch."""
        wish = requests.append(self.run, body, echo=self._echo, producer="bench", seq=self._seq)
        self._heard, tally = (stage or self._stage).send(wish)
        self._seq += 1
        self._listen()
        return tally

    def finish(self, stage: Stage | None = None, **fields: Any) -> Tally:
        """The run's end."""
        wish = requests.finish(self.run, echo=self._echo, **fields)
        return (stage or self._stage).measure(wish)

    def _listen(self) -> None:
        if self._echoes:
            self._echo = header(self._heard, "baton-tail") or self._echo
