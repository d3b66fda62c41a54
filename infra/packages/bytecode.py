"""Compiles a layer for Lambda's Python beforehand. `/opt` can't be written to: without bytecode, each cold
start would compile all that it imports, and then forget it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from infra.packages.failed import Failed
from infra.packages.npm import fetch
from infra.packages.pyodide import PYODIDE

COMPILE_SECONDS = 300
PREFIX = "/opt/python"
"""Where Lambda unpacks the `python` of a layer."""


def compile_all(root: Path) -> None:
    """Write `__pycache__` beside all modules of a layer's `python`. Same sources, same bytes. Raises Failed.

    It counts whatever the times of the files are: Python is told not to look whether a source is newer.
    """
    node = shutil.which("node")
    if node is None:
        raise Failed("bytecode for Lambda's Python is made with Node, and there is no `node` here")
    script = Path(__file__).with_name("compile.mjs")
    done = subprocess.run(
        [node, str(script), str(fetch(PYODIDE)), str(root.resolve()), PREFIX],
        capture_output=True,
        text=True,
        timeout=COMPILE_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"{root} could not be compiled:\n{done.stdout}{done.stderr}")
