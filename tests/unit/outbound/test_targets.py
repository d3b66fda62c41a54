"""A hint reaches a function, a queue or a bus as its service wants it; what that says is told apart: it has
it, not now, never."""

import json
from contextlib import ExitStack
from types import SimpleNamespace
from unittest.mock import ANY

import botocore.session
import msgspec
import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from botocore.stub import Stubber

from baton.domain.catalog import Target, TargetKind
from baton.domain.pushing import Hint, Never, NotNow, Taken
from baton.domain.targets import not_allowed
from baton.outbound.clients import LazyClient
from baton.outbound.targets import FOR_GOOD, MISSING, QUIET_MS, LazyClients, Targets
from tests.unit.manual_clock import ManualClock

HINT = Hint("r1", "build", "team", 2, "https://baton.example")
BODY = {
    "run_id": "r1",
    "workflow": "build",
    "namespace": "team",
    "attempt": 2,
    "url": "https://baton.example",
}
FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:work"
QUEUE = "arn:aws:sqs:eu-west-1:123456789012:jobs"
BUS = "arn:aws:events:eu-west-1:123456789012:event-bus/jobs"
AT = {
    TargetKind.LAMBDA: Target(TargetKind.LAMBDA, FUNCTION),
    TargetKind.SQS: Target(TargetKind.SQS, QUEUE),
    TargetKind.EVENTBRIDGE: Target(TargetKind.EVENTBRIDGE, BUS),
}
URL = "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs"
SEND = {TargetKind.LAMBDA: "invoke", TargetKind.SQS: "send_message", TargetKind.EVENTBRIDGE: "put_events"}
TAGS = {
    TargetKind.LAMBDA: "list_tags",
    TargetKind.SQS: "list_queue_tags",
    TargetKind.EVENTBRIDGE: "list_tags_for_resource",
}


class Services:
    """Clients of AWS services that answer what a test says, each for one call."""

    def __init__(self, clients):
        self.asked = []
        self._clients = clients
        self.stubs = {service: Stubber(client) for service, client in clients.items()}

    def __call__(self, service, region):
        self.asked.append((service, region))
        return self._clients[service]

    def of(self, kind):
        return self.stubs[{"lambda": "lambda", "sqs": "sqs", "eventbridge": "events"}[kind.value]]


@pytest.fixture(scope="module")
def clients():
    session = botocore.session.get_session()
    return {
        service: session.create_client(service, region_name="eu-west-1")
        for service in ("lambda", "sqs", "events")
    }


@pytest.fixture
def services(clients):
    with ExitStack() as active:
        services = Services(clients)
        for stub in services.stubs.values():
            active.enter_context(stub)
        yield services


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def targets(services, clock):
    return Targets(clock, services)


def body(text):
    """A request's JSON text, compared as what it says."""

    class Said:
        def __eq__(self, other):
            return json.loads(other) == text

        __hash__ = None  # type: ignore[assignment]

    return Said()


# How each is told


def test_a_function_is_invoked_and_not_waited_for(services, targets):
    expected = {"FunctionName": f"{FUNCTION}:live", "InvocationType": "Event", "Payload": body(BODY)}
    services.stubs["lambda"].add_response("invoke", {"StatusCode": 202}, expected)
    assert targets.send(Target(TargetKind.LAMBDA, f"{FUNCTION}:live"), HINT, "rev") == Taken()
    assert services.asked == [("lambda", "eu-west-1")]
    services.stubs["lambda"].assert_no_pending_responses()


def test_a_queue_gets_a_message(services, targets):
    services.stubs["sqs"].add_response("send_message", {}, {"QueueUrl": URL, "MessageBody": body(BODY)})
    assert targets.send(AT[TargetKind.SQS], HINT, "rev") == Taken()
    services.stubs["sqs"].assert_no_pending_responses()


