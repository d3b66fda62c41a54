"""Fifty identical starts at one moment, from several containers: one run, and fifty answers that agree."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from baton.errors import RunExists
from baton.services.starts import Started
from tests.faults import asking, invariants
from tests.faults.races.together import at_once, outcome

STARTS, CONTAINERS = 50, 5


@pytest.mark.parametrize("input_", [None, asking.LARGE], ids=["small", "large"])
@pytest.mark.parametrize(
    "given", [{"key": "k"}, {"run_id": "mine"}, {"key": "k", "run_id": "mine"}], ids=["key", "id", "both"]
)
@pytest.mark.parametrize("before", ["nothing", "deleted"])
def test_fifty_identical_starts_make_one_run(
    world: Any, container: Any, given: dict[str, Any], input_: Any, before: str
) -> None:
    containers = [container() for _ in range(CONTAINERS)]
    if before == "deleted":
        old = asking.running(containers[0], "old", **given)
        asking.finish(containers[0], old, asking.an_outcome())
        asking.delete(containers[0], old)

    starts = [
        partial(outcome, partial(asking.start, containers[turn % CONTAINERS], input_, **given))
        for turn in range(STARTS)
    ]
    answers = at_once(starts)

    (run,) = invariants.facts(world).runs.values()
    started = [answer for answer in answers if isinstance(answer, Started)]
    taken = [answer for answer in answers if isinstance(answer, RunExists)]
    assert len(started) + len(taken) == STARTS, answers
    assert [answer.started for answer in started].count(True) == 1
    assert {answer.detail.run.birth for answer in started} == {run.birth}
    assert {answer.detail.input for answer in started} == {asking.a_start(input_).input}
    if "key" in given:
        assert not taken
    else:
        assert len(started) == 1
        assert {answer.run.birth for answer in taken} == {run.birth}
