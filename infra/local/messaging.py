"""The queues and the event bus of a stack: in this process, but for what its settings name elsewhere."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import botocore.session
from botocore.config import Config
from msgspec.structs import replace

from baton.config import Settings
from infra.signals import BUS, PARKED, QUEUES, TIMERS, Queue

AWS = ".amazonaws.com"


class QueueAt(NamedTuple):
    """A queue where it is. ``far``: not in this process."""

    client: Any
    url: str
    far: bool = False

    def send(self, body: Any) -> None:
        """Send ``body`` as JSON."""
        self.client.send_message(QueueUrl=self.url, MessageBody=json.dumps(body))


def real_services(settings: Settings) -> list[str]:
    """The services of AWS itself that the settings name, so that nothing here may play them."""
    real = ["events"] if settings.events_bus else []
    if AWS in (settings.timers_queue_url or ""):
        real.append("sqs")
    if AWS in (settings.endpoint_url or ""):
        real += ["dynamodb", "dynamodbstreams"]
    return real


def messaging(settings: Settings) -> tuple[Settings, dict[str, QueueAt]]:
    """Make the bus and the queues that the settings do not name, inside of moto.

    The settings as they are to be, and the queues by name; the one to park on is missing where SQS is AWS's.
    What is made is named after the runs table, which tells the stacks of one process apart.
    """
    queues: dict[str, QueueAt] = {}
    if "sqs" not in real_services(settings):
        queues = _made(settings)
        _stay_here("SQS", "sqs", settings.region)
    _stay_here("LAMBDA", "lambda", settings.region)
    if settings.timers_queue_url:
        queues[TIMERS.name] = _named(settings.timers_queue_url, settings.region)
    if not settings.events_bus:
        settings = replace(settings, events_bus=_bus(settings))
    return replace(settings, timers_queue_url=queues[TIMERS.name].url), queues


def client_of(service: str, region: str, endpoint_url: str | None, **config: Any) -> Any:
    """A client of a service where it is said to be."""
    return _session().create_client(
        service, region_name=region, endpoint_url=endpoint_url, config=Config(**config)
    )


@cache
def _session() -> botocore.session.Session:
    # What it reads of AWS's addresses takes longer than the rest of a client.
    return botocore.session.get_session()


def _made(settings: Settings) -> dict[str, QueueAt]:
    client = client_of("sqs", settings.region, _home("sqs", settings.region))
    queues: dict[str, QueueAt] = {}
    for queue in QUEUES:
        attributes = _attributes(queue)
        if queue.receives is not None:
            parked = queues[PARKED.name].url
            asked = client.get_queue_attributes(QueueUrl=parked, AttributeNames=["QueueArn"])
            redrive = {
                "deadLetterTargetArn": asked["Attributes"]["QueueArn"],
                "maxReceiveCount": queue.receives,
            }
            attributes["RedrivePolicy"] = json.dumps(redrive)
        name = f"{settings.runs_table}-{queue.name}"
        made = client.create_queue(QueueName=name, Attributes=attributes)
        queues[queue.name] = QueueAt(client, made["QueueUrl"])
    return queues


def _attributes(queue: Queue) -> dict[str, str]:
    return {
        "VisibilityTimeout": str(queue.visibility_seconds),
        "MessageRetentionPeriod": str(queue.retention_seconds),
    }


def _named(url: str, region: str) -> QueueAt:
    parts = urlsplit(url)
    return QueueAt(client_of("sqs", region, f"{parts.scheme}://{parts.netloc}"), url, far=True)


def _stay_here(name: str, service: str, region: str) -> None:
    """Have the functions' own clients of a service, but where the environment says otherwise, ask moto: what
    it says of every service is where DynamoDB is."""
    if "AWS_ENDPOINT_URL" in os.environ:
        os.environ.setdefault(f"AWS_ENDPOINT_URL_{name}", _home(service, region))


def _bus(settings: Settings) -> str:
    home = _home("events", settings.region)
    if "AWS_ENDPOINT_URL" in os.environ:  # which is DynamoDB's: the functions' own client must not go there
        os.environ["AWS_ENDPOINT_URL_EVENTBRIDGE"] = home
    name = f"{settings.runs_table}-{BUS}"
    client = client_of("events", settings.region, home)
    with suppress(client.exceptions.ResourceAlreadyExistsException):
        client.create_event_bus(Name=name)
    return name


def _home(service: str, region: str) -> str:
    """The address that moto answers for."""
    return f"https://{service}.{region}{AWS}"
