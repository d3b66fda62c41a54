"""A process dies around any call of a republish: repeated, it finds what was done."""

from __future__ import annotations

import pytest

from tests.faults.crash import survive
from tests.faults.scenarios.republishing import SCENARIOS
from tests.faults.world import House

LONG = ("republish a stretch of time, run by run", "republish an earlier attempt")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in SCENARIOS]
)
def test_whatever_goes_wrong_at_a_call_each_subscriber_is_started_once(name: str, house: House) -> None:
    survive(name, SCENARIOS[name], house)
