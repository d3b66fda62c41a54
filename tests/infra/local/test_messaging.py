"""A stack has the manifest's queues and bus in its own process, but for what its settings name elsewhere."""

import json
import os
from unittest.mock import patch

import pytest

from baton.outbound.clients import LazyClient
from infra.local.delivery import Parked
from infra.local.memory import in_process
from infra.local.messaging import client_of, messaging, real_services
from infra.local.parking import Parking
from infra.local.records import Record
from infra.local.settings import local_settings
from infra.manifest import Function
from infra.signals import PARKED, QUEUES, TIMERS
from tests.infra.local.test_delivery import WRITTEN
from tests.unit.manual_clock import ManualClock

ELSEWHERE = "http://localhost:9324/000000000000/timers"
AT_AWS = "https://sqs.eu-central-1.amazonaws.com/123456789012/timers"


@pytest.fixture(autouse=True)
def moto():
    with in_process():
        yield


def settings(**given):
    return local_settings(given, suffix="-messages")


def test_functions_are_told_of_the_queue_and_the_bus_that_were_made():
    told, queues = messaging(settings())
    assert set(queues) == {queue.name for queue in QUEUES}
    assert told.timers_queue_url == queues[TIMERS.name].url
    buses = client_of("events", told.region, None).list_event_buses()["EventBuses"]
    assert told.events_bus in {bus["Name"] for bus in buses}


def test_queues_are_as_the_manifest_says():
    _, queues = messaging(settings())

    def attributes(queue):
        at = queues[queue.name]
        return at.client.get_queue_attributes(QueueUrl=at.url, AttributeNames=["All"])["Attributes"]

    for queue in QUEUES:
        assert attributes(queue)["VisibilityTimeout"] == str(queue.visibility_seconds)
        assert attributes(queue)["MessageRetentionPeriod"] == str(queue.retention_seconds)
    redrive = json.loads(attributes(TIMERS)["RedrivePolicy"])
    assert redrive == {
        "deadLetterTargetArn": attributes(PARKED)["QueueArn"],
        "maxReceiveCount": TIMERS.receives,
    }


def test_what_is_named_elsewhere_is_not_made_here():
    told, queues = messaging(settings(timers_queue_url=ELSEWHERE, events_bus="theirs"))
    assert (told.timers_queue_url, told.events_bus) == (ELSEWHERE, "theirs")
    assert queues[TIMERS.name].far
    assert queues[TIMERS.name].client.meta.endpoint_url == "http://localhost:9324"
    assert not queues[PARKED.name].far


@pytest.mark.parametrize(
    ("given", "real"),
    [
        ({}, []),
        ({"timers_queue_url": ELSEWHERE}, []),
        ({"timers_queue_url": AT_AWS}, ["sqs"]),
        ({"events_bus": "theirs"}, ["events"]),
    ],
)
def test_what_stands_at_aws_is_not_played_here(given, real):
    assert real_services(settings(**given)) == real


def test_a_dynamodb_at_aws_is_not_played_and_one_elsewhere_needs_no_leave():
    at_aws = local_settings(endpoint_url="https://dynamodb.eu-central-1.amazonaws.com")
    assert real_services(at_aws) == ["dynamodb", "dynamodbstreams"]
    assert real_services(local_settings(endpoint_url="http://localhost:8000")) == []


def test_where_sqs_is_awss_own_there_is_no_queue_to_park_on():
    assert set(messaging(settings(timers_queue_url=AT_AWS))[1]) == {TIMERS.name}


@pytest.mark.parametrize("service", ["events", "sqs", "lambda"])
def test_an_endpoint_that_is_dynamodbs_leads_nothing_else_astray(service):
    with patch.dict(os.environ, {"AWS_ENDPOINT_URL": "http://localhost:8000"}):
        messaging(settings())
        client = LazyClient(service, region=settings().region)()
    assert client.meta.endpoint_url.startswith(f"https://{service}.")


def test_queues_that_the_environment_has_elsewhere_are_pushed_to_there():
    elsewhere = {"AWS_ENDPOINT_URL": "http://localhost:8000", "AWS_ENDPOINT_URL_SQS": "http://localhost:9324"}
    with patch.dict(os.environ, elsewhere):
        messaging(settings())
        assert LazyClient("sqs", region=settings().region)().meta.endpoint_url == "http://localhost:9324"


def test_what_is_parked_says_where_the_record_stands_in_lambdas_words():
    _, queues = messaging(settings())
    parked = queues[PARKED.name]
    change = {"SequenceNumber": "7", "Keys": {}, "ApproximateCreationDateTime": WRITTEN}
    record = Record("shard-1", {"dynamodb": change, "eventSourceARN": "arn:stream"})
    function = Function(name="publish", memory_mb=128, timeout_seconds=10)
    parking = Parking(parked, clock=ManualClock(), region="eu-central-1")
    parking.park(Parked(function, record, 6, "RetryAttemptsExhausted"))
    [message] = parked.client.receive_message(QueueUrl=parked.url)["Messages"]
    said = json.loads(message["Body"])
    assert said["DDBStreamBatchInfo"] == {
        "shardId": "shard-1",
        "startSequenceNumber": "7",
        "endSequenceNumber": "7",
        "approximateArrivalOfFirstRecord": "1970-01-01T00:16:40Z",
        "approximateArrivalOfLastRecord": "1970-01-01T00:16:40Z",
        "batchSize": 1,
        "streamArn": "arn:stream",
    }
    assert said["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert said["requestContext"]["approximateInvokeCount"] == 6
    assert said["requestContext"]["functionArn"].endswith(":function:baton-local-publish")
    assert said["timestamp"] == "2026-01-01T00:00:00.000Z"
