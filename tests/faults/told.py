"""A target that keeps what it is told beside the world's tables, behind the same seam: so a container dies
around its telling too, and what it is told with no reply is told all the same."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from baton.bootstrap import Runtime
from baton.domain.catalog import Target, TargetKind
from baton.domain.pushing import Answer, Hint, NotNow
from baton.domain.targets import TAG

if TYPE_CHECKING:
    from tests.faults.world import World

TARGET = Target(TargetKind.SQS, "arn:aws:sqs:eu-central-1:123456789012:jobs")
PLACE = "##told"
_count = itertools.count()


class Told:
    """In the place of `baton.outbound.targets.Targets`: answers what the world says its target does."""

    def __init__(self, world: World, runtime: Runtime) -> None:
        self._world = world
        self._connection: Any = runtime.dynamo.connection

    def send(self, _target: Target, hint: Hint, mark: str) -> Answer:
        item = {
            "k": {"S": PLACE},
            "s": {"S": f"{next(_count):06d}"},
            "r": {"S": hint.run_id},
            "a": {"N": str(hint.attempt)},
            "m": {"S": mark},
        }
        request = {"TableName": self._world.settings.catalog_table, "Item": item}
        try:
            self._connection._make_api_call("PutItem", request)
        except (BotoCoreError, ClientError) as trouble:
            return NotNow(str(trouble))
        return self._world.target_says

    def tags(self, _target: Target) -> dict[str, str]:
        return {TAG: "tenant"}


def told_of(world: World, run_id: str) -> list[int]:
    """At which attempts the target was told of a run, in order."""
    items = [item for item in world.house.scan(world.settings.catalog_table) if item["k"]["S"] == PLACE]
    items.sort(key=lambda item: item["s"]["S"])
    return [int(item["a"]["N"]) for item in items if item["r"]["S"] == run_id]
