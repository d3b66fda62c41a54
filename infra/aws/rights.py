"""What each function may do, as IAM has it: what the manifest names, on exactly that, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from baton.domain.targets import TAG
from infra.aws.stage import Stage
from infra.manifest import Function, Right
from infra.signals import BUS, ITSELF, KEYS, TARGETS, SignalRight

READS_A_STREAM = ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")
"""What an event source mapping needs of a stream. Source: "Process DynamoDB records with Lambda"."""
READS_A_QUEUE = ("DeleteMessage", "GetQueueAttributes", "ReceiveMessage")
"""What it needs of a queue. Source: "Using Lambda with Amazon SQS"."""

PUSHED_TO: Mapping[str, str] = {"lambda": "function:*", "sqs": "*", "events": "event-bus/*"}
"""By service: the resources of an account that may be targets, if their tags say so."""


@dataclass(frozen=True, kw_only=True)
class Granted:
    """What rights are given on."""

    stage: Stage
    tables: Mapping[str, dynamodb.TableV2]
    queues: Mapping[str, sqs.Queue]
    bus: events.EventBus
    keys: secretsmanager.Secret

    def arn_of(self, scope: Construct, right: SignalRight, itself: str) -> str:
        """The one resource that a signal goes to; ``itself`` is the function's name."""
        if right.resource == ITSELF:
            return function_arn(scope, itself)
        if right.resource == KEYS:
            return self.keys.secret_arn
        return self.bus.event_bus_arn if right.resource == BUS else self.queues[right.resource].queue_arn


def function_arn(scope: Construct, name: str) -> str:
    """The ARN of the function of that name here: known before there is one."""
    return cdk.Stack.of(scope).format_arn(
        service="lambda",
        resource="function",
        resource_name=name,
        arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
    )


class Tracing(iam.ManagedPolicy):
    """What X-Ray takes to be told of a trace, for all functions: it can't be told to take less."""

    def __init__(self, scope: Construct, name: str) -> None:
        actions = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"]
        super().__init__(
            scope, name, statements=[iam.PolicyStatement(sid="Traces", actions=actions, resources=["*"])]
        )
        cdk.Validations.of(self).acknowledge(
            cdk.Acknowledgment(
                id="AwsSolutions-IAM5[Resource::*]",
                reason="X-Ray has no resources to name for PutTraceSegments and PutTelemetryRecords: the "
                "service authorization reference lists none. Both only write.",
            )
        )


class FunctionRole(Construct):
    """The role of one function, in `role`, and its policies: what it may do, and what it may push to."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        function: Function,
        function_name: str,
        log_group: logs.LogGroup,
        granted: Granted,
        tracing: Tracing,
    ) -> None:
        super().__init__(scope, name)
        self._granted = granted
        self.role = iam.Role(
            self,
            "role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"Baton ({granted.stage.name}): what {function.name} may do",
            managed_policies=[tracing],
        )
        statements = [
            _statement("Logs", "logs", ("CreateLogStream", "PutLogEvents"), log_group.log_group_arn),
            *self._reads_and_writes(function),
            *self._signals(function, function_name),
            *self._called_by(function),
        ]
        self.policy = iam.Policy(self, "rights", statements=statements, roles=[self.role])
        pushes = [right for right in function.signals if right.resource == TARGETS]
        if pushes:
            self._may_push(pushes)

    def _reads_and_writes(self, function: Function) -> Iterator[iam.PolicyStatement]:
        for right in function.rights:
            sid = "".join(part.title().replace("-", "").replace("_", "") for part in _place(right))
            yield _statement(sid, "dynamodb", right.actions, self._table_arn(right))

    def _table_arn(self, right: Right) -> str:
        arn = self._granted.tables[right.table].table_arn
        return arn if right.index is None else f"{arn}/index/{right.index}"

    def _signals(self, function: Function, function_name: str) -> Iterator[iam.PolicyStatement]:
        for right in function.signals:
            if right.resource != TARGETS:
                arn = self._granted.arn_of(self, right, function_name)
                yield iam.PolicyStatement(actions=[right.action], resources=[arn])

    def _called_by(self, function: Function) -> Iterator[iam.PolicyStatement]:
        """What Lambda does in the function's name to call it, and with what fails."""
        granted = self._granted
        for source in function.streams_from:
            arn = granted.tables[source.table].table_stream_arn or ""
            yield _statement("Stream", "dynamodb", READS_A_STREAM, arn)
        if function.queue is not None:
            arn = granted.queues[function.queue.queue.name].queue_arn
            yield _statement("Queue", "sqs", READS_A_QUEUE, arn)
        for queue in function.parks:
            yield _statement("Parks", "sqs", ("SendMessage",), granted.queues[queue.name].queue_arn)

    def _may_push(self, rights: list[SignalRight]) -> None:
        stage = self._granted.stage
        by_service: dict[str, list[str]] = {}
        for right in rights:
            by_service.setdefault(right.action.partition(":")[0], []).append(right.action)
        policy = iam.Policy(self, "targets", roles=[self.role])
        for service, actions in by_service.items():
            arn = cdk.Fn.sub(f"arn:${{AWS::Partition}}:{service}:*:${{AWS::AccountId}}:{PUSHED_TO[service]}")
            tagged = {"Null": {f"aws:ResourceTag/{TAG}": "false"}}
            policy.add_statements(
                iam.PolicyStatement(
                    sid=f"Tagged{service.title()}", actions=actions, resources=[arn], conditions=tagged
                )
            )
            listed = [each for each in stage.targets_allowed if each.split(":")[2] == service]
            if listed:
                policy.add_statements(
                    iam.PolicyStatement(sid=f"Listed{service.title()}", actions=actions, resources=listed)
                )
            _accept_targets(policy, [_found(service), *listed])


def _accept_targets(policy: iam.Policy, resources: list[str]) -> None:
    """Workflows name their targets while Baton runs, so no deployment can."""
    for resource in resources:
        if "*" in resource:
            cdk.Validations.of(policy).acknowledge(
                cdk.Acknowledgment(
                    id=f"AwsSolutions-IAM5[Resource::{resource}]",
                    reason="Workflows name what their runs are pushed to while Baton runs. Whoever owns it "
                    f"lets a namespace push by the tag {TAG}, which a condition demands here and Baton looks "
                    "at before each push; without it only what the stage lists may be pushed to.",
                )
            )


def _found(service: str) -> str:
    """How cdk-nag spells the tagged resources of a service."""
    return f"arn:<AWS::Partition>:{service}:*:<AWS::AccountId>:{PUSHED_TO[service]}"


def _place(right: Right) -> tuple[str, ...]:
    return (right.table,) if right.index is None else (right.table, right.index)


def _statement(sid: str, service: str, actions: tuple[str, ...], arn: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=sid, actions=[f"{service}:{action}" for action in actions], resources=[arn]
    )
