"""Targets that runs are pushed to: what their ARNs name, and which of them Baton may push to."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from baton.domain.catalog import Target, TargetKind

TAG = "baton:namespace"
"""The tag that lets the namespace it names push to the resource that carries it."""


class Resource(NamedTuple):
    """What an ARN names: a function (``arn`` without version or alias), a queue or a bus."""

    arn: str
    region: str
    account: str
    name: str


def resource(target: Target) -> Resource:
    """The resource of a pushed target: its ARN has the form that registering asks for."""
    arn, partition, service, region, account, rest = (target.arn or "").split(":", 5)
    if target.kind is TargetKind.LAMBDA:
        rest = ":".join(rest.split(":")[:2])
    name = rest.removeprefix("function:").removeprefix("event-bus/")
    return Resource(":".join((arn, partition, service, region, account, rest)), region, account, name)


def is_batons(found: Resource, prefix: str, names: Iterable[str]) -> bool:
    """Whether it is a resource of the deployment's own, which no run may ever be pushed to: it is called like
    one of ``names``, or begins with ``prefix`` as they all do (empty: nothing does)."""
    return found.name in names or (prefix != "" and found.name.startswith(prefix))


def is_listed(target: Target, patterns: Iterable[str]) -> bool:
    """Whether its ARN is among those that the deployment allows every namespace; ``*``, ``?`` and ``[…]`` are
    as in a shell."""
    return any(fnmatchcase(target.arn or "", pattern) for pattern in patterns)


def not_allowed(target: Target, namespace: str) -> str:
    """Why a namespace may not push to a target, and what to do about it: the same whether it is there or not,
    which is not every namespace's business."""
    return (
        f"namespace {namespace!r} may not push to {target.arn}: it does not exist, or does not carry the tag "
        f"{TAG}={namespace}, and is not among the deployment's BATON_TARGETS_ALLOWED; see to that, or "
        "register another target, and resume the run"
    )


def batons_own(target: Target) -> str:
    """Why nobody may push to a target, and what to do about it."""
    return (
        f"{target.arn} is one of Baton's own, or is called like them, and is never pushed to: register "
        "another target, and resume the run"
    )
