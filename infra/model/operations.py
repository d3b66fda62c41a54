"""What each operation takes of each table and index, in units, and how long a container is busy with it.

A test performs each and holds these numbers against what it wrote and read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Operation:
    """``writes`` and ``reads`` are units by the name of the table or index; ``trips`` are calls of DynamoDB
    that wait for each other. ``function`` performs it: in a request, unless ``told`` by the stream or the
    clock."""

    name: str
    function: str
    writes: Mapping[str, float] = field(default_factory=dict)
    reads: Mapping[str, float] = field(default_factory=dict)
    trips: int
    told: bool = False


START = Operation(
    name="start, attached, in a context",
    function="start",
    writes={"runs": 1, "due": 1, "listing": 1, "by_context": 1},
    trips=1,
)
APPEND = Operation(name="append 5 KB of prose", function="append", writes={"log": 3}, trips=1)
FINISH = Operation(
    name="finish, owed to one",
    function="finish",
    writes={"runs": 2, "due": 2, "settled": 1, "log": 2},
    reads={"runs": 1},
    trips=2,
)
HAND_OFF = Operation(
    name="hand-off to one, which is queued",
    function="publish",
    writes={"runs": 2, "listing": 1, "queue": 1, "due": 1},
    reads={"runs": 1, "log": 1},
    trips=4,
    told=True,
)
CLAIM = Operation(
    name="claim",
    function="workers",
    writes={"runs": 1, "due": 1, "queue": 1},
    reads={"queue": 2, "runs": 0.5},
    trips=3,
)
RENEW = Operation(name="renew", function="workers", writes={"runs": 1}, reads={"runs": 1}, trips=2)
BEAT = Operation(name="heartbeat", function="workers", writes={"catalog": 1}, trips=1)
PUT_OFF = Operation(
    name="look at a lease that was renewed",
    function="sweep",
    writes={"runs": 1, "due": 2},
    reads={"runs": 2, "log": 1},
    trips=3,
    told=True,
)
PURGE = Operation(
    name="purge of a log's end",
    function="publish",
    writes={"log": 1},
    reads={"log": 1, "runs": 0.5},
    trips=4,
    told=True,
)
PURGE_APPEND = Operation(
    name="purge of an append beside it", function="publish", writes={"log": 3}, trips=0, told=True
)
ASK = Operation(name="ask who shows a token", function="authorize", reads={"catalog": 1}, trips=1)
"""Of each request, where the gateway remembers nobody; else of each token once in a while."""

OPERATIONS = (ASK, START, APPEND, FINISH, HAND_OFF, CLAIM, RENEW, BEAT, PUT_OFF, PURGE, PURGE_APPEND)
