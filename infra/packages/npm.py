"""Fetches what is published as an npm package, pinned by hash, once per checkout."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

from infra.packages.failed import Failed
from infra.packages.layout import CHECKOUT

CACHE = CHECKOUT / ".cache"
DOWNLOAD_SECONDS = 300


class Package(NamedTuple):
    """One file of one version; ``folder``: what of it is wanted, as the archive names it."""

    name: str
    version: str
    sha512: str
    folder: str = "package"

    @property
    def home(self) -> Path:
        """Where it is, once it was fetched into this checkout."""
        return CACHE / self.name / self.version


def fetch(package: Package) -> Path:
    """The package's folder, fetched if it is not there; several may call at once.

    Raises Failed where there is no npm, or what came is not the file whose hash is pinned.
    """
    above = package.home.parent
    above.mkdir(parents=True, exist_ok=True)
    with (above / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not package.home.is_dir():
            with tempfile.TemporaryDirectory(dir=above) as scratch:
                with tarfile.open(_download(package, Path(scratch))) as archive:
                    archive.extractall(scratch, filter="data")
                # Renamed as the last step: a fetch that died halfway is not taken for a finished one.
                (Path(scratch) / package.folder).rename(package.home)
    return package.home


def _download(package: Package, into: Path) -> Path:
    which = f"{package.name}@{package.version}"
    npm = shutil.which("npm")
    if npm is None:
        raise Failed(
            f"{which} comes as an npm package and there is no `npm` here: "
            "`apt-get install --no-install-recommends nodejs npm` (Debian, Ubuntu) brings it"
        )
    command = [npm, "pack", which, "--silent", "--pack-destination", str(into)]
    try:
        done = subprocess.run(
            command, cwd=into, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise Failed(f"`npm pack {which}` took over {DOWNLOAD_SECONDS} s") from late
    if done.returncode != 0:
        raise Failed(f"`npm pack {which}` failed:\n{done.stderr}")
    file = into / f"{package.name}-{package.version}.tgz"
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha512").hexdigest()
    if digest != package.sha512:
        raise Failed(f"{file.name} is not the file expected: its sha512 is {digest}")
    return file
