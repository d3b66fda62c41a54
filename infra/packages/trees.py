"""Folders as assets: copied, made alike wherever they were built, hashed, weighed."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

EPOCH = 315_619_200
"""1980-01-02: a zip can name no moment before 1980, and it names the time of the place it is made in."""

BYTECODE = "__pycache__"


def files(root: Path) -> list[Path]:
    """All files of a folder, sorted by their names within it."""
    found = [path for path in root.rglob("*") if not path.is_dir()]
    return sorted(found, key=lambda path: path.relative_to(root).as_posix())


def sources(root: Path) -> list[Path]:
    """Those of them that nobody's Python has left there."""
    return [path for path in files(root) if BYTECODE not in path.parts]


def copy(source: Path, target: Path) -> None:
    """Copy a folder's sources into one that is there."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(BYTECODE), dirs_exist_ok=True)


def settle(root: Path) -> None:
    """Give every file the same rights and the same time, so that nothing tells where and when it was made.

    Lambda's user is not the one that owns the files: everyone may read.
    """
    for path in [*root.rglob("*"), root]:
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (EPOCH, EPOCH))


def digest(root: Path, paths: Iterable[Path] | None = None) -> str:
    """Names, rights and contents as a hash: of the folder, or of those ``paths`` in it."""
    whole = hashlib.sha256()
    for path in files(root) if paths is None else paths:
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
