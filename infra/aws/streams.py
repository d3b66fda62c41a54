"""What Lambda reads for the functions: the manifest's streams and queues, filtered, in batches, to an end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.aws.rights import FunctionRole
from infra.manifest import Function
from infra.signals import QueueSource, StreamSource

FIRST = "TRIM_HORIZON"
"""A mapping that is made anew begins with the oldest record there is, so that no ending is passed over: what
comes twice does nothing twice."""

PARTLY = ["ReportBatchItemFailures"]


class Sources(Construct):
    """An event source mapping for each stream and queue that a function is called by."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        specs: Iterable[Function],
        called: Mapping[str, lambda_.IFunction],
        roles: Mapping[str, FunctionRole],
        tables: Mapping[str, dynamodb.TableV2],
        queues: Mapping[str, sqs.Queue],
    ) -> None:
        super().__init__(scope, name)
        self._tables = tables
        self._queues = queues
        for spec in specs:
            made = [
                self._stream(f"{spec.name}-{source.table}", source, called[spec.name])
                for source in spec.streams_from
            ]
            if spec.queue is not None:
                made.append(
                    self._queue(f"{spec.name}-{spec.queue.queue.name}", spec.queue, called[spec.name])
                )
            for mapping in made:
                # Lambda looks at the role's rights when the mapping is made.
                mapping.node.add_dependency(roles[spec.name].policy)

    def _stream(
        self, name: str, source: StreamSource, function: lambda_.IFunction
    ) -> lambda_.CfnEventSourceMapping:
        kind = lambda_.CfnEventSourceMapping
        parked = self._queues[source.on_failure.name].queue_arn
        return kind(
            self,
            name,
            function_name=function.function_arn,
            event_source_arn=self._tables[source.table].table_stream_arn,
            starting_position=FIRST,
            filter_criteria=kind.FilterCriteriaProperty(
                filters=[kind.FilterProperty(pattern=json.dumps(each)) for each in source.filters]
            ),
            batch_size=source.batch_size,
            maximum_batching_window_in_seconds=source.window_seconds,
            parallelization_factor=source.parallel,
            bisect_batch_on_function_error=source.bisect,
            function_response_types=PARTLY,
            maximum_retry_attempts=source.retries,
            maximum_record_age_in_seconds=source.max_age_seconds,
            destination_config=kind.DestinationConfigProperty(
                on_failure=kind.OnFailureProperty(destination=parked)
            ),
        )

    def _queue(
        self, name: str, source: QueueSource, function: lambda_.IFunction
    ) -> lambda_.CfnEventSourceMapping:
        kind = lambda_.CfnEventSourceMapping
        return kind(
            self,
            name,
            function_name=function.function_arn,
            event_source_arn=self._queues[source.queue.name].queue_arn,
            batch_size=source.batch_size,
            function_response_types=PARTLY,
            scaling_config=kind.ScalingConfigProperty(maximum_concurrency=source.concurrency),
        )
