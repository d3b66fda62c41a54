"""``baton doctor --aws``: what is wrong with a deployed stack is found, and what to do is said."""

from __future__ import annotations

import email.utils
import json
from itertools import count
from typing import Any

import boto3
import httpx
import pytest
from botocore.stub import Stubber
from typer.testing import CliRunner

from baton.bootstrap import build
from baton.config import Settings
from baton.domain.roles import Role
from baton.domain.tokens import Wish
from baton.store.rows import due_shard
from infra.aws.doctor import command
from infra.aws.doctor.examine import RIGHTS, examine
from infra.aws.doctor.finding import well
from infra.local.memory import in_process
from infra.local.tables import create
from infra.outputs import API_URL, PARKED_QUEUE_URL
from tests.unit.manual_clock import ManualClock
from tests.unit.moto_tables import NAMES, REGION, empty_tables

STACK = "baton-test"
GROUP = "baton-test"
UUID = "14e0db71-5d35-4eb5-b481-8945cf9d10c2"
URL = "https://api.example.org"
SHARDS = 4
ENVIRONMENT = {f"BATON_{name.upper()}_TABLE": table for name, table in NAMES.items()} | {
    "BATON_DUE_SHARDS": str(SHARDS)
}
OWING = {"owed": 2, "oldest_owed_seconds": 700.0, "owing": [{"why": "not published yet"}] * 2}


class Aws:
    """Clients of an account in this process; making them takes longer than a test."""

    def __init__(self):
        self.made = {name: self.new(name) for name in ("cloudwatch", "dynamodb", "scheduler", "sqs")}
        self.credentials = boto3.Session(region_name=REGION).get_credentials()
        create(self.made["dynamodb"], NAMES)
        self.made["scheduler"].create_schedule_group(Name=GROUP)
        self._numbers = count()

    def queue(self):
        """One with nothing in it: SQS purges one queue no oftener than once a minute."""
        name = f"parked-{next(self._numbers)}"
        return self.made["sqs"].create_queue(QueueName=name)["QueueUrl"]

    def new(self, service):
        return boto3.client(service, region_name=REGION)


