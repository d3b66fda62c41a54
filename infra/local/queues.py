"""Polls a queue for a function, as an event source mapping does."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.local.carrier import Carrier
from infra.local.delivery import Call
from infra.local.messaging import QueueAt
from infra.local.partial import failures
from infra.manifest import Function
from infra.signals import QueueSource

logger = logging.getLogger("infra.local")

POLL_SECONDS = 0.5
"""Between two looks into a queue of this process: it can be asked at once, and not be waited for cheaply."""

LONG_POLL_SECONDS = 2
"""How long a queue elsewhere is asked to wait for a message."""

TROUBLE_PAUSE = 1.0


class QueuePoller(Carrier):
    """Calls ``function`` with what comes into a queue, in a thread of its own until stopped.

    What the function does is deleted; what it fails on comes again when the queue shows it again, and the
    queue itself parks what fails too often.
    """

    def __init__(self, function: Function, source: QueueSource, queue: QueueAt, *, call: Call) -> None:
        super().__init__(f"queue-{function.name}")
        self._function = function
        self._source = source
        self._queue = queue
        self._call = call

    def round(self) -> int:
        """Look once, and have the function do what there is; how many messages there were."""
        answer = self._queue.client.receive_message(
            QueueUrl=self._queue.url,
            MaxNumberOfMessages=min(self._source.batch_size, 10),
            WaitTimeSeconds=LONG_POLL_SECONDS if self._queue.far else 0,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        if messages:
            self._hand_over(messages)
        return len(messages)

    def _hand_over(self, messages: list[dict[str, Any]]) -> None:
        handles = {message["MessageId"]: message["ReceiptHandle"] for message in messages}
        event = {"Records": [self._record(message) for message in messages]}
        try:
            failed = failures(self._call(self._function, event, str(uuid.uuid4())), handles.keys())
        except Exception:  # what a function raises fails its batch: the queue shows it again
            logger.exception("%s failed on %d messages", self._function.name, len(messages))
            return
        if failed is None:
            logger.error("%s: what it says of its batch makes no sense", self._function.name)
            return
        done = [{"Id": id_, "ReceiptHandle": handles[id_]} for id_ in handles if id_ not in failed]
        if done:
            self._queue.client.delete_message_batch(QueueUrl=self._queue.url, Entries=done)

    def _record(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Source: "Using Lambda with Amazon SQS" in the Lambda developer guide."""
        region = self._queue.client.meta.region_name
        account, name = self._queue.url.split("/")[-2:]
        return {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": message.get("Attributes", {}),
            "messageAttributes": message.get("MessageAttributes", {}),
            "md5OfBody": message["MD5OfBody"],
            "eventSource": "aws:sqs",
            "eventSourceARN": f"arn:aws:sqs:{region}:{account}:{name}",
            "awsRegion": region,
        }

    def _turn(self) -> float:
        try:
            return 0.0 if self.round() or self._queue.far else POLL_SECONDS
        except (BotoCoreError, ClientError) as trouble:
            logger.warning("the queue of %s can't be polled now: %s", self._function.name, trouble)
            return TROUBLE_PAUSE
