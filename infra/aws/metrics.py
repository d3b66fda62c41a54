"""The metrics that alarms and the dashboard look at, as CloudWatch names them on a stage."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.alarms import Metric, OfFunction, OfQueue
from infra.aws.stage import Stage

NAMESPACE = "Baton"


def metric(
    of: Metric, stage: Stage, *, statistic: str, seconds: int = 60, label: str | None = None
) -> cloudwatch.Metric:
    """A metric of a function, a queue or an operation. What Baton says itself it says under the stage's
    name, which its containers are told by `POWERTOOLS_SERVICE_NAME`."""
    if isinstance(of, OfFunction):
        namespace, dimensions = "AWS/Lambda", {"FunctionName": f"{stage.prefix}-{of.function}"}
    elif isinstance(of, OfQueue):
        namespace, dimensions = "AWS/SQS", {"QueueName": f"{stage.prefix}-{of.queue}"}
    else:
        namespace, dimensions = NAMESPACE, {"service": stage.prefix, "operation": of.operation}
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=of.name,
        dimensions_map=dimensions,
        statistic=statistic,
        period=Duration.seconds(seconds),
        label=label,
    )
