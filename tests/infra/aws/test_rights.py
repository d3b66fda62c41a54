"""Each function may do what the manifest says on what the manifest names, and nothing more: read from the
template, both ways. (`tests/infra/test_manifest.py` holds the manifest against what functions do.)"""

import pytest

from infra.manifest import AUTHORIZER, FUNCTIONS
from infra.signals import BUS, ITSELF, KEYS, TARGETS
from tests.infra.aws.synthesized import listed

pytestmark = pytest.mark.aws

ACCOUNTS = "arn:${AWS::Partition}:%s:*:${AWS::AccountId}:%s"
TARGETS_OF = {
    "lambda": ACCOUNTS % ("lambda", "function:*"),
    "sqs": ACCOUNTS % ("sqs", "*"),
    "events": ACCOUNTS % ("events", "event-bus/*"),
}
TAGGED = {"Null": {"aws:ResourceTag/baton:namespace": "false"}}


def needed(function, prefix):
    """(action, resource) of all that the manifest says of a function."""
    for right in function.rights:
        place = f"table/{right.table}" + (f"/index/{right.index}" if right.index else "")
        yield from ((f"dynamodb:{action}", place) for action in right.actions)
    here = "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function"
    places = {ITSELF: f"{here}:{prefix}-{function.name}", BUS: "bus", KEYS: "secret"}
    for action, resource in function.signals:
        if resource == TARGETS:
            yield action, TARGETS_OF[action.partition(":")[0]]
        else:
            yield action, places.get(resource, f"queue/{resource}")
    for source in function.streams_from:
        for action in ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"):
            yield f"dynamodb:{action}", f"table/{source.table}/stream"
    if function.queue:
        for action in ("DeleteMessage", "GetQueueAttributes", "ReceiveMessage"):
            yield f"sqs:{action}", f"queue/{function.queue.queue.name}"
    yield from (("sqs:SendMessage", f"queue/{queue.name}") for queue in function.parks)
    yield from ((f"xray:{action}", "*") for action in ("PutTelemetryRecords", "PutTraceSegments"))


def granted(stage, function):
    """(action, resource) of all that the template allows a function, but its own log group."""
    group = stage.text(stage.function(function.name)["LoggingConfig"]["LogGroup"])
    for statement in stage.statements(function.name):
        assert statement["Effect"] == "Allow"
        assert "NotAction" not in statement and "NotResource" not in statement
        for action in listed(statement["Action"]):
            for resource in listed(statement["Resource"]):
                place = stage.text(resource)
                if place == group:
                    assert action in ("logs:CreateLogStream", "logs:PutLogEvents")
                else:
                    yield action, place


@pytest.mark.parametrize("name", ["dev", "prod"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.name)
def test_a_role_grants_what_the_manifest_says_and_nothing_else(stages, name, function):
    stage = stages[name]
    assert set(granted(stage, function)) == set(needed(function, stage.prefix))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.name)
def test_no_action_has_a_wildcard_and_no_resource_that_could_be_named(prod, function):
    for action, resource in granted(prod, function):
        assert "*" not in action
        if "*" in resource:
            assert resource in TARGETS_OF.values() or action.startswith("xray:")


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.name)
def test_what_is_not_named_may_be_pushed_to_only_where_its_tag_says_so(prod, function):
    for statement in prod.statements(function.name):
        for resource in listed(statement["Resource"]):
            pushed_to = prod.text(resource) in TARGETS_OF.values()
            assert statement.get("Condition") == (TAGGED if pushed_to else None)


def test_what_a_stage_lists_may_be_pushed_to_as_it_stands(tuned):
    statements = {each.get("Sid"): each for each in tuned.statements("publish")}
    sqs, lambda_ = statements["ListedSqs"], statements["ListedLambda"]
    assert sqs["Resource"] == "arn:aws:sqs:*:000000000000:jobs-*"
    assert sqs["Action"] == ["sqs:ListQueueTags", "sqs:SendMessage"]
    assert lambda_["Resource"] == "arn:aws:lambda:eu-west-1:000000000000:function:f"
    assert "ListedEvents" not in statements


def test_no_two_functions_share_a_role_and_lambda_alone_may_take_it(prod):
    roles = [each["Role"]["Fn::GetAtt"][0] for each in prod.properties("AWS::Lambda::Function")]
    assert len(set(roles)) == len(roles) == len(FUNCTIONS)
    for role in roles:
        document = prod.service["Resources"][role]["Properties"]["AssumeRolePolicyDocument"]
        [statement] = document["Statement"]
        assert statement["Principal"] == {"Service": "lambda.amazonaws.com"}


def test_nothing_of_ours_carries_the_tag_that_lets_runs_be_pushed_to_it(prod):
    for resource in {**prod.storage["Resources"], **prod.service["Resources"]}.values():
        assert "baton:namespace" not in str(resource.get("Properties", {}).get("Tags", ""))


def test_the_gateway_may_call_only_what_it_routes_to_and_whom_it_asks(prod):
    for permission in prod.properties("AWS::Lambda::Permission"):
        assert permission["Principal"] == "apigateway.amazonaws.com"
        assert permission["Action"] == "lambda:InvokeFunction"
        assert "execute-api" in prod.text(permission["SourceArn"])
    called = {prod.text(each["FunctionName"]) for each in prod.properties("AWS::Lambda::Permission")}
    routed = {f"function/{each.name}" for each in FUNCTIONS if each.routes or each.default}
    assert called == routed | {f"function/{AUTHORIZER}"}
