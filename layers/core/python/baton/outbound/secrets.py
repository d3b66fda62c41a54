"""Secrets that a container reads once, at its start."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from baton.errors import Unavailable


def read(client: Any, arn: str) -> str:
    """The present text of a secret. Raises Unavailable: the container does not start, and its next may."""
    try:
        text: str = client.get_secret_value(SecretId=arn)["SecretString"]
    except (BotoCoreError, ClientError) as exc:
        raise Unavailable("a secret can't be read") from exc
    return text
