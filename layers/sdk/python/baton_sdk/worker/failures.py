"""Errors as the log keeps them, and errors made again from it: what a function has caught in one attempt it
catches in the next."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from baton_sdk import payload
from baton_sdk.errors import InvalidRequest
from baton_sdk.worker.errors import StepFailed, TerminalError

MAX_MESSAGE = 4 * payload.KB
MAX_STACK = 32 * payload.KB
_HEAD = MAX_STACK // 4
_CUT = "\n[…]\n"
_MACHINERY = str(Path(__file__).parent)


def told(error: BaseException) -> dict[str, Any]:
    """An error as a run's outcome and its log tell it: ``{message, type, stack}``, cut where it is long."""
    named = error.type if isinstance(error, TerminalError) else None
    return {
        "message": text(str(error) or type(error).__name__)[:MAX_MESSAGE],
        "type": named or type(error).__name__,
        "stack": stack_of(error),
    }


def stack_of(error: BaseException) -> str:
    """The traceback as Python writes it, from the user's own frames on. Of a long one the middle is left out:
    its end says what, and its beginning where."""
    written = text("".join(traceback.format_exception(type(error), error, users_frames(error))))
    if len(written) <= MAX_STACK:
        return written
    return written[:_HEAD] + _CUT + written[len(_CUT) + _HEAD - MAX_STACK :]


def users_frames(error: BaseException) -> TracebackType | None:
    """The error's frames without the worker's own, through which the function was called; all of them where
    no other is there."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_MACHINERY):
        frames = frames.tb_next
    return frames or error.__traceback__


def text(value: str) -> str:
    """Text that a log takes: lone surrogates are written out."""
    return value.encode("utf-8", "backslashreplace").decode()


def kept(error: BaseException) -> dict[str, Any]:
    """An error as a checkpoint has it: its class and what it was made of, where JSON can say that."""
    args: list[Any] | None = list(error.args)
    try:
        encoded = payload.encode(args)
    except InvalidRequest:
        args = None
    else:
        args = args if len(encoded) <= MAX_MESSAGE else None
    kind = type(error)
    return {
        "module": kind.__module__,
        "class": kind.__qualname__,
        "args": args,
        "message": text(str(error))[:MAX_MESSAGE],
    }


def revived(data: Mapping[str, Any]) -> BaseException:
    """The error that was kept, made as pickle would make it: from its class and its args. StepFailed where
    the class is not in the program any more, or is made of something else."""
    kind: Any = sys.modules.get(str(data.get("module")))
    for name in str(data.get("class")).split("."):
        kind = getattr(kind, name, None)
    args = data.get("args")
    if isinstance(kind, type) and issubclass(kind, BaseException) and isinstance(args, list):
        with suppress(Exception):  # whatever a constructor raises: the failure is told all the same
            made: BaseException = kind(*args)
            return made
    return StepFailed(f"{data.get('class')}: {data.get('message')}")
