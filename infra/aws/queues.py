"""The manifest's queues, encrypted, with what they park."""

from __future__ import annotations

from collections.abc import Iterable

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.aws.stage import Stage
from infra.signals import PARKED, Queue


class Queues(Construct):
    """One queue per spec, in `by_name`. What can't be handled goes to the first of them, `parked`."""

    def __init__(self, scope: Construct, name: str, *, specs: Iterable[Queue], stage: Stage) -> None:
        super().__init__(scope, name)
        self.by_name: dict[str, sqs.Queue] = {}
        for spec in specs:
            self.by_name[spec.name] = self._queue(spec, stage)

    @property
    def parked(self) -> sqs.Queue:
        """Where what keeps failing is put aside."""
        return self.by_name[PARKED.name]

    def _queue(self, spec: Queue, stage: Stage) -> sqs.Queue:
        redrive = None
        if spec.receives is not None:
            redrive = sqs.DeadLetterQueue(max_receive_count=spec.receives, queue=self.parked)
        return sqs.Queue(
            self,
            spec.name,
            queue_name=f"{stage.prefix}-{spec.name}",
            visibility_timeout=Duration.seconds(spec.visibility_seconds),
            retention_period=Duration.seconds(spec.retention_seconds),
            dead_letter_queue=redrive,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
        )
