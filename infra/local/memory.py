"""DynamoDB in this process: moto, one call at a time, with no way out to a network."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_NO_SECRET = "local"


def lend_credentials() -> None:
    """Give botocore something to sign with where nothing is set up: it must not ask a network for it."""
    if not {"AWS_ACCESS_KEY_ID", "AWS_PROFILE"} & os.environ.keys():
        os.environ["AWS_ACCESS_KEY_ID"] = _NO_SECRET
        os.environ["AWS_SECRET_ACCESS_KEY"] = _NO_SECRET
    os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")


@contextmanager
def in_process() -> Iterator[None]:
    """Every AWS client of this process made inside the block talks to moto, whose tables go with the block.

    Blocks nest and share the tables.
    """
    # Its import takes longer than all else here: only who wants it pays.
    from moto import mock_aws

    from infra.local.moto_costs import proportionate

    mock = mock_aws(config={"core": {"mock_credentials": False, "reset_boto3_session": False}})
    mock.start()
    try:
        with _one_at_a_time(), proportionate():
            yield
    finally:
        mock.stop()


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Moto checks a condition and then writes, with nothing between threads: unserialised, two can win."""
    from moto.dynamodb.responses import DynamoHandler

    lock = threading.RLock()
    concurrent = DynamoHandler.call_action

    def call_action(handler: DynamoHandler) -> Any:
        with lock:
            return concurrent(handler)

    DynamoHandler.call_action = call_action  # type: ignore[method-assign]
    try:
        yield
    finally:
        DynamoHandler.call_action = concurrent  # type: ignore[method-assign]
