"""What an item weighs by DynamoDB's published rules: names and values; a write unit is a kilobyte of it."""

from __future__ import annotations

from typing import Any


def item_size(item: dict[str, dict[str, Any]]) -> int:
    """Bytes of an item in DynamoDB's own JSON."""
    return sum(len(name.encode()) + _value(value) for name, value in item.items())


def _value(value: dict[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "B":
            return len(content)
        case "N":
            digits = content.lstrip("-").replace(".", "").strip("0")
            return (len(digits) + 1) // 2 + 1 + content.startswith("-")
        case _:
            raise ValueError(f"no item of ours holds a {kind}")
