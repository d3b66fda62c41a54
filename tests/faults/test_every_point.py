"""The other points, which are known to leave the same behind: of those of each scenario every third, and with
`make proof ARGS=--all-points` every one, so that each call is played in each mode."""

from __future__ import annotations

import pytest

from tests.faults.crash import survive
from tests.faults.scenarios import SCENARIOS
from tests.faults.world import House

EVERY = 3


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_wherever_and_however_a_call_goes_wrong_everything_comes_back(
    name: str, house: House, all_points: bool
) -> None:
    survive(name, SCENARIOS[name], house, rest=True, every=1 if all_points else EVERY)
