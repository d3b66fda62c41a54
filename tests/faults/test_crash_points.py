"""A process dies at any single DynamoDB call of any operation, or a reply is lost there: all promises hold after."""

from __future__ import annotations

import pytest

from tests.faults.crash import points, suffer
from tests.faults.scenarios import SCENARIOS
from tests.faults.world import House


@pytest.mark.parametrize("name", SCENARIOS)
def test_whatever_goes_wrong_at_any_call_a_retry_or_the_sweep_brings_everything_back(
    name: str, house: House, record_property: pytest.RecordProperty
) -> None:
    broken, count = [], 0
    for point in points(name, SCENARIOS[name], house):
        count += 1
        try:
            suffer(point, house)
        except Exception as failure:
            failure.add_note(str(point))
            broken.append(failure)
    print(f"{name}: {count} points")
    record_property("points", count)
    if broken:
        raise ExceptionGroup(f"{len(broken)} of {count} points", broken[:5])
