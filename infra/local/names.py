"""What AWS would call this laptop's account and its functions."""

from __future__ import annotations

from infra.manifest import Function

ACCOUNT = "000000000000"


def name_of(function: Function) -> str:
    """The function's name as it is deployed here."""
    return f"baton-local-{function.name}"


def arn_of(function: Function, region: str) -> str:
    """The function's ARN."""
    return f"arn:aws:lambda:{region}:{ACCOUNT}:function:{name_of(function)}"