class Account:
    """A stack as AWS and the service would tell of it; a test changes what it is about."""

    region_name = REGION

    def __init__(self, aws):
        self.clock = ManualClock()
        self.status, self.sources = "UPDATE_COMPLETE", {UUID: "Enabled"}
        self.stats, self.denied, self.ahead = {"owed": 0}, set(), 0.0
        self.to_strangers = 401
        self.asked: list[httpx.Request] = []
        self.result, self.authorizers = "OK", []
        self._lambdas_made = 0
        self._aws, self.parked = aws, aws.queue()
        self.sqs, self.dynamodb = aws.made["sqs"], aws.made["dynamodb"]
        self.cloudwatch, self.scheduler = aws.made["cloudwatch"], aws.made["scheduler"]
        empty_tables()
        for name in ("publish-errors", "owed"):
            self.cloudwatch.put_metric_alarm(
                AlarmName=name, AlarmDescription=f"what to do about {name}",
                MetricName="m", Namespace="Baton",
                ComparisonOperator="GreaterThanThreshold", EvaluationPeriods=1, Threshold=1, Period=60,
                Statistic="Sum",
            )  # fmt: skip
        for standing in self.scheduler.list_schedules()["Schedules"]:
            self.scheduler.delete_schedule(Name=standing["Name"], GroupName=GROUP)
        self.schedule("ENABLED", self.scheduler.create_schedule)
        self.outputs = {API_URL: URL, PARKED_QUEUE_URL: self.parked}

    def schedule(self, state, put):
        put(
            Name="baton-test-sweep", GroupName=GROUP, State=state, ScheduleExpression="rate(1 minute)",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": f"arn:aws:lambda:{REGION}:1:function:sweep", "RoleArn": "arn:aws:iam::1:role/c"},
        )  # fmt: skip

    def owe(self, run_id, *, seconds_ago):
        at = self.clock.now() - seconds_ago * 1000
        keys = {"k": {"S": f"default#{run_id}"}, "s": {"S": "run"}}
        due = {"dk": {"S": due_shard(run_id, SHARDS)}, "du": {"N": str(at)}}
        self.dynamodb.put_item(TableName=NAMES["runs"], Item=keys | due)

    def ask_for_tokens(self):
        """Have callers known by tokens; the one of an admin of every namespace, which there is."""
        self.authorizers = ["a1b2c3"]
        settings = Settings.from_env({**ENVIRONMENT, "AWS_REGION": REGION})
        self.tokens = build(settings, self.clock).tokens
        return self.tokens.create(Wish(namespace="*", role=Role.ADMIN), by=None)

    def get_credentials(self):
        return self._aws.credentials

    def client(self, service_name):
        if service_name in ("cloudformation", "lambda"):
            made = self._aws.new(service_name)
            stubber = Stubber(made)
            getattr(self, f"_{service_name}")(stubber)
            stubber.activate()
            return made
        made = getattr(self, service_name)
        if service_name not in self.denied:
            return made
        refusing = self._aws.new(service_name)
        stubber = Stubber(refusing)
        stubber.add_client_error("describe_alarms", "AccessDenied", "not authorized")
        stubber.activate()
        return refusing

    def _cloudformation(self, stubber):
        if "cloudformation" in self.denied:
            stubber.add_client_error("describe_stacks", "ValidationError", "Stack does not exist")
            return
        outputs = [{"OutputKey": key, "OutputValue": value} for key, value in self.outputs.items()]
        stack: Any = {"StackName": STACK, "CreationTime": 0, "StackStatus": self.status, "Outputs": outputs}
        stubber.add_response("describe_stacks", {"Stacks": [stack]}, {"StackName": STACK})
        there = [
            ("AWS::Lambda::Function", "sweep"),
            *(("AWS::Lambda::EventSourceMapping", uuid) for uuid in self.sources),
            *(("AWS::ApiGatewayV2::Authorizer", each) for each in self.authorizers),
            ("AWS::CloudWatch::Alarm", "publish-errors"),
            ("AWS::CloudWatch::Alarm", "owed"),
            ("AWS::Scheduler::Schedule", "baton-test-sweep"),
        ]
        for page, token in ((there[:3], {"NextToken": "more"}), (there[3:], {})):
            summaries = [
                {"LogicalResourceId": name, "PhysicalResourceId": name, "ResourceType": kind,
                 "LastUpdatedTimestamp": 0, "ResourceStatus": "CREATE_COMPLETE"}
                for kind, name in page
            ]  # fmt: skip
            stubber.add_response("list_stack_resources", {"StackResourceSummaries": summaries, **token})

    def _lambda(self, stubber):
        self._lambdas_made += 1
        if self._lambdas_made == 1:  # for the settings, that for the sources comes after it
            told = {"Environment": {"Variables": ENVIRONMENT}}
            stubber.add_response("get_function_configuration", told, {"FunctionName": "sweep"})
            return
        for uuid, state in self.sources.items():
            arn = f"arn:aws:dynamodb:{REGION}:1:table/runs/stream/2026-11-29T21:21:33.291"
            source = {"State": state, "EventSourceArn": arn, "LastProcessingResult": self.result}
            stubber.add_response("get_event_source_mapping", source, {"UUID": uuid})

    def answer(self, request):
        self.asked.append(request)
        date = email.utils.formatdate(self.clock.now() / 1000 + self.ahead, usegmt=True)
        body = {"status": "ok"} if request.url.path == "/v1/health" else self.stats
        shown = request.headers.get("authorization", "")
        status = self.to_strangers if shown == "Bearer nobody" else 200
        return httpx.Response(status, json=body, headers={"date": date})

    def findings(self, token=None):
        self._lambdas_made = 0
        with httpx.Client(transport=httpx.MockTransport(self.answer)) as http:
            return list(examine(self, http, self.clock, stack=STACK, namespace="default", token=token))

    def wrong(self, token=None):
        """Check -> (found, what to do), of what is not well."""
        return {each.check: (each.found, each.do) for each in self.findings(token) if not each.ok}


@pytest.fixture(scope="module")
def aws():
    with in_process():
        yield Aws()


@pytest.fixture
def account(aws):
    return Account(aws)


def test_a_stack_that_is_well_is_told_so_check_by_check(account):
    found = account.findings()
    assert [each.check for each in found] == [
        "stack", "reachable", "clock", "owed, default", "due", "parked", "alarms",
        "source", "schedule",
    ]  # fmt: skip
    assert all(each.ok and each.do is None for each in found), found


