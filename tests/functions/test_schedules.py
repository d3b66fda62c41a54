"""What the clock and the queue call: sweep and heal, by the events they are called with."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.functions.lambdas import Context, Lambdas
from tests.unit.house import NS, House
from tests.unit.services.endings_at_hand import BUILT, register, settle, states_of

SCHEDULED = {"version": "0", "detail-type": "Scheduled Event", "source": "aws.scheduler", "detail": "{}"}


def call(api: Lambdas, function: str, event: Any) -> Any:
    returned = api.module(function).handler(event, Context())
    json.dumps(returned)  # as Lambda must be able to
    return returned


def hints(*bodies: str) -> dict[str, Any]:
    return {
        "Records": [
            {"messageId": f"m{number}", "body": body, "eventSource": "aws:sqs"}
            for number, body in enumerate(bodies)
        ]
    }


def hint(run_id: str, sort: str = "run") -> str:
    return json.dumps({"k": f"{NS}#{run_id}", "s": sort})


@pytest.fixture
def due(house: House) -> House:
    """Two runs whose endings nobody has published in time."""
    register(house, "report", BUILT)
    for run_id in ("r1", "r2"):
        settle(house, run_id)
    house.clock.advance(house.settings.publish_grace_seconds)
    return house


def test_the_schedule_has_all_shards_swept(api: Lambdas, due: House):
    assert call(api, "sweep", SCHEDULED)["published"] == 2
    assert states_of(due, "r1") == states_of(due, "r2") == {"report": "started"}


def test_a_shard_that_was_handed_on_is_swept_alone(api: Lambdas, due: House):
    parts = [call(api, "sweep", {"shard": shard, "start": None, "links": 1}) for shard in range(2)]
    assert sum(part["published"] for part in parts) == 2
    assert call(api, "sweep", {"shard": 0})["published"] == 0


def test_a_hint_has_its_item_looked_at(api: Lambdas, due: House):
    assert call(api, "sweep", hints(hint("r1"), hint("absent"))) == {"batchItemFailures": []}
    assert states_of(due, "r1") == {"report": "started"}
    assert states_of(due, "r2") == {"report": "owed"}


def test_a_bad_hint_blocks_no_other(api: Lambdas, due: House):
    answer = call(api, "sweep", hints("{", hint("r1"), '{"k": 1, "s": "run"}', "{}", hint("r2")))
    assert answer == {"batchItemFailures": [{"itemIdentifier": each} for each in ("m0", "m2", "m3")]}
    assert states_of(due, "r1") == states_of(due, "r2") == {"report": "started"}


def test_the_schedule_heals(api: Lambdas, house: House):
    settle(house, "r1")
    register(house, "report", BUILT)
    assert call(api, "heal", SCHEDULED)["delivered"] == 1
    assert states_of(house, "r1") == {"report": "started"}
