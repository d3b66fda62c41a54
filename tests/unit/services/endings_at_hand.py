"""Workflows that subscribe to one another, runs that end, and what became of their endings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from baton.bootstrap import Runtime
from baton.domain.catalog import Subscription
from baton.domain.handoff import Settled
from baton.domain.registering import Registration
from baton.domain.settlement import Delivery, DeliveryState
from baton.domain.states import State
from baton.services.publishing import Published
from baton.services.starts import Starts
from tests.unit.house import NS, House, start
from tests.unit.services.acts import finish

BUILT = "run.completed:build"
BROKEN = "run.failed:build"


def register(house: House, name: str, *subscribes: Subscription | str, **wish: Any) -> None:
    """Register a workflow, in a container of its own; a plain event is a subscription to it."""
    wishes = tuple(Subscription(each) if isinstance(each, str) else each for each in subscribes)
    given = {"namespace": NS, "name": name, "subscribes": wishes, **wish}
    house.container().workflows.put(Registration(**given))


def settle(
    house: House, run_id: str, status: State = State.COMPLETED, *, by: Runtime | None = None, **wish: Any
) -> None:
    """A run that has settled, and whose ending nobody has published."""
    runtime = by or house.container()
    start(runtime, run_id=run_id, **wish)
    finish(runtime, run_id, status, resumable=status is State.FAILED)


def publish(house: House, run_id: str, attempt: int | None = None) -> Published:
    """What the live publisher does."""
    return house.container().publisher.publish(NS, run_id, attempt)


def ending_of(house: House, run_id: str, attempt: int | None = None) -> Settled:
    """The ending as it stands."""
    settled = runs_of(house.container().starts).settled(NS, run_id, attempt)
    assert settled is not None
    return settled


@contextmanager
def operations_of(runtime: Runtime) -> Iterator[list[str]]:
    """Every DynamoDB call that a container makes meanwhile, the reading of the catalog too."""
    connection = runtime.dynamo.connection
    made: list[str] = []
    dispatch = connection.dispatch

    def noted(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        made.append(operation)
        return dispatch(operation, request)

    with patch.object(connection, "dispatch", noted):
        yield made


def runs_of(starts: Starts) -> Any:
    return starts._context.runs


def garble(house: House, run_id: str) -> None:
    """Make a run's row one that nobody can read."""
    house.client.update_item(
        TableName=house.settings.runs_table,
        Key={"k": {"S": f"{NS}#{run_id}"}, "s": {"S": "run"}},
        UpdateExpression="SET st = :v",
        ExpressionAttributeValues={":v": {"S": "{"}},
    )


def states_of(house: House, run_id: str, attempt: int | None = None) -> dict[str, str]:
    """What became of each subscriber of an ending."""
    settlement = ending_of(house, run_id, attempt).settlement
    made = {each.subscriber: each.state.value for each in settlement.deliveries}
    return {**made, **dict.fromkeys(settlement.owed, DeliveryState.OWED.value)}


def delivery_of(house: House, run_id: str, subscriber: str) -> Delivery:
    delivery = ending_of(house, run_id).settlement.delivery(subscriber)
    assert delivery is not None
    return delivery


def started(house: House, workflow: str) -> list[str]:
    """The ids of the runs of a workflow, sorted."""
    rows = [raw for raw in house.rows() if raw["s"]["S"] == "run" and "lk" in raw]
    return sorted(raw["k"]["S"].split("#", 1)[1] for raw in rows if raw["lk"]["S"] == f"{NS}#{workflow}")


def is_marked(house: House, run_id: str, attempt: int | None = None) -> bool:
    return ending_of(house, run_id, attempt).settlement.marked
