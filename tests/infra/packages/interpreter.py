"""The Python that packages are booted in: of Lambda's version where there is one, else the tests' own."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from infra.packages.platforms import LAMBDA, Platform


class Interpreter(NamedTuple):
    """An executable, and the platform that it runs packages of."""

    path: Path
    platform: Platform

    @property
    def lambdas(self) -> bool:
        """Whether it is of the version that Lambda runs, and takes the bytecode that is deployed."""
        return self.platform.python == LAMBDA.python


def find() -> Interpreter:
    """A Python of Lambda's version by its name on the PATH or among pyenv's, else this one."""
    for path in _candidates():
        said = subprocess.run(
            [path, "-S", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=False,
        )
        if said.stdout.strip() == LAMBDA.python:
            return Interpreter(path, Platform(LAMBDA.python, platform.machine()))
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Interpreter(Path(sys.executable), Platform(own, platform.machine()))


def _candidates() -> Iterator[Path]:
    name = f"python{LAMBDA.python}"
    if found := shutil.which(name):
        yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{LAMBDA.python}*/bin/{name}"), reverse=True)