class Noted:
    """Equal to any text, and remembers which."""

    def __init__(self):
        self.seen = None

    def __eq__(self, other):
        self.seen = other
        return len(other) <= 128

    __hash__ = None  # type: ignore[assignment]


def test_a_fifo_queue_keeps_one_hint_of_a_push_and_puts_those_of_a_run_in_order(services, targets):
    def group(**of):
        noted = Noted()
        expected = {
            "QueueUrl": f"{URL}.fifo",
            "MessageBody": ANY,
            "MessageGroupId": noted,
            "MessageDeduplicationId": "rev",
        }
        services.stubs["sqs"].add_response("send_message", {}, expected)
        hint = msgspec.structs.replace(HINT, **of)
        assert targets.send(Target(TargetKind.SQS, f"{QUEUE}.fifo"), hint, "rev") == Taken()
        return noted.seen

    assert group(attempt=1) == group(attempt=2)
    longest = {"namespace": "n" * 63, "run_id": "r" * 128}
    others = [group(), group(namespace="another"), group(run_id="another"), group(**longest)]
    assert len(set(others)) == len(others)


def test_a_bus_gets_an_event(services, targets):
    event = {
        "EventBusName": BUS,
        "Source": "baton",
        "DetailType": "run.pending",
        "Detail": body(BODY),
    }
    said = {"FailedEntryCount": 0, "Entries": [{"EventId": "1"}]}
    services.stubs["events"].add_response("put_events", said, {"Entries": [event]})
    assert targets.send(AT[TargetKind.EVENTBRIDGE], HINT, "rev") == Taken()
    services.stubs["events"].assert_no_pending_responses()


def test_tags_are_asked_of_the_function_itself_whatever_its_version(services, targets):
    services.stubs["lambda"].add_response("list_tags", {"Tags": {"a": "b"}}, {"Resource": FUNCTION})
    assert targets.tags(Target(TargetKind.LAMBDA, f"{FUNCTION}:7")) == {"a": "b"}


def test_tags_of_a_queue_and_of_a_bus(services, targets):
    services.stubs["sqs"].add_response("list_queue_tags", {"Tags": {"a": "b"}}, {"QueueUrl": URL})
    services.stubs["sqs"].add_response("list_queue_tags", {}, {"QueueUrl": URL})
    tags = {"Tags": [{"Key": "a", "Value": "b"}]}
    services.stubs["events"].add_response("list_tags_for_resource", tags, {"ResourceARN": BUS})
    assert targets.tags(AT[TargetKind.SQS]) == {"a": "b"}
    assert targets.tags(AT[TargetKind.SQS]) == {}
    assert targets.tags(AT[TargetKind.EVENTBRIDGE]) == {"a": "b"}


# What they answer


def refuse(services, kind, operation, code, status=400):
    services.of(kind).add_client_error(operation, code, f"about {code}", status)


@pytest.mark.parametrize("kind", SEND)
@pytest.mark.parametrize("code", sorted(MISSING))
def test_what_is_not_there_or_not_for_us_refuses_for_good_and_it_is_said_what_to_do(
    services, targets, kind, code
):
    refuse(services, kind, SEND[kind], code)
    assert targets.send(AT[kind], HINT, "rev") == Never(not_allowed(AT[kind], "team"))


@pytest.mark.parametrize("kind", SEND)
@pytest.mark.parametrize("code", sorted(FOR_GOOD))
def test_what_will_not_pass_refuses_for_good(services, targets, kind, code):
    refuse(services, kind, SEND[kind], code)
    answer = targets.send(AT[kind], HINT, "rev")
    assert isinstance(answer, Never)
    assert code in answer.reason
    assert "about" not in answer.reason, "what AWS says may name the deployment's roles"


