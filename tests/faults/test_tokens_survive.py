"""A process dies around any call of the making, revoking or use of a token: what was told holds."""

from __future__ import annotations

import pytest

from tests.faults.crash import survive
from tests.faults.scenarios.tokens import SCENARIOS
from tests.faults.world import House


@pytest.mark.parametrize("name", SCENARIOS)
def test_whatever_goes_wrong_at_a_call_everything_comes_back(name: str, house: House) -> None:
    survive(name, SCENARIOS[name], house)
