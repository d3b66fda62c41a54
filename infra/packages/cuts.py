"""What is left out of the dependency layer, and why."""

from __future__ import annotations

import shutil
from pathlib import Path

from infra.manifest import FUNCTIONS

INSTALLERS = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
"""Notes of the installer to itself: they tell how it was called, and of files that are cut."""

SCRIPTS = "bin"
"""Commands for a shell: nobody calls them, and each begins with the path of the Python that installed it."""


def services() -> frozenset[str]:
    """The AWS services that some function may call by the manifest: the clients it can need."""
    signalled = {right.action.partition(":")[0] for function in FUNCTIONS for right in function.signals}
    return frozenset({"dynamodb"} | signalled)


def cut(root: Path) -> None:
    """Take out of installed packages what no function can use.

    botocore describes each service of AWS in a folder of its own, nearly all of its weight; a client of a
    service that the manifest names no right for would be refused whatever it asked. Raises LookupError when
    botocore lacks one that is named.
    """
    shutil.rmtree(root / SCRIPTS, ignore_errors=True)
    for notes in root.glob("*.dist-info"):
        for name in INSTALLERS:
            (notes / name).unlink(missing_ok=True)
    data, kept = root / "botocore" / "data", services()
    described = {path.name for path in data.iterdir() if path.is_dir()}
    if missing := kept - described:
        raise LookupError(f"botocore has no data of {sorted(missing)}: is that what it calls these services?")
    for name in described - kept:
        shutil.rmtree(data / name)
