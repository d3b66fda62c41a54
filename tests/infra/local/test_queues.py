"""What comes into a queue is handed over, deleted once it is done, shown again where it failed, and parked
in the end."""

import json
import secrets
import threading

import pytest

from infra.local.memory import in_process
from infra.local.messaging import QueueAt, messaging
from infra.local.queues import QueuePoller
from infra.local.settings import local_settings
from infra.manifest import Function
from infra.signals import PARKED, TIMERS, QueueSource

SECONDS = 10
FUNCTION = Function(name="sweep", memory_mb=128, timeout_seconds=10)


@pytest.fixture
def queues():
    """A deployment's queues, by name."""
    with in_process():
        # Another suite of this worker may hold moto open: what is left in a queue outlives a test then.
        yield messaging(local_settings(suffix=f"-queues-{secrets.token_hex(4)}"))[1]


class Polled:
    """The timers queue and a function that answers what a test says."""

    def __init__(self, queues, answer=lambda bodies: None):
        self.queue: QueueAt = queues[TIMERS.name]
        self.events = []
        self._answer = answer
        self.poller = QueuePoller(FUNCTION, QueueSource(queue=TIMERS), self.queue, call=self._call)

    def _call(self, function, event, request_id):
        assert function is FUNCTION
        self.events.append(event)
        answer = self._answer([json.loads(record["body"]) for record in event["Records"]])
        if isinstance(answer, Exception):
            raise answer
        return answer

    def show_again(self, number):
        """Let the time pass for which the queue hides a message of the last event."""
        self.queue.client.change_message_visibility(
            QueueUrl=self.queue.url, ReceiptHandle=self._record(number)["receiptHandle"], VisibilityTimeout=0
        )

    def failed(self, number):
        """The answer that names a message of the last event."""
        return {"batchItemFailures": [{"itemIdentifier": self._record(number)["messageId"]}]}

    def _record(self, number):
        records = self.events[-1]["Records"]
        return next(record for record in records if json.loads(record["body"]) == number)

    def bodies(self):
        return [[json.loads(record["body"]) for record in event["Records"]] for event in self.events]


def test_a_function_gets_the_event_of_sqs(queues):
    polled = Polled(queues)
    polled.queue.send({"k": "ns#r1", "s": "run"})
    assert polled.poller.round() == 1
    [[record]] = [event["Records"] for event in polled.events]
    name = polled.queue.url.rpartition("/")[2]
    assert record["body"] == '{"k": "ns#r1", "s": "run"}'
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert {"messageId", "receiptHandle", "md5OfBody"} <= record.keys()
    expected = {
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:{polled.queue.client.meta.region_name}:123456789012:{name}",
        "awsRegion": polled.queue.client.meta.region_name,
    }
    assert {name: record[name] for name in expected} == expected


def test_what_is_done_is_gone(queues):
    polled = Polled(queues)
    for number in range(3):
        polled.queue.send(number)
    while polled.poller.round():
        pass
    assert sorted(number for bodies in polled.bodies() for number in bodies) == [0, 1, 2]
    attributes = polled.queue.client.get_queue_attributes(QueueUrl=polled.queue.url, AttributeNames=["All"])
    counts = {name: value for name, value in attributes["Attributes"].items() if "NumberOfMessages" in name}
    assert set(counts.values()) == {"0"}


def test_what_failed_in_part_comes_again_and_nothing_else(queues):
    polled: Polled = Polled(queues, lambda bodies: polled.failed(1) if len(polled.events) == 1 else None)
    for number in range(3):
        polled.queue.send(number)
    assert polled.poller.round() == 3
    polled.show_again(1)
    assert [polled.poller.round(), polled.poller.round()] == [1, 0]
    assert polled.bodies()[1:] == [[1]]


@pytest.mark.parametrize(
    "answer", [LookupError("broken on purpose"), {"batchItemFailures": [{"itemIdentifier": "nobody"}]}]
)
def test_of_a_batch_that_fails_as_a_whole_nothing_is_deleted(queues, answer):
    polled = Polled(queues, lambda bodies: answer)
    polled.queue.send(1)
    polled.poller.round()
    polled.show_again(1)
    assert polled.poller.round() == 1
    assert polled.bodies() == [[1], [1]]


def test_what_keeps_failing_is_parked_by_the_queue_itself(queues):
    polled = Polled(queues, lambda bodies: LookupError("broken on purpose"))
    polled.queue.send(1)
    for _ in range(TIMERS.receives or 0):
        assert polled.poller.round() == 1
        polled.show_again(1)
    assert polled.poller.round() == 0
    parked = queues[PARKED.name]
    [message] = parked.client.receive_message(QueueUrl=parked.url)["Messages"]
    assert json.loads(message["Body"]) == 1


def test_running_on_its_own_it_hands_over_and_stops(queues):
    arrived = threading.Semaphore(0)
    polled = Polled(queues, lambda bodies: arrived.release())
    polled.poller.start()
    polled.queue.send(1)
    assert arrived.acquire(timeout=SECONDS)
    assert polled.poller.stop(SECONDS)
