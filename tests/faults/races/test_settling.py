"""Finish against forced cancel against resume, a thousand times: every answer agrees with what is stored."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest

from baton.domain.log import Entry
from baton.domain.states import State
from baton.errors import LeaseLost
from baton.services.finishes import Finished
from tests.faults import asking, invariants
from tests.faults.races.together import at_once, outcome

RUNS, ROUNDS = 50, 20


def _end(entries: list[Entry], attempt: int) -> Any:
    """What the one `end` of an attempt says."""
    ends = [msgspec.json.decode(entry.data) for entry in entries if entry.type == "end"]
    return ends[attempt - 1] if len(ends) >= attempt else None


@pytest.mark.parametrize("run", range(RUNS))
def test_answers_agree_with_the_stored_truth_and_each_attempt_settles_once(
    world: Any, container: Any, run: int
) -> None:
    containers = [container() for _ in range(3)]
    run_id = asking.running(containers[0])
    attempt = 1
    for turn in range(ROUNDS):
        mine = f"round {turn}"
        failing = asking.an_outcome(State.FAILED, output=mine, key=mine, resumable=True)
        finished, cancelled, resumed = at_once(
            [
                partial(
                    outcome, partial(asking.finish, containers[turn % 3], run_id, failing, attempt=attempt)
                ),
                partial(outcome, partial(asking.cancel, containers[(turn + 1) % 3], run_id, force=True)),
                partial(outcome, partial(asking.resume, containers[(turn + 2) % 3], run_id, force=True)),
            ]
        )
        entries = asking.read(containers[0], run_id)
        now = asking.get(containers[0], run_id).run

        assert now.attempt == attempt + resumed.resumed
        if isinstance(finished, Finished):
            end = _end(entries, attempt)
            assert finished.finished == (end["output"] == mine)
            assert finished.detail.run.state.value == end["status"]
        else:
            assert isinstance(finished, LeaseLost), finished
            assert resumed.resumed
        told = cancelled.run
        assert told.state.terminal
        assert _end(entries, told.attempt)["status"] == told.state.value

        if now.state.terminal:
            assert asking.resume(containers[0], run_id, force=True).resumed
        attempt = asking.get(containers[0], run_id).run.attempt
    invariants.check(world, as_read=False)
