"""The other points, which are known to leave the same behind: so that every call is played in every mode."""

from __future__ import annotations

import pytest

from tests.faults.crash import survive
from tests.faults.scenarios import SCENARIOS
from tests.faults.world import House


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_at_every_call_index_and_in_every_mode_everything_comes_back(name: str, house: House) -> None:
    survive(name, SCENARIOS[name], house, rest=True)
