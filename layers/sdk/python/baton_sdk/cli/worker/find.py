"""The one worker of a module, named on the command line as ``MODULE`` or ``MODULE:NAME``."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TypeVar

import typer

from baton_sdk.cli.session import REFUSED

T = TypeVar("T")
PARAMETER = "MODULE"


def find(spec: str, kind: type[T]) -> T:
    """The object of this ``kind`` in the module, the current folder first, as ``python -m`` has it.

    A usage error says what is wrong with ``spec``; a module that fails by itself tells it with its own
    traceback, exit 1.
    """
    module_name, colon, name = spec.partition(":")
    module = _module(module_name)
    if colon:
        return _named(module, name, kind)
    found = {id(value): (name, value) for name, value in vars(module).items() if isinstance(value, kind)}
    if len(found) == 1:
        ((_, only),) = found.values()
        return only
    what = kind.__name__
    if not found:
        raise _usage(f"{module_name} has no {what}: make one, like `worker = baton_sdk.{what}()`")
    choices = " or ".join(f"{module_name}:{name}" for name, _ in found.values())
    raise _usage(f"{module_name} has {len(found)} {what}s: say {choices}")


def _module(name: str) -> ModuleType:
    if name.endswith(".py") or "/" in name:
        meant = name.removesuffix(".py").strip("./").replace("/", ".")
        raise _usage(f"a module is wanted, not its file: {meant}")
    if not all(part.isidentifier() for part in name.split(".")):
        raise _usage(f"{name!r} is not the name of a module")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except Exception as error:  # noqa: BLE001 - whatever the user's own code raises
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise _usage(f"there is no module {error.name} in {here}, nor is one installed") from None
        _tell(error)
        raise typer.Exit(REFUSED) from None


def _named(module: ModuleType, name: str, kind: type[T]) -> T:
    if not hasattr(module, name):
        raise _usage(f"{module.__name__} has no {name or 'name after the colon'}")
    value = getattr(module, name)
    if not isinstance(value, kind):
        raise _usage(f"{module.__name__}:{name} is no {kind.__name__}, but {type(value).__name__}")
    return value


def _usage(said: str) -> typer.BadParameter:
    return typer.BadParameter(said, param_hint=PARAMETER)


def _tell(error: Exception) -> None:
    """The traceback, from the user's own code on."""
    frames = error.__traceback__
    while frames is not None and _is_machinery(frames):
        frames = frames.tb_next
    traceback.print_exception(error.with_traceback(frames))


def _is_machinery(frames: TracebackType) -> bool:
    file = frames.tb_frame.f_code.co_filename
    return file == __file__ or file == importlib.__file__ or file.startswith("<frozen importlib")
