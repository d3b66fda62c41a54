"""The first admin token in a file of whoever started the stack, that nobody else can read."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


class NotOurs(Exception):
    """A token can't be kept there. ``str(error)`` says why."""


def look(path: Path) -> None:
    """Raise NotOurs unless a token may be kept at ``path``: nothing is there, or a regular file of ours."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise NotOurs(f"there is no folder {path.parent}") from None
        return
    except OSError as exc:
        raise NotOurs(f"can't look at {path}: {exc.strerror}") from exc
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        raise NotOurs(f"{path} is not a file of yours, or no regular one: it stays as it is")


def keep(path: Path, token: str) -> None:
    """Have a file at ``path`` with ``token`` on a line, for its owner alone. Raises NotOurs, OSError.

    It is made elsewhere in the same folder and takes the place of what was there: nobody who has that one
    open reads the token, and whoever reads ``path`` reads all of it.
    """
    look(path)
    descriptor, made = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{token}\n")
        Path(made).replace(path)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise
