"""What a caller may give as an object, or as the JSON object that it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Wish:
    """A dataclass of what the service is to do; its fields are the contract's."""

    def as_json(self) -> dict[str, Any]:
        """As the service takes it: the fields that were given."""
        return {name: value for name, value in vars(self).items() if value is not None}


def plain(value: Wish | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The JSON object, whichever was given."""
    return value.as_json() if isinstance(value, Wish) else value
