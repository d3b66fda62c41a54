"""The alarms that `infra.alarms` names, and the topic that they tell: who wants to know subscribes to it."""

from __future__ import annotations

from collections.abc import Iterable

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from infra.alarms import Alarm
from infra.aws.metrics import metric
from infra.aws.stage import Stage

RAISED = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
FALLEN = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD


class Alarms(Construct):
    """One alarm per spec, in `all`, each telling `topic`."""

    def __init__(self, scope: Construct, name: str, *, specs: Iterable[Alarm], stage: Stage) -> None:
        super().__init__(scope, name)
        self.topic = sns.Topic(
            self, "topic", topic_name=f"{stage.prefix}-alarms", enforce_ssl=True, display_name="Baton"
        )
        # What has a policy of its own, here the one that asks for TLS, takes only what it says.
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="Alarms",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}},
            )
        )
        tell = actions.SnsAction(self.topic)
        self.all = [self._alarm(spec, stage) for spec in specs]
        for each in self.all:
            each.add_alarm_action(tell)
            each.add_ok_action(tell)

    def _alarm(self, spec: Alarm, stage: Stage) -> cloudwatch.Alarm:
        missing = cloudwatch.TreatMissingData
        return cloudwatch.Alarm(
            self,
            spec.name,
            alarm_name=f"{stage.prefix}-{spec.name}",
            alarm_description=f"{spec.means}\n\n{spec.do}",
            metric=metric(spec.metric, stage, statistic=spec.statistic, seconds=spec.period_seconds),
            threshold=spec.threshold,
            comparison_operator=FALLEN if spec.below else RAISED,
            datapoints_to_alarm=spec.of,
            evaluation_periods=spec.among,
            treat_missing_data=missing.BREACHING if spec.below else missing.NOT_BREACHING,
        )
