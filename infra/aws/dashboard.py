"""One page that shows how Baton does: what is asked, what is handed off, what is due, what is put aside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.alarms import Metric, OfFunction, OfOperation, OfQueue
from infra.aws.metrics import metric
from infra.aws.stage import Stage
from infra.manifest import AUTHORIZER, FUNCTIONS
from infra.signals import QUEUES

HALF, WHOLE = 12, 24

Row = Mapping[str, Sequence[cloudwatch.IMetric]]
"""Graphs beside one another, by their titles."""


class Dashboard(Construct):
    """The stage's dashboard."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        http: apigateway.HttpApi,
        tables: Mapping[str, dynamodb.TableV2],
        alarms: Sequence[cloudwatch.Alarm],
        stage: Stage,
    ) -> None:
        super().__init__(scope, name)
        self._stage = stage
        page = cloudwatch.Dashboard(
            self,
            "dashboard",
            # Dashboards have their names in an account, not in a region.
            dashboard_name=f"{stage.prefix}-{cdk.Aws.REGION}",
            default_interval=Duration.hours(3),
        )
        page.add_widgets(
            cloudwatch.AlarmStatusWidget(title="Alarms", alarms=list(alarms), width=WHOLE, height=5)
        )
        for row in (*self._asked(http), *self._handed_off(), *self._waiting(), _units(tables)):
            page.add_widgets(*[_graph(title, metrics) for title, metrics in row.items()])

    def _asked(self, http: apigateway.HttpApi) -> Iterator[Row]:
        yield {
            "Requests": [http.metric_count(), http.metric_client_error(), http.metric_server_error()],
            "Milliseconds to the answer": [http.metric_latency(statistic=each) for each in ("p50", "p99")],
        }
        yield {
            "Errors": self._each("Errors", "Sum"),
            "Milliseconds of a call, p99": self._each("Duration", "p99"),
        }
        yield {
            "Containers at once": self._each("ConcurrentExecutions", "Maximum"),
            "Throttles": self._each("Throttles", "Sum"),
        }
        yield {"Callers asked about: known, and not": self._own(AUTHORIZER, "successes", "refusals")}

    def _handed_off(self) -> Iterator[Row]:
        reading = [OfFunction(each.name, "IteratorAge") for each in FUNCTIONS if each.streams_from]
        yield {
            "Hand-off": self._own("publish", "records", "failures"),
            "Hand-off: milliseconds behind the stream": self._all(reading, "Maximum"),
        }
        swept = ("settled", "published", "pushed", "fired", "postponed", "failed", "handed_on", "more")
        yield {
            "Sweep": self._own("sweep", *swept),
            "Seconds owed": self._own("sweep", "owed_seconds", statistic="Maximum"),
        }
        yield {
            "Heal": self._own("heal", "endings", "delivered", "re_owed", "failed"),
            "Milliseconds of sweep and heal": [
                each for name in ("sweep", "heal") for each in self._own(name, "took", statistic="Maximum")
            ],
        }

    def _waiting(self) -> Iterator[Row]:
        depth, age = "ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"
        yield {
            "Queues: messages": self._all([OfQueue(each.name, depth) for each in QUEUES], "Maximum"),
            "Queues: seconds of the oldest": self._all(
                [OfQueue(each.name, age) for each in QUEUES], "Maximum"
            ),
        }

    def _own(self, operation: str, *names: str, statistic: str = "Sum") -> list[cloudwatch.Metric]:
        return self._all([OfOperation(operation, each) for each in names], statistic)

    def _each(self, name: str, statistic: str) -> list[cloudwatch.Metric]:
        return self._all([OfFunction(each.name, name) for each in FUNCTIONS], statistic)

    def _all(self, of: Sequence[Metric], statistic: str) -> list[cloudwatch.Metric]:
        return [metric(each, self._stage, statistic=statistic, label=f"{each[0]} {each.name}") for each in of]


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=HALF, height=6)


def _units(tables: Mapping[str, dynamodb.TableV2]) -> Row:
    return {
        f"Units {done}": [
            cloudwatch.Metric(
                namespace="AWS/DynamoDB",
                metric_name=f"Consumed{kind}CapacityUnits",
                dimensions_map={"TableName": table.table_name},
                statistic="Sum",
                period=Duration.minutes(1),
                label=spec,
            )
            for spec, table in tables.items()
        ]
        for done, kind in (("written", "Write"), ("read", "Read"))
    }
