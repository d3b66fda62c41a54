"""Hints to targets: a Lambda function is invoked, an SQS queue gets a message, an EventBridge bus an event.

EventBridge takes what is sent to a bus that is not there, and drops it: that there is one, its tags show.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, cast

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from baton.bounded import Bounded
from baton.domain.catalog import Target, TargetKind
from baton.domain.clock import Clock, Millis, recent
from baton.domain.pushing import Answer, Hint, Never, NotNow, Taken
from baton.domain.targets import Resource, not_allowed, resource
from baton.observability import logger, told
from baton.outbound.clients import Client, LazyClient

SOURCE = "baton"
DETAIL_TYPE = "run.pending"

QUIET_MS = 10_000
"""How long a target that could not be reached is not tried again: each try costs seconds, which others in the
same batch would wait for."""

MAX_QUIET = 1_000

MISSING = frozenset(
    {
        "ResourceNotFoundException",
        "QueueDoesNotExist",
        "AWS.SimpleQueueService.NonExistentQueue",
        "AccessDenied",
        "AccessDeniedException",
    }
)
"""Errors that say that a resource is not there, or is not to be used: where rights depend on a tag, the one
can't be told from the other."""

FOR_GOOD = frozenset(
    {
        "InvalidAddress",
        "InvalidArgument",
        "InvalidMessageContents",
        "InvalidParameterValueException",
        "InvalidRequestContentException",
        "InvalidRuntimeException",
        "KMSAccessDeniedException",
        "KMSDisabledException",
        "KMSNotFoundException",
        "KmsAccessDenied",
        "KmsDisabled",
        "KmsInvalidKeyUsage",
        "KmsNotFound",
        "ModeNotSupportedException",
        "NotAuthorizedForDetailTypeException",
        "NotAuthorizedForSourceException",
        "UnsupportedOperation",
    }
)
"""Other errors that do not pass by themselves. Source: the API references of Invoke, SendMessage and
PutEvents. What is not named here may pass."""

Clients = Callable[[str, str], Any]
"""Gives the client of a service in a region."""

T = TypeVar("T")


class LazyClients:
    """Clients of services in regions, each made by the first call. Safe for threads."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], Client] = {}

    def __call__(self, service: str, region: str) -> Any:
        return self._made.setdefault((service, region), LazyClient(service, region=region))()


class Targets:
    """Where targets are told that runs wait, and asked for their tags.

    Nothing is raised for what a target does. One that can't be reached is left alone for a while, which no
    other target is the worse for. Safe for threads.
    """

    def __init__(self, clock: Clock, clients: Clients | None = None) -> None:
        self._clock = clock
        self._clients = clients or LazyClients()
        self._failed_at = Bounded[str, Millis](MAX_QUIET)

    def send(self, target: Target, hint: Hint, mark: str) -> Answer:
        """Tell a target of a run. ``mark`` stands for this push: of those with the same one a FIFO queue
        keeps one."""
        way, found = _WAYS[target.kind], resource(target)
        try:
            self._ask(way, found, lambda client: way.send(client, found, target.arn, hint, mark))
        except _Unreachable:
            return NotNow(f"{target.arn} can't be reached")
        except ClientError as refusal:
            code = _noted(refusal, target)
            if code in MISSING:
                return Never(not_allowed(target, hint.namespace))
            if code in FOR_GOOD:
                return Never(f"{target.arn} refuses the hint with {code}: see to that, and resume the run")
            return NotNow(f"{target.arn} does not take the hint now: {code}")
        return Taken()

    def tags(self, target: Target) -> Mapping[str, str] | NotNow:
        """The tags of a target; none where it is not there, or Baton may not see them."""
        way, found = _WAYS[target.kind], resource(target)
        try:
            return self._ask(way, found, lambda client: way.tags(client, found))
        except _Unreachable:
            return NotNow(f"{target.arn} can't be reached")
        except ClientError as refusal:
            code = _noted(refusal, target)
            if code in MISSING | FOR_GOOD:
                return {}
            return NotNow(f"the tags of {target.arn} can't be read now: {code}")

    def _ask(self, way: _Way, found: Resource, ask: Callable[[Any], T]) -> T:
        """The answer of a resource's service. Raises _Unreachable, and ClientError."""
        if recent(self._failed_at.get(found.arn), self._clock.now(), QUIET_MS):
            raise _Unreachable
        try:
            return ask(self._clients(way.service, found.region))
        except BotoCoreError as exc:
            self._failed_at[found.arn] = self._clock.now()
            logger.warning("a target can't be reached", target=found.arn, reason=told(exc))
            raise _Unreachable from exc


