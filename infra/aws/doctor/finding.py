"""What one look at a deployment found, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One check. ``do`` says what to do where it is not well, and nothing else."""

    check: str
    ok: bool
    found: str
    do: str | None = None


def well(check: str, found: str) -> Finding:
    """Nothing is to be done."""
    return Finding(check=check, ok=True, found=found)


def unwell(check: str, found: str, do: str) -> Finding:
    """Something is."""
    return Finding(check=check, ok=False, found=found, do=do)


def age(seconds: float) -> str:
    """How long ago, in the largest unit that it has two of."""
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
