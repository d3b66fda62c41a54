"""The faults again where conditions, transactions and what they report are DynamoDB's own."""

from __future__ import annotations

import pytest

from tests.faults.crash import survive
from tests.faults.scenarios import SCENARIOS
from tests.faults.world import House

NAMES = [
    "start with a key",
    "start with both and a large input",
    "start with both over their deleted run",
    "append, its end remembered",
    "append without a producer",
    "finish",
    "finish, large input",
    "finish against a busy appender",
    "cancel a driven run",
    "resume",
    "delete",
    "delete, by somebody",
    "sweep a silent run",
    "sweep a past life and its alias",
    "start again after a delete, then purged",
    "join an open window",
    "join and fill it",
    "join what is over, many",
    "debounce what is over",
    "fire a batch",
    "put a debounced window off",
    "register it otherwise",
    "register it again after it was deleted",
    "delete a workflow",
    "make a token",
    "revoke a token",
    "use a token",
]


@pytest.mark.parametrize("name", NAMES)
def test_whatever_goes_wrong_at_a_call_everything_comes_back(name: str, served: House) -> None:
    survive(name, SCENARIOS[name], served)
