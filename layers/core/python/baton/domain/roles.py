"""What a token may do, weakest first; each role may do all that the ones before it may."""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    """A token's role. Source: API.md, conventions."""

    VIEWER = 1
    DRIVER = 2
    OPERATOR = 3
    ADMIN = 4

    @classmethod
    def named(cls, name: object) -> Role | None:
        """The role that an authoriser calls ``name``; None when there is none such."""
        return cls.__members__.get(name.upper()) if isinstance(name, str) else None
