"""A deployment in a test's hand: tables, a clock, and as many containers over them as it wants."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import local
from typing import Any
from unittest.mock import patch

from baton.bootstrap import Runtime, build
from baton.config import Settings
from baton.domain.starting import Start
from baton.services.starts import Started
from baton.store.dynamo import Dynamo
from tests.unit.manual_clock import ManualClock
from tests.unit.moto_tables import NAMES, REGION

NS = "default"

Call = tuple[str, dict[str, Any]]


@dataclass
class House:
    """Tables and time; ``container`` gives what one Lambda container has, with no memory of any other's."""

    client: Any
    settings: Settings
    clock: ManualClock = field(default_factory=ManualClock)
    _seeds: int = 0

    def container(self) -> Runtime:
        self._seeds += 1
        runtime = build(self.settings, self.clock, seed=self._seeds)
        runtime.dynamo.connection._client = self.client  # making one takes longer than most tests
        return runtime

    def dynamo(self) -> Dynamo:
        """A connection that no store uses yet."""
        dynamo = Dynamo(region=REGION, endpoint_url=None, sleep=self.clock.sleep, rng=random.Random(1))
        dynamo.connection._client = self.client
        return dynamo

    def items(self, table: str) -> list[dict[str, Any]]:
        """Everything that stands in a table, in DynamoDB's own JSON."""
        return list(self.client.scan(TableName=table)["Items"])

    def rows(self) -> list[dict[str, Any]]:
        return self.items(self.settings.runs_table)

    def log(self) -> list[dict[str, Any]]:
        return self.items(self.settings.log_table)


def house_of(client: Any, **settings: Any) -> House:
    """A deployment over Baton's tables as they are."""
    return House(
        client,
        Settings(
            runs_table=NAMES["runs"],
            log_table=NAMES["log"],
            catalog_table=NAMES["catalog"],
            signing_keys=(b"key",),
            region=REGION,
            **{"due_shards": 2, **settings},
        ),
    )


@contextmanager
def calls_of(runtime: Runtime) -> Iterator[list[Call]]:
    """The DynamoDB calls that a container makes meanwhile: operation and request."""
    made: list[Call] = []

    def note(operation: str, request: dict[str, Any]) -> None:
        made.append((operation, request))

    with before_each_call(runtime, note):
        yield made


@contextmanager
def before_each_call(runtime: Runtime, hook: Callable[[str, dict[str, Any]], None]) -> Iterator[None]:
    """Let ``hook`` look at, or act before, each DynamoDB call of a container; its own are not hooked, nor is
    the reading of the catalog, which goes on beside whatever asks for it, once in five seconds."""
    connection = runtime.dynamo.connection
    dispatch = connection.dispatch
    thread = local()

    def hooked(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        of_catalog = operation == "Query" and request["TableName"] == NAMES["catalog"]
        if not of_catalog and not getattr(thread, "inside", False):
            thread.inside = True
            try:
                hook(operation, request)
            finally:
                thread.inside = False
        return dispatch(operation, request)

    with patch.object(connection, "dispatch", hooked):
        yield


def start(runtime: Runtime, **wish: Any) -> Started:
    """Start a run; a body digest of its own unless one is given."""
    given = {"namespace": NS, "workflow": "build", "body": "body", **wish}
    return runtime.starts.start(Start(**given))


def names_of(calls: list[Call]) -> list[str]:
    """The operations, in order."""
    return [operation for operation, _ in calls]
