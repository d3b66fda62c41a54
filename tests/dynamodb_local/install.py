"""Fetch DynamoDB Local once per checkout, from the npm package that ships it, and look for its Java."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "amplify-dynamodb-simulator"
VERSION = "2.9.30"
SHA512 = (
    "c5379e44bbf311fab2779961ddb1f8734907bd21c79a6843e590ec1c52804398"
    "36665e89aa515dbad6908422c7cf1129e91cb5a3b4c1ea7888a17b9002749ec1"
)
CACHE = Path(__file__).parents[2] / ".cache" / "dynamodb-local"
HOME = CACHE / VERSION
DOWNLOAD_SECONDS = 300


class Unavailable(RuntimeError):
    """DynamoDB Local cannot run here; the message says what to install."""


def java() -> str:
    """The path of the Java launcher; Unavailable where there is none."""
    found = shutil.which("java")
    if found is None:
        raise Unavailable(
            "DynamoDB Local needs Java 17 or newer and there is no `java` here: "
            "`apt-get install --no-install-recommends default-jre-headless` (Debian, Ubuntu) brings it"
        )
    return found


def installed() -> bool:
    """Whether it has been fetched into this checkout."""
    return (HOME / "DynamoDBLocal.jar").is_file()


def install() -> Path:
    """The folder with DynamoDBLocal.jar, fetched if it is not there; many processes may call at once.

    Raises Unavailable if it cannot be fetched or is not the file whose hash is pinned above.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed():
            with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
                _unpack(_download(Path(scratch)), Path(scratch))
    return HOME


def _download(into: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable(
            "DynamoDB Local comes as an npm package and there is no `npm` here: "
            "`apt-get install --no-install-recommends nodejs npm` (Debian, Ubuntu) brings it"
        )
    command = [npm, "pack", f"{PACKAGE}@{VERSION}", "--silent", "--pack-destination", str(into)]
    try:
        subprocess.run(
            command, cwd=into, check=True, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS
        )
    except subprocess.CalledProcessError as failure:
        raise Unavailable(f"`npm pack {PACKAGE}@{VERSION}` failed:\n{failure.stderr}") from failure
    except subprocess.TimeoutExpired as late:
        raise Unavailable(f"`npm pack {PACKAGE}@{VERSION}` took over {DOWNLOAD_SECONDS} s") from late
    return into / f"{PACKAGE}-{VERSION}.tgz"


def _unpack(package: Path, scratch: Path) -> None:
    with package.open("rb") as content:
        digest = hashlib.file_digest(content, "sha512").hexdigest()
    if digest != SHA512:
        raise Unavailable(f"{package.name} is not the file expected: its sha512 is {digest}")
    with tarfile.open(package) as archive:
        archive.extractall(scratch, filter="data")
    # Renamed as the last step: a fetch that died halfway is not taken for a finished one.
    shutil.rmtree(HOME, ignore_errors=True)
    (scratch / "package" / "emulator").rename(HOME)


def main() -> int:
    """Install and say where; the exit code for make."""
    try:
        java()
        print(f"dynamodb-local: {install()}")
    except Unavailable as reason:
        print(f"dynamodb-local: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
