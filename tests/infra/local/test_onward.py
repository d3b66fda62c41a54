"""What an invocation leaves is taken on by another call of the same function, apart from it."""

import threading

import pytest

from baton.errors import Unavailable
from infra.local.onward import LocalOnward, calling
from infra.manifest import function

SECONDS = 10


def test_it_is_a_call_of_the_function_that_hands_on_and_nobody_waits_for_it():
    onward, go_on, done = LocalOnward(), threading.Event(), threading.Event()
    calls = []

    def call(called, event, request_id):
        assert go_on.wait(SECONDS)
        calls.append((called.name, event))
        done.set()

    onward.bind(call)
    with calling(function("sweep")):
        onward.later({"shard": 3})
    go_on.set()
    assert done.wait(SECONDS)
    onward.stop()
    assert calls == [("sweep", {"shard": 3})]


def test_a_call_that_fails_is_logged(caplog):
    onward = LocalOnward()

    def call(called, event, request_id):
        raise LookupError("broken on purpose")

    onward.bind(call)
    with calling(function("sweep")):
        onward.later({})
    onward.stop()
    assert "broken on purpose" in caplog.text


def test_once_stopped_it_takes_nothing_on_and_says_so():
    onward = LocalOnward()
    onward.bind(lambda *_: None)
    onward.stop()
    with calling(function("sweep")), pytest.raises(Unavailable):
        onward.later({})
