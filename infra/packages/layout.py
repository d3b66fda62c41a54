"""Where what was built lies: the deployment takes its assets from here."""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
DIST = CHECKOUT / "dist"

LAYERS = ("deps", "core")
"""In the order of their sizes, and of how seldom they change."""


def function_dir(name: str, dist: Path = DIST) -> Path:
    """The asset of a function: what Lambda unpacks to `/var/task`."""
    return dist / "functions" / name


def layer_dir(name: str, dist: Path = DIST) -> Path:
    """The asset of a layer: what Lambda unpacks to `/opt`, its modules in `python/`. Raises LookupError."""
    if name not in LAYERS:
        raise LookupError(f"no layer is called {name!r}")
    return dist / "layers" / name
