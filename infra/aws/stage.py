"""The stages Baton is deployed as: data, so that what differs between them is seen side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from baton.config import Settings
from baton.store.schema import TABLES

DEVELOPMENT = "dev"

LONGEST_REMEMBERED = 3600
"""Seconds. Source: `AuthorizerResultTtlInSeconds` of API Gateway's authorisers."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One deployment. It names neither account nor region: those are of whoever deploys.

    ``protected``: its tables outlive the stack and refuse to be deleted. The gateway lets in as many requests
    as ``requests_per_second`` and ``burst`` say. ``settings`` are any of `baton.config.Settings`, by their
    names there.
    """

    name: str
    protected: bool
    log_days: int
    requests_per_second: int
    burst: int
    auth: Literal["tokens", "iam"] = "tokens"
    """How callers are known: by tokens that Baton keeps, or by IAM. Then whoever IAM lets in may do what
    `iam_role` and `iam_namespace` of the settings say."""
    authorizer_seconds: int = 60
    """How long the gateway remembers what it was told of a token, and so how long one that was revoked may
    still be let in. 0: it asks of every request, also of those that show no token."""
    targets_allowed: tuple[str, ...] = ()
    """Patterns of ARNs that every namespace may push to (``*`` and ``?``), beside what carries the tag."""
    settings: Mapping[str, str] = field(default_factory=dict)

    keys_generation: int = 1
    """To be raised by one when the signing keys have been changed: containers then start anew and read
    them."""

    snap_start: frozenset[str] = frozenset()
    """Functions whose cold starts are restored from a snapshot. None by default: for Python a snapshot costs
    some $2 a month for each function of 512 MB, used or not, and Baton at rest is to cost nothing; and some
    regions have none."""
    provisioned: Mapping[str, int] = field(default_factory=dict)
    """Containers kept warm, by function. None by default: each costs some $5 a month at 512 MB, and what is
    felt of a cold start is the first request after a pause. Not together with ``snap_start``."""
    reserved: Mapping[str, int] = field(default_factory=dict)
    """The most containers of a function, set aside for it. What is reserved is taken from all others of the
    account, which must be left 100; so only where something has to be held back."""

    def __post_init__(self) -> None:
        if both := self.snap_start & set(self.provisioned):
            raise ValueError(f"either snap_start or provisioned, Lambda takes no two: {sorted(both)}")
        if unlike := [each for each in self.targets_allowed if "[" in each or not each.startswith("arn:")]:
            raise ValueError(f"targets_allowed: not patterns that IAM takes: {unlike}")
        if not 0 <= self.authorizer_seconds <= LONGEST_REMEMBERED:
            raise ValueError(f"authorizer_seconds: from 0 to {LONGEST_REMEMBERED}")
        if "authorizer_seconds" in self.settings:
            raise ValueError("authorizer_seconds is the stage's own, and none of its settings")
        known = {each.name for each in msgspec.structs.fields(Settings)}
        if unknown := set(self.settings) - known:
            # A container would start without: one that is to bind IAM's callers must not be lost by a letter.
            raise ValueError(f"settings: none is called {', '.join(sorted(unknown))}")
        try:
            Settings.from_env(
                {f"BATON_{spec.name.upper()}_TABLE": spec.name for spec in TABLES} | self.environment
            )
        except msgspec.ValidationError as exc:
            raise ValueError(f"settings: {exc}") from exc

    @property
    def environment(self) -> dict[str, str]:
        """What its settings are in the environment of its functions."""
        return {f"BATON_{name.upper()}": value for name, value in self.settings.items()}

    @property
    def prefix(self) -> str:
        """What the names of all that has one begin with; nobody may push to what is called so."""
        return f"baton-{self.name}"


STAGES: Mapping[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage(name=DEVELOPMENT, protected=False, log_days=7, requests_per_second=50, burst=100),
        Stage(
            name="prod",
            protected=True,
            log_days=90,
            requests_per_second=1000,
            burst=2000,
            # The sweep may call itself in a chain (`Function.loops`), and Lambda's own guard is off for it.
            reserved={"sweep": 20},
        ),
    )
}


def stage_of(name: str | None) -> Stage:
    """The stage of that name, else `dev`. Raises LookupError."""
    try:
        return STAGES[name or DEVELOPMENT]
    except KeyError:
        raise LookupError(f"no stage is called {name!r}: there are {', '.join(STAGES)}") from None
