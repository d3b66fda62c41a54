"""What is done to a run while the process dies: one module for each room of its life."""

from __future__ import annotations

from collections.abc import Callable

from tests.faults.crash import Scenario
from tests.faults.scenarios import (
    announcing,
    appending,
    claiming,
    coalescing,
    controlling,
    handing,
    healing,
    past,
    posting,
    publishing,
    pushing,
    registering,
    republishing,
    settling,
    starting,
    sweeping,
    tokens,
    waiting,
)

SCENARIOS: dict[str, Callable[[], Scenario]] = {
    **starting.SCENARIOS,
    **appending.SCENARIOS,
    **settling.SCENARIOS,
    **controlling.SCENARIOS,
    **sweeping.SCENARIOS,
    **past.SCENARIOS,
    **handing.SCENARIOS,
    **publishing.SCENARIOS,
    **pushing.SCENARIOS,
    **healing.SCENARIOS,
    **republishing.SCENARIOS,
    **waiting.SCENARIOS,
    **posting.SCENARIOS,
    **coalescing.SCENARIOS,
    **registering.SCENARIOS,
    **claiming.SCENARIOS,
    **announcing.SCENARIOS,
    **tokens.SCENARIOS,
}
