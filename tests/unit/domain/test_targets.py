"""What a target's ARN names, and which targets nobody may push to."""

import pytest

from baton.domain.catalog import Target, TargetKind
from baton.domain.targets import Resource, batons_own, is_batons, is_listed, not_allowed, resource

FUNCTION = "arn:aws:lambda:eu-central-1:123456789012:function:work"
QUEUE = "arn:aws-cn:sqs:cn-north-1:123456789012:jobs.fifo"
BUS = "arn:aws:events:us-east-1:123456789012:event-bus/team/jobs"


@pytest.mark.parametrize(
    ("kind", "arn", "named"),
    [
        (TargetKind.LAMBDA, FUNCTION, Resource(FUNCTION, "eu-central-1", "123456789012", "work")),
        (TargetKind.LAMBDA, f"{FUNCTION}:live", Resource(FUNCTION, "eu-central-1", "123456789012", "work")),
        (TargetKind.SQS, QUEUE, Resource(QUEUE, "cn-north-1", "123456789012", "jobs.fifo")),
        (TargetKind.EVENTBRIDGE, BUS, Resource(BUS, "us-east-1", "123456789012", "team/jobs")),
    ],
)
def test_an_arn_names_a_resource_without_its_version(kind, arn, named):
    assert resource(Target(kind, arn)) == named


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("baton-publish", True),
        ("my-timers", True),
        ("baton", False),
        ("batonwork", False),
        ("my-timers-2", False),
        ("work-baton-", False),
    ],
)
def test_batons_own_are_known_by_their_names(name, own):
    found = Resource("arn", "region", "account", name)
    assert is_batons(found, "baton-", {"my-timers"}) is own


def test_without_a_prefix_only_the_names_count():
    assert not is_batons(Resource("arn", "region", "account", "work"), "", {"timers"})
    assert is_batons(Resource("arn", "region", "account", "timers"), "", {"timers"})


@pytest.mark.parametrize(
    ("patterns", "listed"),
    [
        ((), False),
        ((FUNCTION,), True),
        (("arn:aws:lambda:*:123456789012:function:*",), True),
        (("arn:aws:sqs:*", "*:function:work"), True),
        (("arn:aws:lambda:*:function:Work",), False),
        (("function:work",), False),
    ],
)
def test_the_deployment_lists_whole_arns_letter_by_letter(patterns, listed):
    assert is_listed(Target(TargetKind.LAMBDA, FUNCTION), patterns) is listed


def test_reasons_say_what_to_do():
    target = Target(TargetKind.LAMBDA, FUNCTION)
    said = not_allowed(target, "team")
    assert FUNCTION in said
    assert "baton:namespace=team" in said
    assert "resume the run" in said
    assert "register another target" in batons_own(target)
