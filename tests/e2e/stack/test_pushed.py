"""A run of a workflow with a target is told of by a message or an event, and claimed by what that says."""

import itertools
import json
import time

import httpx
import pytest

from infra.local.messaging import client_of
from infra.local.testing import running_stack

SECONDS = 60
COUNT = itertools.count()


@pytest.fixture(scope="module")
def live():
    """Streams, and no sweep."""
    with running_stack(schedules=False) as stack:
        yield stack


@pytest.fixture(scope="module")
def swept():
    """A sweep each second, and no stream."""
    with running_stack(signals=False) as stack:
        yield stack


@pytest.fixture(params=["live", "swept"])
def stack(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def client(stack):
    """A client with a namespace of its own."""
    headers = {"Baton-Namespace": f"pushed-{next(COUNT)}"}
    with httpx.Client(base_url=stack.url, headers=headers, timeout=SECONDS) as client:
        yield client


class Queue:
    """A queue of a test's own, in the stack's process."""

    def __init__(self, stack, name, tags):
        self._client = client_of("sqs", stack.runtime.settings.region, None)
        self._url = self._client.create_queue(QueueName=name, tags=tags)["QueueUrl"]
        asked = self._client.get_queue_attributes(QueueUrl=self._url, AttributeNames=["QueueArn"])
        self.arn = asked["Attributes"]["QueueArn"]

    def message(self):
        """The next message, once it is there."""
        deadline = time.monotonic() + SECONDS
        while True:
            messages = self._client.receive_message(QueueUrl=self._url).get("Messages")
            if messages:
                return json.loads(messages[0]["Body"])
            assert time.monotonic() < deadline, "nothing came"


def register(client, kind, arn):
    target = {"kind": kind, "arn": arn}
    assert client.put("/v1/workflows/build", json={"target": target}).status_code == 201


def claimed_by(told):
    """The run that a hint leads to, claimed by nothing but the hint."""
    headers = {"Baton-Namespace": told["namespace"]}
    answer = httpx.post(
        f"{told['url']}/v1/runs/{told['run_id']}/claim",
        json={"worker_id": "w1", "lease_seconds": 60},
        headers=headers,
        timeout=SECONDS,
    )
    assert answer.status_code == 200, answer.text
    return answer.json()["run"]


def state_of(client, run_id, *wanted):
    """The run once it is in one of the states wanted."""
    deadline = time.monotonic() + SECONDS
    while True:
        run = client.get(f"/v1/runs/{run_id}").json()["run"]
        if run["state"] in wanted or time.monotonic() > deadline:
            return run


def test_a_queue_gets_a_message_by_which_the_run_is_claimed_and_finished(stack, client):
    namespace = client.headers["Baton-Namespace"]
    queue = Queue(stack, f"jobs-of-{namespace}", {"baton:namespace": namespace})
    register(client, "sqs", queue.arn)
    assert (
        client.post("/v1/runs", json={"workflow": "build", "run_id": "r1"}).json()["run"]["mode"] == "queued"
    )
    told = queue.message()
    assert told == {
        "run_id": "r1",
        "workflow": "build",
        "namespace": namespace,
        "attempt": 1,
        "url": stack.url,
    }
    assert client.get("/v1/runs/r1").json()["run"]["state"] == "pending"
    run = claimed_by(told)
    assert (run["state"], run["lease"]["worker_id"]) == ("running", "w1")
    done = client.post(
        "/v1/runs/r1/finish", json={"status": "completed"}, headers={"Baton-Attempt": str(run["attempt"])}
    )
    assert done.json()["run"]["state"] == "completed"


def test_a_bus_gets_an_event(stack, client):
    namespace = client.headers["Baton-Namespace"]
    queue = Queue(stack, f"events-of-{namespace}", {})
    events = client_of("events", stack.runtime.settings.region, None)
    tags = [{"Key": "baton:namespace", "Value": namespace}]
    bus = events.create_event_bus(Name=f"bus-of-{namespace}", Tags=tags)["EventBusArn"]
    rule = {"Name": "all", "EventBusName": f"bus-of-{namespace}"}
    events.put_rule(**rule, EventPattern=json.dumps({"detail-type": ["run.pending"]}))
    events.put_targets(
        Rule="all", EventBusName=rule["EventBusName"], Targets=[{"Id": "queue", "Arn": queue.arn}]
    )
    register(client, "eventbridge", bus)
    client.post("/v1/runs", json={"workflow": "build", "run_id": "r1"})
    event = queue.message()
    assert (event["source"], event["detail-type"]) == ("baton", "run.pending")
    assert claimed_by(event["detail"])["id"] == "r1"


def test_a_queue_of_another_namespace_is_told_nothing_and_the_run_says_why(stack, client):
    queue = Queue(stack, f"theirs-{client.headers['Baton-Namespace']}", {"baton:namespace": "another"})
    register(client, "sqs", queue.arn)
    client.post("/v1/runs", json={"workflow": "build", "run_id": "r1"})
    run = state_of(client, "r1", "failed")
    assert (run["state"], run["resumable"], run["error"]["type"]) == ("failed", True, "target")
    assert f"baton:namespace={client.headers['Baton-Namespace']}" in run["error"]["message"]


def test_set_right_and_resumed_it_is_told_of(stack, client):
    namespace = client.headers["Baton-Namespace"]
    register(client, "sqs", f"arn:aws:sqs:{stack.runtime.settings.region}:123456789012:not-there")
    client.post("/v1/runs", json={"workflow": "build", "run_id": "r1"})
    assert state_of(client, "r1", "failed")["state"] == "failed"
    queue = Queue(stack, f"right-{namespace}", {"baton:namespace": namespace})
    target = {"kind": "sqs", "arn": queue.arn}
    assert client.put("/v1/workflows/build", json={"target": target}).status_code == 200
    assert client.post("/v1/runs/r1/resume", json={}).json()["resumed"] is True
    told = queue.message()
    assert (told["run_id"], told["attempt"]) == ("r1", 2)
    assert claimed_by(told)["attempt"] == 2


def test_what_a_hand_off_starts_is_told_of(live):
    headers = {"Baton-Namespace": f"pushed-{next(COUNT)}"}
    namespace = headers["Baton-Namespace"]
    queue = Queue(live, f"reports-of-{namespace}", {"baton:namespace": namespace})
    with httpx.Client(base_url=live.url, headers=headers, timeout=SECONDS) as client:
        wish = {"target": {"kind": "sqs", "arn": queue.arn}, "subscribes": [{"event": "run.completed:build"}]}
        client.put("/v1/workflows/report", json=wish)
        client.post("/v1/runs", json={"workflow": "build", "run_id": "b1", "mode": "attached"})
        client.post("/v1/runs/b1/finish", json={"status": "completed"})
        told = queue.message()
        assert told["workflow"] == "report"
        assert claimed_by(told)["triggered_by"]["run_id"] == "b1"