class _Unreachable(Exception):
    """A target that can't be reached, or could not be a moment ago."""


class _Way(NamedTuple):
    """How resources of a kind are told of a run, and asked for their tags. Both raise ClientError."""

    service: str
    send: Callable[[Any, Resource, str | None, Hint, str], object]
    tags: Callable[[Any, Resource], Mapping[str, str]]


def _noted(refusal: ClientError, target: Target) -> str:
    """The code of a refusal. What else it says is for the deployment's own eyes: it may name its roles."""
    logger.warning("a target refuses", target=target.arn, reason=str(refusal))
    return str(refusal.response["Error"]["Code"])


def _invoke(client: Any, _found: Resource, arn: str | None, hint: Hint, _mark: str) -> None:
    client.invoke(FunctionName=arn, InvocationType="Event", Payload=msgspec.json.encode(hint))


def _function_tags(client: Any, found: Resource) -> Mapping[str, str]:
    return cast("Mapping[str, str]", client.list_tags(Resource=found.arn)["Tags"])


def _send_message(client: Any, found: Resource, _arn: str | None, hint: Hint, mark: str) -> None:
    once = {"MessageGroupId": _group(hint), "MessageDeduplicationId": mark}
    client.send_message(
        QueueUrl=_queue_url(client, found),
        MessageBody=msgspec.json.encode(hint).decode(),
        **(once if found.name.endswith(".fifo") else {}),
    )


def _group(hint: Hint) -> str:
    """The pushes of one run keep their order in a FIFO queue, and wait for no other's: two namespaces may
    push to one queue. A group's name may have 128 characters, and the two together have more."""
    return hashlib.sha256(f"{hint.namespace}#{hint.run_id}".encode()).hexdigest()


def _queue_tags(client: Any, found: Resource) -> Mapping[str, str]:
    answer = client.list_queue_tags(QueueUrl=_queue_url(client, found))
    return cast("Mapping[str, str]", answer.get("Tags", {}))


def _queue_url(client: Any, found: Resource) -> str:
    return f"{client.meta.endpoint_url}/{found.account}/{found.name}"


def _put_event(client: Any, _found: Resource, arn: str | None, hint: Hint, _mark: str) -> None:
    event = {
        "EventBusName": arn,
        "Source": SOURCE,
        "DetailType": DETAIL_TYPE,
        "Detail": msgspec.json.encode(hint).decode(),
    }
    [result] = client.put_events(Entries=[event])["Entries"]
    if "ErrorCode" in result:
        code, said = result["ErrorCode"], result.get("ErrorMessage", "")
        raise ClientError({"Error": {"Code": code, "Message": said}}, "PutEvents")


def _bus_tags(client: Any, found: Resource) -> Mapping[str, str]:
    answer = client.list_tags_for_resource(ResourceARN=found.arn)
    return {tag["Key"]: tag["Value"] for tag in answer["Tags"]}


_WAYS = {
    TargetKind.LAMBDA: _Way("lambda", _invoke, _function_tags),
    TargetKind.SQS: _Way("sqs", _send_message, _queue_tags),
    TargetKind.EVENTBRIDGE: _Way("events", _put_event, _bus_tags),
}
