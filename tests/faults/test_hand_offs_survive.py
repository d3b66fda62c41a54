"""A process dies around any call of a settle that owes, of a publisher, of a run that goes on as a new one:
each subscriber is started once, and no marker is left or missing."""

from __future__ import annotations

import pytest

from tests.faults.crash import survive
from tests.faults.scenarios.handing import SCENARIOS
from tests.faults.world import House

LONG = ("publish to more than a row holds", "publish two endings of one run")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in SCENARIOS]
)
def test_whatever_goes_wrong_at_a_call_each_subscriber_is_started_once(name: str, house: House) -> None:
    survive(name, SCENARIOS[name], house)
