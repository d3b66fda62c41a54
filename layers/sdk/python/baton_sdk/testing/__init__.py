"""Tests of workflows: the whole local stack in the test's process, workers that work when they are told to,
and time that stands still until the test moves it.

from baton_sdk.testing import local_stack
from app import worker

def test_a_report_waits_half_an_hour():
    with local_stack(worker) as baton:
        run = baton.start("report", input={"path": "a.csv"})
        baton.settle()
        baton.assert_state(run.id, "suspended")
        baton.advance(minutes=30)
        baton.assert_completed(run.id, output={"rows": 3})
        assert baton.steps(run.id) == {"count": 3}

The stack is the checkout's own: every AWS client that the process makes inside the block talks to it.
"""

from baton_sdk.testing.local import LocalStack, local_stack

__all__ = ["LocalStack", "local_stack"]
