"""What may be asked of tokens."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from baton.api.models import Body, PageQuery, Time
from baton.api.patterns import AnyNamespace, Workflow, printable
from baton.domain.roles import Role

MAX_WORKFLOWS = 32
"""Workflows of one token: what is known of it travels with each of its requests."""


class RoleName(StrEnum):
    """What a token may do; each role may do all that the ones before it may."""

    VIEWER = "viewer"
    DRIVER = "driver"
    OPERATOR = "operator"
    ADMIN = "admin"

    @property
    def role(self) -> Role:
        return Role[self.name]


class CreateToken(Body, frozen=True):
    """A wish for a token: without ``namespace`` of the one that is acted in. ``workflows`` narrows a driver
    to runs of these."""

    role: RoleName
    namespace: AnyNamespace | None = None
    workflows: Annotated[list[Workflow], Meta(min_length=1, max_length=MAX_WORKFLOWS)] | None = None
    description: Annotated[str, printable(256)] | None = None
    expires_at: Time | None = None


class NamespaceQuery(PageQuery, frozen=True):
    """Which page of a list, and whose: without ``namespace`` of the one that is acted in."""

    namespace: AnyNamespace | None = None
