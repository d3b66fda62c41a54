"""Every call of every operation in every mode, also those that are known to leave the same behind."""

from __future__ import annotations

import pytest

from tests.faults.crash import survive
from tests.faults.scenarios import SCENARIOS
from tests.faults.world import House


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_at_every_call_index_and_in_every_mode_everything_comes_back(name: str, house: House) -> None:
    survive(name, SCENARIOS[name], house, every=True)
