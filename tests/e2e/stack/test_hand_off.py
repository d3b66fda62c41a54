"""An ending starts its subscribers by the stream of its table, on moto and DynamoDB Local; no sweep runs."""

import itertools
import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from infra.local.messaging import client_of
from infra.local.testing import running_stack

SECONDS = 60
COUNT = itertools.count()


@pytest.fixture(scope="module")
def on_moto():
    with running_stack(schedules=False) as stack:
        yield stack


@pytest.fixture(scope="module")
def on_dynamodb_local(dynamodb_local_url):
    with running_stack(schedules=False, endpoint_url=dynamodb_local_url) as stack:
        yield stack


@pytest.fixture(params=["on_moto", pytest.param("on_dynamodb_local", marks=pytest.mark.dynamodb_local)])
def stack(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def client(stack):
    """A client with a namespace of its own, in which `report` is started when `build` completes."""
    headers = {"Baton-Namespace": f"hand-off-{next(COUNT)}"}
    with httpx.Client(base_url=stack.url, headers=headers, timeout=SECONDS) as client:
        subscribes = [{"event": "run.completed:build"}]
        assert client.put("/v1/workflows/report", json={"subscribes": subscribes}).status_code == 201
        yield client


def settle(client, run_id):
    assert client.post("/v1/runs", json={"workflow": "build", "run_id": run_id}).status_code == 201
    done = client.post(f"/v1/runs/{run_id}/finish", json={"status": "completed", "output": {"of": run_id}})
    assert done.json()["finished"] is True


def reports(client):
    """Every run of `report`, page by page."""
    query = {"workflow": "report", "limit": "100"}
    while True:
        page = client.get("/v1/runs", params=query).json()
        yield from page["runs"]
        if "next_token" not in page:
            return
        query["next_token"] = page["next_token"]


def until(look, wanted):
    """What ``look`` gives, once it is as ``wanted``; the live path has the time that a test has."""
    deadline = time.monotonic() + SECONDS
    while True:
        seen = look()
        if wanted(seen) or time.monotonic() > deadline:
            return seen


def test_a_subscriber_is_started_once_with_the_ending_as_its_input(client):
    settle(client, "b1")
    [report] = until(lambda: list(reports(client)), len)
    detail = client.get(f"/v1/runs/{report['id']}").json()["run"]
    assert detail["state"] == "pending"
    assert detail["triggered_by"] == {
        "run_id": "b1",
        "workflow": "build",
        "event": "run.completed:build",
        "attempt": 1,
    }
    assert detail["input"]["run"]["output"] == {"of": "b1"}
    deliveries = until(
        lambda: client.get("/v1/runs/b1").json()["deliveries"],
        lambda seen: [each["state"] for each in seen] == ["started"],
    )
    assert [(each["subscriber"], each["run_id"]) for each in deliveries] == [("report", report["id"])]


@pytest.mark.parametrize("many", [16, pytest.param(100, marks=pytest.mark.slow)])
def test_of_many_that_settle_at_once_each_has_its_subscriber_started_once(client, many):
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: settle(client, f"b{number}"), range(many)))
    started = until(lambda: list(reports(client)), lambda seen: len(seen) >= many)
    assert Counter(run["triggered_by"]["run_id"] for run in started) == {f"b{n}": 1 for n in range(many)}


def test_a_run_that_waits_is_woken_when_what_it_waits_for_settles(client):
    for run_id in ("awaited", "waiting"):
        client.post("/v1/runs", json={"workflow": "w", "run_id": run_id})
    assert client.post("/v1/runs/waiting/suspend", json={"run": "awaited"}).status_code == 200
    client.post("/v1/runs/awaited/finish", json={"status": "failed"})
    states = until(
        lambda: client.get("/v1/runs/waiting").json()["run"]["state"], lambda state: state == "running"
    )
    assert states == "running"


def test_everyone_outside_is_told_of_each_thing_under_one_id(stack, client):
    bus, namespace = Bus(stack), client.headers["Baton-Namespace"]
    settle(client, "b1")
    [report] = until(lambda: list(reports(client)), len)
    seen = until(lambda: bus.told(namespace), lambda seen: sum(len(each) for each in seen.values()) == 4)
    kinds = {kind: len(events) for kind, events in seen.items()}
    assert kinds == {"run.started": 2, "run.completed": 1, "run.triggered": 1}
    [triggered] = seen["run.triggered"].values()
    assert triggered["data"]["started_run_id"] == report["id"]
    [completed] = seen["run.completed"].values()
    assert completed["data"]["run"]["output"] == {"of": "b1"}


class Bus:
    """All that comes over a stack's bus, by way of a rule and a queue."""

    def __init__(self, stack):
        settings = stack.runtime.settings
        events = client_of("events", settings.region, None)
        self._queue = client_of("sqs", settings.region, None)
        self._url = self._queue.create_queue(QueueName=f"{settings.events_bus}-told")["QueueUrl"]
        asked = self._queue.get_queue_attributes(QueueUrl=self._url, AttributeNames=["QueueArn"])
        rule = {"Name": "all", "EventBusName": settings.events_bus}
        events.put_rule(**rule, EventPattern=json.dumps({"source": ["baton"]}))
        target = {"Id": "queue", "Arn": asked["Attributes"]["QueueArn"]}
        events.put_targets(Rule="all", EventBusName=settings.events_bus, Targets=[target])
        self._seen = {}

    def told(self, namespace):
        """The events of a namespace by type and id."""
        answer = self._queue.receive_message(QueueUrl=self._url, MaxNumberOfMessages=10)
        for message in answer.get("Messages", ()):
            said = json.loads(message["Body"])
            if said["detail"]["source"] == f"urn:baton:{namespace}":
                self._seen.setdefault(said["detail-type"], {})[said["detail"]["id"]] = said["detail"]
        return self._seen
