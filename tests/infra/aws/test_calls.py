"""What calls the functions on AWS is what calls them on a laptop, entry by entry: routes, schedules, streams
with their filters, queues."""

import json
import re

import pytest

from infra.local.routing import Router
from infra.local.scheduler import Scheduler
from infra.manifest import AUTHORIZER, FUNCTIONS
from infra.signals import PARKED, QUEUES
from tests.unit.manual_clock import ManualClock

pytestmark = pytest.mark.aws

STREAMED = [(each, source) for each in FUNCTIONS for source in each.streams_from]


def deployed_routes(stage):
    """Route key -> (function, who may come)."""
    integrations = {
        name: each["Properties"] for name, each in stage.of("AWS::ApiGatewayV2::Integration").items()
    }
    routes = {}
    for each in stage.properties("AWS::ApiGatewayV2::Route"):
        integration = integrations[each["Target"]["Fn::Join"][1][1]["Ref"]]
        assert integration["PayloadFormatVersion"] == "2.0"
        function = stage.text(integration["IntegrationUri"]).removeprefix("function/")
        routes[each["RouteKey"]] = (function, each["AuthorizationType"])
    return routes


def sources(stage):
    """(function, source) -> event source mapping."""
    return {
        (
            stage.text(each["FunctionName"]).removeprefix("function/"),
            stage.text(each["EventSourceArn"]),
        ): each
        for each in stage.properties("AWS::Lambda::EventSourceMapping")
    }


def test_the_gateway_and_the_laptop_route_alike(dev):
    router = Router(FUNCTIONS)
    local = {route.key: each.name for route, each in router._routes}
    default = router.match("GET", "/nowhere")
    local[default.route_key] = default.function.name
    deployed = {key: function for key, (function, _) in deployed_routes(dev).items()}
    assert deployed == local


@pytest.mark.parametrize("route", [route for each in FUNCTIONS for route in each.routes], ids=lambda r: r.key)
def test_a_path_leads_to_the_same_function_on_both(dev, route):
    match = Router(FUNCTIONS).match(route.method, re.sub(r"\{\w+\}", "some", route.path))
    assert deployed_routes(dev)[match.route_key][0] == match.function.name


OPEN = {f"{route.method} {route.path}" for each in FUNCTIONS for route in each.routes if route.open}


def test_every_route_asks_the_one_authoriser_but_that_of_health_and_where_nothing_is(stages):
    assert {"GET /v1/health"} == OPEN
    for stage in stages.values():
        [authorizer] = stage.of("AWS::ApiGatewayV2::Authorizer")
        asked = {
            route["RouteKey"]: (route["AuthorizationType"], route.get("AuthorizerId"))
            for route in stage.properties("AWS::ApiGatewayV2::Route")
        }
        open_ = dict.fromkeys({*OPEN, "$default"}, ("NONE", None))
        assert asked == dict.fromkeys(asked, ("CUSTOM", {"Ref": authorizer})) | open_


@pytest.mark.parametrize(
    ("name", "called", "seconds", "shown"),
    [
        ("prod", AUTHORIZER, 60, ["$request.header.Authorization"]),
        ("wary", f"{AUTHORIZER}:live", 0, []),
    ],
)
def test_the_authoriser_is_remembered_by_what_was_shown_or_not_at_all(request, name, called, seconds, shown):
    stage = request.getfixturevalue(name)
    [made] = stage.properties("AWS::ApiGatewayV2::Authorizer")
    assert (made["AuthorizerType"], made["AuthorizerPayloadFormatVersion"]) == ("REQUEST", "2.0")
    assert made["EnableSimpleResponses"] is True
    assert (made["AuthorizerResultTtlInSeconds"], made["IdentitySource"]) == (seconds, shown)
    assert f"/functions/function/{called}/invocations" in stage.text(made["AuthorizerUri"])
    [itself] = stage.of("AWS::ApiGatewayV2::Authorizer")
    [may] = [
        stage.text(each["SourceArn"])
        for each in stage.properties("AWS::Lambda::Permission")
        if stage.text(each["FunctionName"]) == f"function/{called}"
    ]
    assert may.endswith(f"/authorizers/AWS::ApiGatewayV2::Authorizer/{itself}"), "it may ask, and not route"


def test_a_stage_may_leave_it_to_iam_who_comes_by_every_route_but_that_of_health(by_iam):
    who = {key: who for key, (_, who) in deployed_routes(by_iam).items()}
    assert who == dict.fromkeys(who, "AWS_IAM") | dict.fromkeys(OPEN, "NONE")
    assert not by_iam.of("AWS::ApiGatewayV2::Authorizer")
    assert access_log(by_iam)["caller"] == "$context.identity.userArn"


def access_log(stage):
    [made] = stage.properties("AWS::ApiGatewayV2::Stage")
    return json.loads(made["AccessLogSettings"]["Format"])