def test_the_service_is_asked_by_a_signed_request_for_what_it_owes(account):
    account.findings()
    health, stats = account.asked
    assert "authorization" not in health.headers
    assert stats.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=")
    assert "/execute-api/aws4_request" in stats.headers["authorization"]
    assert stats.headers["baton-namespace"] == "default"


def test_where_callers_are_known_by_tokens_those_are_looked_at_and_one_is_shown(account):
    made = account.ask_for_tokens()
    found = {each.check: each for each in account.findings(made.text)}
    assert all(each.ok for each in found.values()), found
    assert found["admins"].found == "1 of every namespace"
    assert list(found)[3:6] == ["authoriser", "owed, default", "due"]
    _, stranger, stats = account.asked
    assert stranger.headers["authorization"] == "Bearer nobody"
    assert stats.headers["authorization"] == f"Bearer {made.text}"
    assert stats.headers["baton-namespace"] == "default"


def test_without_a_token_what_is_owed_is_not_asked_and_nothing_is_wrong_with_that(account):
    account.ask_for_tokens()
    found = {each.check: each for each in account.findings()}
    assert all(each.ok for each in found.values()), found
    assert "BATON_TOKEN" in found["owed"].found


def test_a_token_that_counts_no_more_is_told_from_a_right_that_is_missing(account):
    account.ask_for_tokens()
    found, do = account.wrong("nobody")["owed, default"]
    assert "401" in found and "BATON_TOKEN" in do


@pytest.mark.parametrize(("status", "said"), [(500, "nobody gets in"), (200, "let in")])
def test_an_authoriser_that_fails_or_lets_strangers_in_is_wrong(account, status, said):
    account.ask_for_tokens()
    account.to_strangers = status
    assert said in " ".join(account.wrong()["authoriser"])


def test_that_nobody_may_make_tokens_everywhere_is_wrong_and_says_how_to_make_the_first(account):
    admin = account.ask_for_tokens()
    account.tokens.revoke(admin.token.id, within={"*"}, by=None)
    soon = account.clock.now() + 1000
    account.tokens.create(Wish(namespace="*", role=Role.ADMIN, expires_at=soon), by=None)
    account.tokens.create(Wish(namespace="*", role=Role.OPERATOR), by=None)
    account.tokens.create(Wish(namespace="default", role=Role.ADMIN), by=None)
    account.clock.advance(1.0)
    assert "make admin-token" in account.wrong()["admins"][1]


def test_what_is_due_for_longer_than_two_sweeps_is_wrong_in_whichever_shard_it_stands(account):
    for number in range(20):
        account.owe(f"run-{number}", seconds_ago=10)
    account.owe("late", seconds_ago=600)
    found, do = account.wrong()["due"]
    assert found == "21 due, the oldest for 10 min"
    assert "sweep" in do


def test_what_has_just_become_due_is_how_it_works(account):
    account.owe("young", seconds_ago=10)
    account.owe("future", seconds_ago=-60)
    assert {"1 due, the oldest for 10 s"} <= {each.found for each in account.findings() if each.ok}


def test_what_is_owed_too_long_is_wrong_and_says_why(account):
    account.stats = OWING
    assert account.wrong()["owed, default"][0] == "2 owed, the oldest for 11 min: not published yet"


def test_what_is_owed_for_a_moment_is_well(account):
    account.stats = OWING | {"oldest_owed_seconds": 4.0}
    assert account.wrong() == {}


def test_what_was_put_aside_is_wrong(account):
    account.sqs.send_message(QueueUrl=account.parked, MessageBody="{}")
    assert account.wrong()["parked"][0] == "1 parked"


def test_a_raised_alarm_says_what_it_says_itself_to_do(account):
    account.cloudwatch.set_alarm_state(AlarmName="owed", StateValue="ALARM", StateReason="900 was reached")
    assert account.wrong() == {"alarm": ("owed: 900 was reached", "what to do about owed")}


def test_an_alarm_that_somebody_deleted_is_missed(account):
    account.cloudwatch.delete_alarms(AlarmNames=["owed"])
    assert account.wrong()["alarms"][0] == "gone: owed"


@pytest.mark.parametrize("state", ["Disabled", "Disabling"])
def test_a_source_that_is_not_read_is_wrong(account, state):
    account.sources[UUID] = state
    found, do = account.wrong()["source"]
    assert found == f"table/runs: {state}, OK"
    assert f"--uuid {UUID} --enabled" in do


