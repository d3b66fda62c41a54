"""Fetch DynamoDB Local once per checkout, from the npm package that ships it, and look for its Java."""

import shutil
import sys
from pathlib import Path

from infra.packages.failed import Failed
from infra.packages.npm import Package, fetch

DYNAMODB_LOCAL = Package(
    name="amplify-dynamodb-simulator",
    version="2.9.30",
    sha512=(
        "c5379e44bbf311fab2779961ddb1f8734907bd21c79a6843e590ec1c52804398"
        "36665e89aa515dbad6908422c7cf1129e91cb5a3b4c1ea7888a17b9002749ec1"
    ),
    folder="package/emulator",
)


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
    return DYNAMODB_LOCAL.home.is_dir()


def install() -> Path:
    """The folder with DynamoDBLocal.jar, fetched if it is not there; many processes may call at once.

    Raises Unavailable if it cannot be fetched or is not the file whose hash is pinned above.
    """
    try:
        return fetch(DYNAMODB_LOCAL)
    except Failed as why:
        raise Unavailable(str(why)) from why


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
