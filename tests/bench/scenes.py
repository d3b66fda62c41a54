"""What is played beside the bare calls: each handler's typical request, over and over."""

import uuid
from collections.abc import Generator

from baton.store.rows import run_key
from infra.local.events import HttpAnswer
from tests.bench import requests
from tests.bench.house import NAMESPACE, Request, header, run_id
from tests.bench.sidebyside import Players, Scene
from tests.bench.streaming import PUBLISH
from tests.bench.writing import SMALL_INPUT, batch

Script = Generator[Request, HttpAnswer | None, None]


def _key() -> str:
    return uuid.uuid4().hex


def _begun(players: Players) -> tuple[str, str | None]:
    """A new run, and its tail."""
    answer = players.send(requests.start(_key(), input=SMALL_INPUT))
    return run_id(answer), header(answer, "baton-tail")


def starting(times: int) -> Scene:
    """Starts of a workflow that every container knows."""

    def script(players: Players) -> Script:
        for _ in range(players.turns):
            _begun(players)
        for _ in range(times):
            yield requests.start(_key(), input=SMALL_INPUT)

    return script


def appending(times: int, events: int) -> Scene:
    """Appends of 1 KB events to one run, each with the tail of the last."""
    body = batch("prose", events)

    def script(players: Players) -> Script:
        run, echo = _begun(players)
        for seq in range(times):
            answer = yield requests.append(run, body, echo=echo, producer="bench", seq=seq)
            assert answer is not None
            echo = header(answer, "baton-tail")

    return script


def finishing(times: int) -> Scene:
    """Finishes with the tail of the last append."""

    def script(players: Players) -> Script:
        for _ in range(times):
            run, echo = _begun(players)
            wish = requests.append(run, batch("prose", 1), echo=echo, producer="bench", seq=0)
            echo = header(players.send(wish), "baton-tail")
            yield requests.finish(run, echo=echo, output={"pages": 117})

    return script


def getting(times: int) -> Scene:
    """Looks at one running run."""

    def script(players: Players) -> Script:
        run, _ = _begun(players)
        for _ in range(times):
            yield requests.get(run)

    return script


def listing(times: int) -> Scene:
    """Pages of 50 runs."""

    def script(players: Players) -> Script:
        def begin() -> str:
            workflow = _key()
            for _ in range(50):
                players.send(requests.start(_key(), workflow=workflow, input=SMALL_INPUT))
            return workflow

        query = f"workflow={players.once('listed', begin)}&limit=50"
        for _ in range(times):
            yield requests.listing(query)

    return script


def cancelling(times: int) -> Scene:
    """Intents latched on driven runs."""

    def script(players: Players) -> Script:
        for _ in range(times):
            yield requests.cancel(_begun(players)[0])

    return script


def sweeping(times: int) -> Scene:
    """Sweeps that find nothing due."""

    def script(_players: Players) -> Script:
        for _ in range(times):
            yield requests.SWEEP

    return script


def publishing(times: int) -> Scene:
    """The stream's word of runs that completed, each of which one subscriber is owed for."""
    workflow, subscriber = "published", {"subscribes": [{"event": "run.completed:published"}]}

    def script(players: Players) -> Script:
        players.once("subscriber", lambda: players.send(requests.register("report", subscriber)))
        players.refresh()
        for _ in range(times):
            run = run_id(players.send(requests.start(_key(), workflow=workflow, input=SMALL_INPUT)))
            players.send(requests.finish(run, output={"pages": 117}))
            yield Request(PUBLISH, event=players.told.event(run_key(NAMESPACE, run)))

    return script


def polling(times: int) -> Scene:
    """Reads at the end of a log."""

    def script(players: Players) -> Script:
        run, _ = _begun(players)
        for _ in range(times):
            yield requests.read(run, "now")

    return script


def replaying(times: int, batches: int, events: int = 10) -> Scene:
    """Reads of one log of 1 KB events from its start."""
    body = batch("prose", events)

    def script(players: Players) -> Script:
        def begin() -> str:
            run, echo = _begun(players)
            for seq in range(batches):
                wish = requests.append(run, body, echo=echo, producer="bench", seq=seq)
                echo = header(players.send(wish), "baton-tail")
            return run

        run = players.once(("replayed", batches), begin)
        for _ in range(times):
            yield requests.read(run, "-1")

    return script
