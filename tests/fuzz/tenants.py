"""One house, two tenants in it who call everything alike, and all that either could learn of the other.

Whatever a tenant says holds its mark, which is also its namespace: found anywhere it is not the tenant's
own, it has leaked.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID

from baton.domain.pushing import Answer, Hint, Taken
from baton.outbound.bus import Bus
from baton.outbound.timers import Timers
from tests.functions.lambdas import Answer as Said
from tests.functions.lambdas import Context, Lambdas
from tests.functions.logged import Watch, watching
from tests.unit.house import House, house_of
from tests.unit.moto_tables import REGION, empty_tables

QUEUE = "arn:aws:sqs:eu-central-1:123456789012:shared.fifo"
SECRET = b"the deployment's own signing key"
RUNS = ("r1", "r2", "r3")
WORKFLOWS = ("make", "report")

_WORD = re.compile(rb"[A-Za-z0-9_-]{12,}")
Items = dict[tuple[str, str, str], dict[str, Any]]
"""What stands in the tables, by table, partition and sort key."""


class Tenant(NamedTuple):
    """Its mark is its namespace."""

    mark: str

    @property
    def vouched(self) -> Mapping[str, str]:
        """What the authoriser says of its token."""
        return {"namespace": self.mark, "role": "admin", "token_id": f"{self.mark}_aaaaaaaa"}


LEFT, RIGHT = Tenant("left-7f3a"), Tenant("right-9c1e")
OTHER = {LEFT: RIGHT, RIGHT: LEFT}


class Shared:
    """The house: one container of every function, so that all they remember is shared, and what it sends."""

    def __init__(self, house: House, watch: Watch) -> None:
        self._house = house
        self._watch = watch
        self.clock = house.clock
        runtime = house.container()
        self.sent: list[str] = []
        self.hints: list[str] = []
        tools, client = vars(runtime._context), _Outside(self)
        tools["bus"] = Bus("bus", region=REGION, clock=self.clock, jitter=lambda: 0.5, client=lambda: client)
        tools["timers"] = Timers("http://q/q", region=REGION, clock=self.clock, client=lambda: client)
        tools["targets"] = client
        self.api = Lambdas(runtime)
        self.births: dict[Tenant, set[str]] = {LEFT: set(), RIGHT: set()}
        """The marks of their runs' lives, which tails and ETags hold too."""
        self.did: set[str] = set()
        """What was told outside, and what sweeps and heals say they did."""
        self._published: Items = {}
        self._sequence = 0

    def ask(self, who: Tenant, method: str, path: str, body: Any = None, **more: Any) -> Said:
        """One request of a tenant's, whose answer holds nothing of the other."""
        answer = self.api.call(method, path, body, authorizer=who.vouched, **more)
        said = unpacked(repr((answer.status, answer.headers)).encode() + answer.body)
        assert not self.holds(OTHER[who], said), (who, method, path, answer)
        assert answer.status < 500, answer
        return answer

    def happens(self, what: str) -> None:
        """What the house does by itself: publish, sweep, heal, be told by timers."""
        if what == "publish":
            self._call("publish", {"Records": list(self._records())})
        elif what == "timers":
            hints, self.hints = self.hints, []
            records = [{"messageId": str(number), "body": body} for number, body in enumerate(hints)]
            self._call("sweep", {"Records": records})
        else:
            self._call(what, {"source": "aws.scheduler"})

    def items(self) -> Items:
        """All that stands in the tables."""
        tables = get_backend("dynamodb")[DEFAULT_ACCOUNT_ID][REGION].tables
        found = {
            (name, item.hash_key.value, item.range_key.value): {
                attribute: {value.type: value.value} for attribute, value in item.attrs.items()
            }
            for name, table in tables.items()
            for partition in table.items.values()
            for item in partition.values()
        }
        for place, attributes in found.items():
            owner = whose(place)
            if place[2] == "run" and "b" in attributes and owner is not None:
                self.births[owner].add(attributes["b"]["S"])
        return found

    def holds(self, who: Tenant, text: str) -> bool:
        """Whether a text says anything of a tenant."""
        return who.mark in text or any(birth in text for birth in self.births[who])

    def told(self) -> list[str]:
        """Each event, hint and log line since this was asked last."""
        told, self.sent, self._watch.lines = self.sent + self._watch.lines, [], []
        return told

    def leaks(self) -> list[tuple[str, str]]:
        """Payloads and secrets in the log."""
        return self._watch.leaks()

    def _call(self, function: str, event: dict[str, Any]) -> None:
        returned = self.api.module(function).handler(event, Context())
        assert not returned.get("batchItemFailures"), (function, returned)
        assert not returned.get("failed"), (function, returned)
        self.did.update(name for name, count in returned.items() if count)

    def _records(self) -> Iterator[dict[str, Any]]:
        """What the stream says since it was read last: an item's last change, for each."""
        now = {place: item for place, item in self.items().items() if place[0] == "runs"}
        before, self._published = self._published, now
        for place in before.keys() | now.keys():
            old, new = before.get(place), now.get(place)
            if old != new:
                self._sequence += 1
                images = {"OldImage": old, "NewImage": new}
                told = {name: _carried(image) for name, image in images.items() if image is not None}
                keys = {"k": {"S": place[1]}, "s": {"S": place[2]}}
                yield {"dynamodb": {"Keys": keys, "SequenceNumber": f"{self._sequence:09}", **told}}


class _Outside:
    """EventBridge, SQS, and every target."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def put_events(self, **request: Any) -> dict[str, Any]:
        self._shared.sent += [json.dumps(entry) for entry in request["Entries"]]
        self._shared.did.update(entry["DetailType"] for entry in request["Entries"])
        return {"FailedEntryCount": 0, "Entries": [{"EventId": "1"} for _ in request["Entries"]]}

    def send_message(self, **request: Any) -> None:
        self._shared.sent.append(json.dumps(request))
        self._shared.hints.append(request["MessageBody"])

    def send(self, _target: Any, hint: Hint, _mark: str) -> Answer:
        self._shared.sent.append(repr(hint))
        self._shared.did.add("told a target")
        return Taken()


@contextmanager
def shared_house(client: Any) -> Iterator[Shared]:
    """An empty house, watched."""
    empty_tables()
    settings = {"targets_allowed": (QUEUE,), "token_requests_per_second": 0, "settled_shards": 2}
    with ExitStack() as until:
        watch = until.enter_context(watching())
        watch.keys.add(SECRET)
        yield Shared(house_of(client, **settings), watch)


def whose(place: tuple[str, str, str]) -> Tenant | None:
    """Whom an item belongs to."""
    _, key, sort = place
    namespace = (sort if key == "#heal" else key).split("#", 1)[0]
    return next((each for each in (LEFT, RIGHT) if each.mark == namespace), None)


def unpacked(said: bytes) -> str:
    """Bytes as text, with all in it that may be base64 beside it as what it stands for."""
    parts = [said]
    for found in _WORD.finditer(said):
        word = found[0]
        parts.append(base64.urlsafe_b64decode(word + b"=" * (-len(word) % 4)) if len(word) % 4 != 1 else b"")
    return b" ".join(parts).decode("latin-1")


def _carried(image: dict[str, Any]) -> dict[str, Any]:
    """An item as a record has it: bytes in base64."""
    return {
        name: {"B": base64.b64encode(value["B"]).decode()} if "B" in value else value
        for name, value in image.items()
    }
