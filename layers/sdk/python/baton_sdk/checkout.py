"""The repository that this client is part of: the stacks, local or deployed, are not part of an installed
client."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from baton_sdk.errors import InvalidRequest

_LOCAL_STACK = ("moto", "starlette", "uvicorn")


def checkout(what: str = "the local stack", needs: Sequence[str] = _LOCAL_STACK) -> Path:
    """The folder of the repository, which ``what`` is part of. Raises InvalidRequest when there is none, or
    this Python lacks packages that it needs."""
    here = Path(__file__).resolve()
    root = next((folder for folder in (*here.parents, Path.cwd()) if _holds_stack(folder)), None)
    if root is None:
        raise InvalidRequest(f"{what} is not part of an installed client: use a checkout of Baton")
    missing = [name for name in needs if importlib.util.find_spec(name) is None]
    if missing:
        raise InvalidRequest(
            f"{what} needs {', '.join(missing)}, which {sys.executable} does not have: "
            "`make demo` sets up an environment that does, or `pip install -r infra/local/requirements.txt`"
        )
    return root


def places(root: Path) -> list[str]:
    """Where the checkout's packages are found."""
    return [str(root), str(root / "layers/core/python"), str(root / "layers/sdk/python")]


def _holds_stack(folder: Path) -> bool:
    return (folder / "infra" / "local" / "__main__.py").is_file()
