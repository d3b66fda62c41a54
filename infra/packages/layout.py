"""Where what is deployed is built: the folders that the deployment makes its assets of."""

from __future__ import annotations

from pathlib import Path

DIST = Path(__file__).parents[2] / "dist"
"""The checkout's `dist/`; nothing of it is kept in the repository."""


def function_dir(name: str, dist: Path = DIST) -> Path:
    """The package of a function: what Lambda unpacks into `/var/task`."""
    return dist / "functions" / name


def layer_dir(name: str, dist: Path = DIST) -> Path:
    """A layer, `core` or `deps`: what Lambda unpacks into `/opt`, so it has `python/` inside."""
    return dist / "layers" / name
