"""The file system of a container: the layers unpacked over one another, and what Lambda itself brings."""

from __future__ import annotations

import filecmp
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from infra.packages import cuts, trees, wheels
from infra.packages.layout import CHECKOUT, DIST, LAYERS, layer_dir
from tests.infra.packages.interpreter import Interpreter, find

DEPS = CHECKOUT / "layers/deps/requirements.txt"
RUNTIME = Path(__file__).with_name("requirements.txt")
NATIVE = ".so"


class Image(NamedTuple):
    """Lambda's `/opt`, and a folder of what its base image has installed beside Python."""

    interpreter: Interpreter
    opt: Path
    runtime: Path


def unpack(into: Path, dist: Path = DIST) -> Image:
    """What was built, laid out for a container on this machine: as it is deployed, but for extension modules.

    Those of Lambda's processor give way to those that the same lock names for this machine's.
    """
    image = Image(find(), into / "opt", into / "runtime")
    for layer in LAYERS:
        shutil.copytree(layer_dir(layer, dist), image.opt, dirs_exist_ok=True)
    _exchange(image)
    wheels.install(RUNTIME, image.runtime, image.interpreter.platform)
    _compile(image, image.runtime)
    if not image.interpreter.lambdas:
        _compile(image, image.opt)
    return image


def _exchange(image: Image) -> None:
    python = image.opt / "python"
    for path in trees.files(python):
        if path.suffix == NATIVE:
            path.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        twin = Path(scratch)
        wheels.install(DEPS, twin, image.interpreter.platform)
        cuts.cut(twin)
        for path in trees.files(twin):
            name = path.relative_to(twin)
            if path.suffix == NATIVE:
                shutil.copy2(path, python / name)
            elif not name.parts[0].endswith(".dist-info"):
                assert filecmp.cmp(path, python / name, shallow=False), f"{name} differs between processors"


def _compile(image: Image, folder: Path) -> None:
    """As the base image has its own packages compiled."""
    command = [
        str(image.interpreter.path),
        "-m",
        "compileall",
        "-q",
        "--invalidation-mode",
        "unchecked-hash",
        str(folder),
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
