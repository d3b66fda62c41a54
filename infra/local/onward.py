"""Hands what an invocation leaves to another call of the same function, in a thread."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from baton.errors import Unavailable
from infra.local.delivery import Call
from infra.manifest import Function

logger = logging.getLogger("infra.local")

THREADS = 4
"""Calls at once; more wait for their turn."""

_calling: ContextVar[Function] = ContextVar("calling")


@contextmanager
def calling(function: Function) -> Iterator[None]:
    """The block is an invocation of ``function``: what it hands on is for the same one."""
    token = _calling.set(function)
    try:
        yield
    finally:
        _calling.reset(token)


class LocalOnward:
    """``baton.outbound.invoke.Onward`` for functions in this process."""

    def __init__(self) -> None:
        self._call: Call | None = None
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="onward")

    def bind(self, call: Call) -> None:
        """Say what carries out an invocation: the functions are loaded after what they are given."""
        self._call = call

    def later(self, function_event: dict[str, Any]) -> None:
        try:
            self._threads.submit(self._run, _calling.get(), function_event)
        except RuntimeError as exc:
            raise Unavailable("the local stack is stopping") from exc

    def stop(self) -> None:
        """Take nothing more on, and let what is under way end."""
        self._threads.shutdown(cancel_futures=True)

    def _run(self, function: Function, event: dict[str, Any]) -> None:
        assert self._call is not None
        try:
            self._call(function, event, str(uuid.uuid4()))
        except Exception:  # nobody waits for it
            logger.exception("%s failed on what it was handed", function.name)
