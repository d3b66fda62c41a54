"""Installs what a lock names into a folder, for a platform that need not be this machine's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from infra.packages.failed import Failed
from infra.packages.platforms import Platform

INSTALL_SECONDS = 300


def install(lock: Path, into: Path, platform: Platform) -> None:
    """Only wheels, only by the lock's hashes, nothing but what it names. Raises Failed."""
    conditions = re.findall(r"^[\w.-]+==\S+ *;.*$", lock.read_text(), re.MULTILINE)
    if conditions:
        # pip decides them for the Python that runs it, whatever platform it is told.
        raise Failed(f"{lock}: a condition can't be decided for another platform: {conditions}")
    platforms = [flag for tag in platform.tags for flag in ("--platform", tag)]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"),
            *("--target", str(into), "--no-compile", "--no-deps", "--require-hashes"),
            *("--only-binary", ":all:", "--implementation", "cp", "--python-version", platform.python),
            *platforms,
            *("--requirement", str(lock)),
        ],
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"pip could not install {lock} for {platform}:\n{done.stderr}")
