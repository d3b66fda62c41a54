"""The clock: EventBridge Scheduler calls what the manifest schedules, and puts aside what it could not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.aws.stage import Stage
from infra.manifest import Function, Schedule

GIVEN_UP_AFTER_SECONDS = 60
"""The scheduler's least. By then the next call has come."""


class Schedules(Construct):
    """One schedule for each function that has one, in a group of the stage's name. A tick that the scheduler
    could not deliver goes to ``parked``."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        specs: Iterable[Function],
        called: Mapping[str, lambda_.IFunction],
        parked: sqs.Queue,
        stage: Stage,
    ) -> None:
        super().__init__(scope, name)
        self._stage = stage
        self._parked = parked
        self._group = scheduler.CfnScheduleGroup(self, "group", name=stage.prefix)
        for spec in specs:
            if spec.schedule is not None:
                self._schedule(spec.name, spec.schedule, called[spec.name])

    def _schedule(self, name: str, spec: Schedule, function: lambda_.IFunction) -> None:
        scheduler.CfnSchedule(
            self,
            name,
            name=f"{self._stage.prefix}-{name}",
            group_name=self._group.ref,
            schedule_expression=_rate(spec.every_minutes),
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=function.function_arn,
                role_arn=self._role(name, function).role_arn,
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_event_age_in_seconds=GIVEN_UP_AFTER_SECONDS, maximum_retry_attempts=1
                ),
                dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(arn=self._parked.queue_arn),
            ),
        )

    def _role(self, name: str, function: lambda_.IFunction) -> iam.Role:
        """Who calls: this account's schedules of this group, and nobody that borrows the service's name."""
        stack = cdk.Stack.of(self)
        trusted = {
            "StringEquals": {"aws:SourceAccount": stack.account, "aws:SourceArn": self._group.attr_arn}
        }
        return iam.Role(
            self,
            f"{name}-role",
            assumed_by=iam.PrincipalWithConditions(iam.ServicePrincipal("scheduler.amazonaws.com"), trusted),
            description=f"Baton ({self._stage.name}): the clock calls {name}",
            inline_policies={
                "calls": iam.PolicyDocument(
                    statements=[
                        iam.PolicyStatement(
                            sid="Calls",
                            actions=["lambda:InvokeFunction"],
                            resources=[function.function_arn],
                        ),
                        iam.PolicyStatement(
                            sid="Parks", actions=["sqs:SendMessage"], resources=[self._parked.queue_arn]
                        ),
                    ]
                )
            },
        )


def _rate(minutes: int) -> str:
    return f"rate({minutes} minute{'' if minutes == 1 else 's'})"
