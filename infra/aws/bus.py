"""The event bus that lifecycle events go to. Who listens puts rules on it; Baton has none of its own."""

from __future__ import annotations

from aws_cdk import aws_events as events
from constructs import Construct

from infra.aws.stage import Stage


class Bus(events.EventBus):
    """A bus of the stage's name."""

    def __init__(self, scope: Construct, name: str, *, stage: Stage) -> None:
        super().__init__(
            scope,
            name,
            event_bus_name=stage.prefix,
            description=f"Baton ({stage.name}): run.started, run.completed, run.failed and the like",
        )
