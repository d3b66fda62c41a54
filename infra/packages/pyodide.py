"""Fetches Pyodide, CPython 3.13 as WebAssembly, which Node runs: from its npm package, pinned by hash."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from infra.packages.failed import Failed
from infra.packages.layout import CHECKOUT

VERSION = "0.29.5"
SHA512 = (
    "4e462b52ff66f1099f2260032919a9c19ba52f8f04d2e51a0523be76f4502b20"
    "09734aa1f60bbb8e7f1bb721cf8773599b5af6207d98ac9848afb43607dbab03"
)
CACHE = CHECKOUT / ".cache" / "pyodide"
DOWNLOAD_SECONDS = 300


def install() -> Path:
    """The folder of the package, fetched into this checkout if it is not there; several may call at once.

    Raises Failed where there is no npm, or what came is not the file whose hash is pinned here.
    """
    home = CACHE / VERSION
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.is_dir():
            with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
                _unpack(_download(Path(scratch)), Path(scratch))
                # Renamed as the last step: a fetch that died halfway is not taken for a finished one.
                (Path(scratch) / "package").rename(home)
    return home


def _unpack(package: Path, scratch: Path) -> None:
    with tarfile.open(package) as archive:
        archive.extractall(scratch, filter="data")


def _download(into: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise Failed("bytecode for Lambda's Python is made with Node (npm too), and there is none here")
    command = [npm, "pack", f"pyodide@{VERSION}", "--silent", "--pack-destination", str(into)]
    done = subprocess.run(
        command, cwd=into, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False
    )
    if done.returncode != 0:
        raise Failed(f"`npm pack pyodide@{VERSION}` failed:\n{done.stderr}")
    package = into / f"pyodide-{VERSION}.tgz"
    if hashlib.sha512(package.read_bytes()).hexdigest() != SHA512:
        raise Failed(f"{package.name} is not the file that was expected")
    return package
