"""Where functions and the gateway write what they did, for as long as the stage keeps it."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.aws.stage import Stage

RETENTION: Mapping[int, logs.RetentionDays] = {
    7: logs.RetentionDays.ONE_WEEK,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}
"""By days. CloudWatch keeps logs for certain times only."""


class LogGroup(logs.LogGroup):
    """A log group of the stage. Its name is CloudFormation's: a stage put up again meets no old one."""

    def __init__(self, scope: Construct, name: str, *, stage: Stage) -> None:
        super().__init__(
            scope,
            name,
            retention=RETENTION[stage.log_days],
            removal_policy=RemovalPolicy.RETAIN if stage.protected else RemovalPolicy.DESTROY,
        )
