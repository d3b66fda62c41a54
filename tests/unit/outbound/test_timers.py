"""A hint at a timer is a delayed message; it is never late by design, and never in the way."""

import json
from types import SimpleNamespace

import pytest
from botocore.exceptions import EndpointConnectionError

from baton.outbound.timers import Timers
from tests.unit.manual_clock import MIDNIGHT, ManualClock

URL = "http://localhost:9324/000000000000/timers"


@pytest.fixture
def sent():
    return []


@pytest.fixture
def queue(sent):
    client = SimpleNamespace(send_message=lambda **message: sent.append(message))
    return Timers(URL, region="eu-central-1", clock=ManualClock(), client=lambda: client)


def test_a_hint_names_the_item_and_comes_when_it_is_due(queue, sent):
    queue.hint(("ns#r1", "run"), MIDNIGHT + 90_000)
    [message] = sent
    assert (message["QueueUrl"], message["DelaySeconds"]) == (URL, 90)
    assert json.loads(message["MessageBody"]) == {"k": "ns#r1", "s": "run"}


@pytest.mark.parametrize(
    ("millis", "delay"), [(1, 1), (1000, 1), (1001, 2), (0, 0), (-5000, 0), (899_001, 900), (900_000, 900)]
)
def test_a_hint_never_comes_before_its_time(queue, sent, millis, delay):
    queue.hint(("k", "s"), MIDNIGHT + millis)
    assert [message["DelaySeconds"] for message in sent] == [delay]


def test_what_is_due_in_over_15_minutes_is_left_to_the_sweep(queue, sent):
    queue.hint(("k", "s"), MIDNIGHT + 900_001)
    assert sent == []


@pytest.mark.parametrize("url", [None, ""])
def test_without_a_queue_nothing_is_sent_and_no_client_is_made(url):
    def no_client():
        raise AssertionError("a client was made")

    queue = Timers(url, region="eu-central-1", clock=ManualClock(), client=no_client)
    assert not queue.on
    queue.hint(("k", "s"), MIDNIGHT)


def test_a_queue_that_can_not_be_reached_raises_nothing():
    def unreachable(**_message):
        raise EndpointConnectionError(endpoint_url=URL)

    client = SimpleNamespace(send_message=unreachable)
    Timers(URL, region="eu-central-1", clock=ManualClock(), client=lambda: client).hint(("k", "s"), MIDNIGHT)


def test_the_client_goes_where_the_queues_url_leads():
    queue = Timers(URL, region="eu-central-1", clock=ManualClock())
    assert queue._line._client().meta.endpoint_url == "http://localhost:9324"