def test_the_gateway_lets_in_so_much_and_logs_each_request_without_what_it_says(tuned):
    [stage] = tuned.properties("AWS::ApiGatewayV2::Stage")
    limits = stage["DefaultRouteSettings"]
    assert (limits["ThrottlingRateLimit"], limits["ThrottlingBurstLimit"]) == (7, 9)
    logged = access_log(tuned)
    assert {"$context.requestId", "$context.status"} <= set(logged.values())
    assert logged["caller"] == "$context.authorizer.token_id"
    said = ("path", "querystring", "body", "header")
    assert not [value for value in logged.values() if any(word in value.lower() for word in said)]
    [group] = [
        each
        for name, each in tuned.of("AWS::Logs::LogGroup").items()
        if name == stage["AccessLogSettings"]["DestinationArn"]["Fn::GetAtt"][0]
    ]
    assert group["Properties"]["RetentionInDays"] == 30


def test_the_clock_calls_what_it_calls_on_the_laptop(dev):
    local = Scheduler(FUNCTIONS, lambda *_: None, clock=ManualClock(), region="r")._functions
    expected = {each.name: f"rate({each.schedule.every_minutes} minute)" for each in local if each.schedule}
    deployed = {}
    for each in dev.properties("AWS::Scheduler::Schedule"):
        target = each["Target"]
        deployed[dev.text(target["Arn"]).removeprefix("function/")] = each["ScheduleExpression"]
        assert dev.text(target["DeadLetterConfig"]["Arn"]) == "queue/parked"
        assert each.get("State", "ENABLED") == "ENABLED"
        assert "Input" not in target, "the handlers get the scheduler's own event, as the laptop makes it"
    assert deployed == expected


def test_a_schedule_may_call_its_function_and_put_aside_and_only_schedules_may_take_its_role(dev):
    for each in dev.properties("AWS::Scheduler::Schedule"):
        role = dev.service["Resources"][each["Target"]["RoleArn"]["Fn::GetAtt"][0]]["Properties"]
        [trust] = role["AssumeRolePolicyDocument"]["Statement"]
        assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
        assert set(trust["Condition"]["StringEquals"]) == {"aws:SourceAccount", "aws:SourceArn"}
        [policy] = role["Policies"]
        may = {(one["Action"], dev.text(one["Resource"])) for one in policy["PolicyDocument"]["Statement"]}
        assert may == {
            ("lambda:InvokeFunction", dev.text(each["Target"]["Arn"])),
            ("sqs:SendMessage", "queue/parked"),
        }


def test_streams_and_queues_call_what_they_call_on_the_laptop(dev):
    streams = {(each.name, f"table/{source.table}/stream") for each, source in STREAMED}
    queues = {(each.name, f"queue/{each.queue.queue.name}") for each in FUNCTIONS if each.queue}
    assert set(sources(dev)) == streams | queues


@pytest.mark.parametrize(("function", "source"), STREAMED, ids=lambda each: getattr(each, "name", ""))
def test_a_stream_is_read_from_its_beginning_through_the_laptops_filters_and_to_an_end(dev, function, source):
    mapping = sources(dev)[(function.name, f"table/{source.table}/stream")]
    patterns = [json.loads(each["Pattern"]) for each in mapping["FilterCriteria"]["Filters"]]
    assert patterns == [dict(each) for each in source.filters]
    assert mapping["StartingPosition"] == "TRIM_HORIZON"
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["BisectBatchOnFunctionError"] is source.bisect
    assert mapping["BatchSize"] == source.batch_size
    assert mapping["MaximumBatchingWindowInSeconds"] == source.window_seconds
    assert mapping["ParallelizationFactor"] == source.parallel
    assert 0 <= mapping["MaximumRetryAttempts"] == source.retries
    assert 0 < mapping["MaximumRecordAgeInSeconds"] == source.max_age_seconds
    destination = mapping["DestinationConfig"]["OnFailure"]["Destination"]
    assert dev.text(destination) == f"queue/{source.on_failure.name}"


@pytest.mark.parametrize("function", [each for each in FUNCTIONS if each.queue], ids=lambda each: each.name)
def test_a_queue_is_read_in_batches_by_so_many_at_once(dev, function):
    mapping = sources(dev)[(function.name, f"queue/{function.queue.queue.name}")]
    assert mapping["BatchSize"] == function.queue.batch_size
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": function.queue.concurrency}
    assert 2 <= function.queue.concurrency <= 1000
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


@pytest.mark.parametrize("spec", QUEUES, ids=lambda spec: spec.name)
def test_a_queue_is_as_the_manifest_says_and_encrypted(dev, spec):
    [queue] = [
        each for each in dev.properties("AWS::SQS::Queue") if each["QueueName"] == f"baton-dev-{spec.name}"
    ]
    assert queue["VisibilityTimeout"] == spec.visibility_seconds
    assert queue["MessageRetentionPeriod"] == spec.retention_seconds
    assert queue["SqsManagedSseEnabled"] is True
    redrive = queue.get("RedrivePolicy")
    if spec.receives is None:
        assert redrive is None
    else:
        assert redrive["maxReceiveCount"] == spec.receives
        assert dev.text(redrive["deadLetterTargetArn"]) == f"queue/{PARKED.name}"
