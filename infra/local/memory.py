"""AWS in this process: moto, one call at a time, with no way out to a network."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_NO_SECRET = "local"

LOCK = threading.RLock()
"""Held by each call into moto's DynamoDB and its streams, and by whoever looks past its API."""

_MESSAGES = threading.RLock()


def lend_credentials() -> None:
    """Give botocore something to sign with where nothing is set up: it must not ask a network for it."""
    if not {"AWS_ACCESS_KEY_ID", "AWS_PROFILE"} & os.environ.keys():
        os.environ["AWS_ACCESS_KEY_ID"] = _NO_SECRET
        os.environ["AWS_SECRET_ACCESS_KEY"] = _NO_SECRET
    os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")


@contextmanager
def in_process(real: Sequence[str] = ()) -> Iterator[None]:
    """Every AWS client of this process made inside the block talks to moto, whose data go with the block.

    ``real`` names services that it does not play: clients of them reach AWS. Blocks nest and share what they
    hold.
    """
    # Its import takes longer than all else here: only who wants it pays.
    from moto import mock_aws

    from infra.local.moto_costs import proportionate

    core: Any = {"mock_credentials": False, "reset_boto3_session": False}
    if real:
        core["passthrough"] = {"services": list(real), "urls": []}
    mock = mock_aws(config={"core": core})
    mock.start()
    try:
        with _one_at_a_time(), proportionate():
            yield
    finally:
        mock.stop()


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Moto checks a condition and then writes, with nothing between threads: unserialised, two can win. And a
    reader of a stream would see a transaction that is undone."""
    from moto.dynamodb.responses import DynamoHandler
    from moto.dynamodbstreams.responses import DynamoDBStreamsHandler
    from moto.events.responses import EventsHandler
    from moto.sqs.responses import SQSResponse

    with (
        _serialised(DynamoHandler, LOCK),
        _serialised(DynamoDBStreamsHandler, LOCK),
        _serialised(EventsHandler, _MESSAGES),
        _serialised(SQSResponse, _MESSAGES),
    ):
        yield


@contextmanager
def _serialised(handler: Any, lock: threading.RLock) -> Iterator[None]:
    concurrent = handler.call_action
    own = "call_action" in vars(handler)

    def call_action(self: Any) -> Any:
        with lock:
            return concurrent(self)

    handler.call_action = call_action
    try:
        yield
    finally:
        if own:
            handler.call_action = concurrent
        else:
            del handler.call_action
