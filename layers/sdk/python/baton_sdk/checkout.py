"""The repository that this client is part of: the local stack is not part of an installed client."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from baton_sdk.errors import InvalidRequest

_NEEDS = ("moto", "starlette", "uvicorn")


def checkout() -> Path:
    """The folder of the repository. Raises InvalidRequest when there is none, or it lacks packages."""
    here = Path(__file__).resolve()
    root = next((folder for folder in (*here.parents, Path.cwd()) if _holds_stack(folder)), None)
    if root is None:
        raise InvalidRequest("the local stack is not part of an installed client: use a checkout of Baton")
    missing = [name for name in _NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise InvalidRequest(
            f"the local stack needs {', '.join(missing)}, which {sys.executable} does not have: "
            "`make demo` sets up an environment that does, or `pip install -r infra/local/requirements.txt`"
        )
    return root


def places(root: Path) -> list[str]:
    """Where the checkout's packages are found."""
    return [str(root), str(root / "layers/core/python"), str(root / "layers/sdk/python")]


def _holds_stack(folder: Path) -> bool:
    return (folder / "infra" / "local" / "__main__.py").is_file()