def test_a_source_whose_batches_fail_is_wrong(account):
    account.result = "PROBLEM: Function call failed"
    assert account.wrong()["source"][0] == "table/runs: Enabled, PROBLEM: Function call failed"


def test_a_schedule_that_is_off_is_wrong(account):
    account.schedule("DISABLED", account.scheduler.update_schedule)
    assert account.wrong()["schedule"][0] == "baton-test-sweep is disabled"


def test_a_schedule_that_somebody_deleted_is_missed(account):
    account.scheduler.delete_schedule(Name="baton-test-sweep", GroupName=GROUP)
    assert account.wrong()["schedule"][0] == "baton-test-sweep is gone"


@pytest.mark.parametrize(("ahead", "found"), [(60.0, "60 s behind"), (-60.0, "60 s ahead"), (3.0, None)])
def test_clocks_may_differ_by_no_more_than_seconds(account, ahead, found):
    account.ahead = ahead
    told = account.wrong().get("clock", (None, None))[0]
    assert told == (found and f"this machine is {found}")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda _: httpx.Response(500, text="broken"), "answers 500: broken"),
        (lambda _: httpx.Response(200, text="a parked domain"), "answers 200: a parked domain"),
    ],
)
def test_a_service_that_is_not_well_is_wrong_and_the_rest_is_still_looked_at(account, answer, said):
    account.answer = answer
    wrong = account.wrong()
    assert said in wrong["reachable"][0]
    assert {"alarms", "schedule"} <= {each.check for each in account.findings() if each.ok}


def test_a_service_out_of_reach_is_wrong_and_the_rest_is_still_looked_at(account):
    def refuse(request):
        raise httpx.ConnectError("no route", request=request)

    account.answer = refuse
    assert "no route" in account.wrong()["reachable"][0]


def test_that_one_may_not_look_is_a_finding_too(account):
    account.denied.add("cloudwatch")
    found, do = account.wrong()["alarms"]
    assert "AccessDenied" in found
    assert do == RIGHTS


@pytest.mark.parametrize("status", ["UPDATE_ROLLBACK_COMPLETE", "UPDATE_IN_PROGRESS", "ROLLBACK_FAILED"])
def test_a_stack_that_is_not_what_was_deployed_is_wrong(account, status):
    account.status = status
    assert status in account.wrong()["stack"][0]


def test_without_a_stack_there_is_nothing_else_to_look_at(account):
    account.denied.add("cloudformation")
    (found,) = account.findings()
    assert (found.check, found.ok) == ("stack", False)
    assert "--region" in found.do


def test_a_stack_of_somebody_else_is_told_from_one_of_ours(account):
    account.outputs = {}
    assert "no stack of Baton" in account.wrong()["outputs"][1]


@pytest.fixture
def ask(monkeypatch, account):
    """Run the command on the account."""

    def ask(*options):
        monkeypatch.setattr(boto3, "Session", lambda **_: account)
        monkeypatch.setattr(command, "SystemClock", lambda: account.clock)
        transport = httpx.MockTransport(account.answer)
        made = httpx.Client(transport=transport)
        monkeypatch.setattr(httpx, "Client", lambda: made)
        return CliRunner().invoke(command.app, ["--stack", STACK, *options])

    return ask


def test_the_command_ends_well_where_all_is_well(ask):
    result = ask()
    assert result.exit_code == 0, result.output
    assert "FAILED" not in result.stdout
    assert "\x1b[" not in result.stdout, "no colour where nobody looks"


def test_the_command_fails_and_says_what_to_do(ask, account):
    account.sqs.send_message(QueueUrl=account.parked, MessageBody="{}")
    result = ask()
    assert result.exit_code == 1
    assert "FAILED  parked" in result.stdout
    assert "do: each message says" in result.stdout


def test_a_program_gets_one_document(ask, account):
    account.schedule("DISABLED", account.scheduler.update_schedule)
    result = ask("--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["ok"], told["stack"], told["region"]) == (1, False, STACK, REGION)
    (wrong,) = (each for each in told["checks"] if not each["ok"])
    assert wrong["check"] == "schedule"
    assert "deploy" in wrong["do"]


def test_without_credentials_it_says_so(ask, account):
    account.get_credentials = lambda: None
    result = ask()
    assert result.exit_code == 1
    assert "no credentials" in result.stderr


def test_what_is_well_needs_nothing_done():
    assert well("clock", "as the service's").do is None
