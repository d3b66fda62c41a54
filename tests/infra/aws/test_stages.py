"""What differs between stages, what none of them says, and what watches over each."""

import json
import re

import pytest

from baton import observability
from baton.config import Settings
from infra.alarms import ALARMS, OfFunction, OfOperation, OfQueue

pytestmark = pytest.mark.aws


def test_an_unknown_stage_is_refused_by_name():
    from infra.aws.stage import stage_of

    with pytest.raises(LookupError, match="dev, prod"):
        stage_of("prd")
    assert stage_of(None).name == "dev"


def test_the_gateway_remembers_callers_for_as_long_as_a_laptops():
    from infra.aws.stage import STAGES

    laptop = Settings(runs_table="r", log_table="l", catalog_table="c").authorizer_seconds
    assert {each.authorizer_seconds for each in STAGES.values()} == {laptop}
    assert {each.auth for each in STAGES.values()} == {"tokens"}


@pytest.mark.parametrize(
    "given",
    [
        {"snap_start": frozenset({"start"}), "provisioned": {"start": 1}},
        {"targets_allowed": ("arn:aws:sqs:*:*:[ab]",)},
        {"targets_allowed": ("*",)},
        {"authorizer_seconds": -1},
        {"authorizer_seconds": 3601},
        {"settings": {"authorizer_seconds": "30"}},
        {"settings": {"iam_rolle": "viewer"}},
        {"settings": {"iam_role": "vewer"}},
        {"settings": {"iam_namespace": "Team"}},
    ],
)
def test_a_stage_that_aws_or_its_containers_would_refuse_is_refused_at_once(given):
    from infra.aws.stage import Stage

    with pytest.raises(ValueError, match=r"Lambda takes no two|not patterns|authorizer_seconds|^settings: "):
        Stage(name="x", protected=False, log_days=7, requests_per_second=1, burst=1, **given)


def test_no_template_names_an_account_or_a_region(stages):
    for stage in stages.values():
        text = json.dumps([stage.storage, stage.service])
        assert not re.findall(r"\b\d{12}\b", text)
        assert not re.findall(r"\b[a-z]{2}-(?:north|south|east|west|central)[a-z]*-\d\b", text)


def test_every_region_would_take_the_templates(prod):
    # `make synth` lints those of `dev`, for one region.
    from cfnlint.api import lint_all

    for template in (prod.storage, prod.service):
        found = [each for each in lint_all(json.dumps(template)) if not each.rule.id.startswith("I")]
        assert [str(each) for each in found] == []


def test_what_is_ours_is_called_so_that_nobody_may_push_to_it(prod):
    prefix = Settings(runs_table="r", log_table="l", catalog_table="c").own_prefix
    names = [each["FunctionName"] for each in prod.properties("AWS::Lambda::Function")]
    names += [each["QueueName"] for each in prod.properties("AWS::SQS::Queue")]
    names += [each["Name"] for each in prod.properties("AWS::Events::EventBus")]
    assert [name for name in names if not name.startswith(prefix)] == []


def test_only_a_protected_stages_stack_refuses_to_be_deleted(synthesize):
    import aws_cdk as cdk

    from infra.aws.stacks import Storage
    from infra.aws.stage import STAGES

    for name, refuses in (("dev", False), ("prod", True)):
        assert Storage(cdk.App(), f"s-{name}", stage=STAGES[name]).termination_protection is refuses


# Alarms


def alarm(stage, spec):
    [found] = [
        each
        for each in stage.properties("AWS::CloudWatch::Alarm")
        if each["AlarmName"] == f"{stage.prefix}-{spec.name}"
    ]
    return found


def test_each_alarm_is_deployed_once_and_no_other(prod):
    deployed = [each["AlarmName"] for each in prod.properties("AWS::CloudWatch::Alarm")]
    assert sorted(deployed) == sorted(f"baton-prod-{spec.name}" for spec in ALARMS)


@pytest.mark.parametrize("spec", ALARMS, ids=lambda spec: spec.name)
def test_an_alarm_looks_at_what_is_measured_of_this_stage_and_tells_somebody(prod, spec):
    made = alarm(prod, spec)
    dimensions = {each["Name"]: each["Value"] for each in made["Dimensions"]}
    match spec.metric:
        case OfFunction(function, _):
            assert made["Namespace"] == "AWS/Lambda"
            assert dimensions == {"FunctionName": prod.function(function)["FunctionName"]}
        case OfQueue(queue, _):
            assert made["Namespace"] == "AWS/SQS"
            assert dimensions == {"QueueName": f"baton-prod-{queue}"}
        case OfOperation(operation, _):
            assert dimensions == {"operation": operation, "service": "baton-prod"}
    assert made["MetricName"] == spec.metric.name
    assert made["TreatMissingData"] == ("breaching" if spec.below else "notBreaching")
    assert made["DatapointsToAlarm"] <= made["EvaluationPeriods"]
    [topic] = prod.of("AWS::SNS::Topic")
    assert made["AlarmActions"] == made["OKActions"] == [{"Ref": topic}]
    assert spec.do in made["AlarmDescription"]


def test_alarms_alone_may_tell_the_topic_and_only_over_tls(prod):
    [policy] = prod.properties("AWS::SNS::TopicPolicy")
    told = {each["Effect"]: each for each in policy["PolicyDocument"]["Statement"]}
    assert set(told) == {"Allow", "Deny"}
    assert told["Allow"]["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert told["Allow"]["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    assert told["Deny"]["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_what_baton_measures_itself_is_looked_for_where_it_says_it(prod, capsys, monkeypatch):
    monkeypatch.setattr(observability, "SERVICE", "baton-prod")
    observability.note("sweep", 12, more=1, owed_seconds=3)
    said = json.loads(capsys.readouterr().out)
    [group] = said["_aws"]["CloudWatchMetrics"]
    for spec in (each for each in ALARMS if isinstance(each.metric, OfOperation)):
        made = alarm(prod, spec)
        assert made["Namespace"] == group["Namespace"]
        [dimensions] = group["Dimensions"]
        assert {each["Name"] for each in made["Dimensions"]} == set(dimensions)
    assert (said["service"], said["operation"]) == ("baton-prod", "sweep")
    assert {each["Name"]: each["Unit"] for each in group["Metrics"]}["owed_seconds"] == "Seconds"


def test_the_dashboard_shows_metrics_of_this_stage_alone(prod):
    [board] = prod.properties("AWS::CloudWatch::Dashboard")
    text = json.dumps(board["DashboardBody"])
    assert "baton-prod-publish" in text
    assert "baton-dev" not in text
