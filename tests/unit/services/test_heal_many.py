"""Many runs that settled before their subscriber was registered: none is missed, none is started twice."""

from __future__ import annotations

import pytest

from baton.services.heal import Healed
from tests.unit.house import House
from tests.unit.services.endings_at_hand import BUILT, register, settle, started, states_of

RUNS = 500


@pytest.mark.slow
def test_five_hundred_runs_get_a_subscriber_that_came_a_moment_late(house: House):
    """They settle over the whole window, so that the first ones are just within it."""
    driver = house.container()
    for i in range(RUNS):
        settle(house, f"r{i}", by=driver)
        house.clock.advance((house.settings.heal_window_seconds - 1) / RUNS)
    register(house, "report", BUILT)
    told: list[Healed] = []
    while not told or told[-1].works:
        assert len(told) < 100
        healer = house.container()
        told.append(healer.heal.run())
        house.clock.advance(60)
    assert sum(healed.delivered for healed in told) == RUNS
    assert sum(healed.failed + healed.re_owed for healed in told) == 0
    assert len(started(house, "report")) == RUNS
    assert all(states_of(house, f"r{i}") == {"report": "started"} for i in range(0, RUNS, 50))
