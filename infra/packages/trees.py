"""Folders as assets: copied, made alike wherever they were built, hashed, weighed."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

EPOCH = 315_532_800
"""The first moment that a zip can name: 1980-01-01."""

NEVER = shutil.ignore_patterns("__pycache__", "*.pyc", "*.pyo", ".DS_Store")
"""What a machine leaves in folders that it runs code of."""


def copy(source: Path, target: Path) -> None:
    """A copy of a folder, without what a machine leaves in it."""
    shutil.copytree(source, target, ignore=NEVER, dirs_exist_ok=True)


def settle(root: Path) -> None:
    """Give every file the same rights and the same time, so that nothing tells where and when it was made.

    Lambda's user is not the one that owns the files: everyone may read.
    """
    for path in sorted(root.rglob("*"), reverse=True):
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (EPOCH, EPOCH))
    root.chmod(0o755)
    os.utime(root, (EPOCH, EPOCH))


def files(root: Path) -> Iterator[Path]:
    """All files of a folder, sorted by their names within it."""
    found = [path for path in root.rglob("*") if not path.is_dir()]
    yield from sorted(found, key=lambda path: path.relative_to(root).as_posix())


def digest(root: Path) -> str:
    """What the folder holds, as a hash: names, rights and contents."""
    whole = hashlib.sha256()
    for path in files(root):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        mode = path.stat().st_mode & 0o777
        whole.update(f"{path.relative_to(root).as_posix()}\0{mode:o}\0{content}\n".encode())
    return whole.hexdigest()


def unzipped_bytes(root: Path) -> int:
    """What its files weigh, as Lambda counts them."""
    return sum(path.stat().st_size for path in files(root))


def zipped_bytes(root: Path) -> int:
    """What it weighs as the zip that is sent to AWS."""
    with tempfile.TemporaryFile() as scratch:
        with zipfile.ZipFile(scratch, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files(root):
                archive.write(path, path.relative_to(root))
        return scratch.tell()
