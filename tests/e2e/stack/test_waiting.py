"""Runs that wait, by the client that people use, on a stack whose stream and sweep wake them."""

import itertools
from datetime import timedelta

import pytest

from baton_sdk import Client

COUNT = itertools.count()


@pytest.fixture
def client(stack):
    with Client(stack.url, namespace=f"waiting-{next(COUNT)}") as client:
        yield client


def next_wake(log):
    """What is said when the run wakes the next time."""
    return next(entry for entry in log if entry.type == "woken")


def test_a_time_a_run_and_an_event_wake_it_one_after_the_other(client):
    target, run = client.start("build").run, client.start("deploy").run
    log = iter(client.follow(run.id))

    soon = run.created_at + timedelta(seconds=2)
    client.suspend(run.id, until=soon)
    assert next_wake(log).ts >= soon
    assert client.get(run.id).run.state == "running"

    assert client.suspend(run.id, run=target.id).state == "suspended"
    [wait] = client.get(run.id).waits_for
    assert (wait.kind, wait.run_id, wait.run_state) == ("run", target.id, "running")
    [waiter] = client.get(target.id).awaited_by
    assert (waiter.run_id, waiter.run_state) == (run.id, "suspended")
    client.finish(target.id, "completed")
    assert next_wake(log).data == {"kind": "run", "run_id": target.id, "run_state": "completed"}

    assert client.suspend(run.id, event="release/approved").state == "suspended"
    posted = client.publish_event("release/approved", {"by": "someone"})
    assert (posted.woken, posted.kept) == (1, False)
    assert next_wake(log).data["payload"] == {"by": "someone"}

    said = [entry.type for entry in client.stream(run.id)]
    assert said == ["start", *["suspended", "woken"] * 3]