@pytest.mark.parametrize(
    ("kind", "code", "status"),
    [
        (TargetKind.LAMBDA, "TooManyRequestsException", 429),
        (TargetKind.LAMBDA, "ServiceException", 500),
        (TargetKind.LAMBDA, "ResourceConflictException", 409),
        (TargetKind.SQS, "RequestThrottled", 400),
        (TargetKind.SQS, "KmsThrottled", 400),
        (TargetKind.SQS, "ExpiredToken", 403),
        (TargetKind.EVENTBRIDGE, "InternalException", 500),
        (TargetKind.EVENTBRIDGE, "SomethingNew", 418),
    ],
)
def test_what_may_pass_refuses_for_now_and_is_asked_again_at_once(services, targets, kind, code, status):
    refuse(services, kind, SEND[kind], code, status)
    answer = targets.send(AT[kind], HINT, "rev")
    assert isinstance(answer, NotNow)
    assert code in answer.reason
    good = {"put_events": {"FailedEntryCount": 0, "Entries": [{}]}}
    services.of(kind).add_response(SEND[kind], good.get(SEND[kind], {}))
    assert targets.send(AT[kind], HINT, "rev") == Taken()


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("ThrottlingException", NotNow),
        ("InternalFailure", NotNow),
        ("NotAuthorizedForSourceException", Never),
        ("AccessDeniedException", Never),
    ],
)
def test_a_bus_that_takes_the_call_may_refuse_the_event(services, targets, code, answer):
    said = {"FailedEntryCount": 1, "Entries": [{"ErrorCode": code, "ErrorMessage": "m"}]}
    services.stubs["events"].add_response("put_events", said)
    assert isinstance(targets.send(AT[TargetKind.EVENTBRIDGE], HINT, "rev"), answer)


@pytest.mark.parametrize("kind", TAGS)
def test_tags_that_may_not_be_seen_are_none_and_throttled_ones_are_asked_for_again(services, targets, kind):
    for code in sorted(MISSING):
        refuse(services, kind, TAGS[kind], code)
        assert targets.tags(AT[kind]) == {}
    refuse(services, kind, TAGS[kind], "ThrottlingException")
    assert isinstance(targets.tags(AT[kind]), NotNow)


# One that can't be reached


class Down:
    """Services of which those in one region can't be reached."""

    def __init__(self, trouble):
        self.asked = 0
        self._trouble = trouble

    def __call__(self, _service, region):
        self.asked += 1
        return self if region == "eu-west-1" else Fine()

    def invoke(self, **_request):
        raise self._trouble

    list_tags = invoke


class Fine:
    def invoke(self, **_request):
        return {}


@pytest.mark.parametrize(
    "trouble", [EndpointConnectionError(endpoint_url="x"), ReadTimeoutError(endpoint_url="x")]
)
def test_one_that_can_not_be_reached_is_left_alone_for_a_while_and_no_other_is(clock, trouble):
    down = Down(trouble)
    targets, target = Targets(clock, down), AT[TargetKind.LAMBDA]
    other = Target(TargetKind.LAMBDA, FUNCTION.replace("eu-west-1", "eu-north-1"))
    assert isinstance(targets.send(target, HINT, "rev"), NotNow)
    assert isinstance(targets.send(target, HINT, "rev"), NotNow)
    assert isinstance(targets.tags(target), NotNow)
    assert down.asked == 1
    assert targets.send(other, HINT, "rev") == Taken()
    clock.advance(QUIET_MS / 1000)
    assert isinstance(targets.send(target, HINT, "rev"), NotNow)
    assert down.asked == 3
    clock.set_back(3600)
    assert isinstance(targets.send(target, HINT, "rev"), NotNow)
    assert down.asked == 4, "nor is one left alone for as long as a clock is set back"


def test_there_is_one_client_for_each_service_and_region(monkeypatch):
    made = []

    def make(lazy):
        made.append(lazy)
        return SimpleNamespace()

    monkeypatch.setattr(LazyClient, "_made", make)
    clients = LazyClients()
    assert clients("sqs", "a") is clients("sqs", "a")
    assert clients("sqs", "a") is not clients("sqs", "b")
    assert clients("lambda", "a") is not clients("sqs", "a")
    assert len(made) == 3
