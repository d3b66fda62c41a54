"""Calls scheduled functions as EventBridge Scheduler does, each in a thread of its own."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from baton.domain.clock import Clock, rfc3339
from infra.local.delivery import Call
from infra.local.names import ACCOUNT, name_of
from infra.manifest import Function

logger = logging.getLogger("infra.local")


class Scheduler:
    """Ticks until stopped. A function is never called while its last call goes on: late ticks are dropped.

    ``call`` carries out one invocation. ``wait(seconds)`` passes the time between two and says whether to
    stop; a test hands in its own.
    """

    def __init__(
        self,
        functions: Iterable[Function],
        call: Call,
        *,
        clock: Clock,
        region: str,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._functions = [each for each in functions if each.schedule is not None]
        self._call = call
        self._clock = clock
        self._region = region
        self._stopping = threading.Event()
        self._wait = wait or self._stopping.wait
        self._threads = [
            threading.Thread(
                target=self._tick,
                args=(each, each.schedule.local_seconds),
                name=f"tick-{each.name}",
                daemon=True,
            )
            for each in self._functions
            if each.schedule is not None
        ]

    def start(self) -> None:
        """Begin to tick."""
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float) -> bool:
        """Tick no more; let the calls under way end. False when one did not within ``timeout`` seconds."""
        self._stopping.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(timeout)
        return not any(thread.is_alive() for thread in self._threads)

    def round(self) -> None:
        """Call each function once, in the caller's thread."""
        for function in self._functions:
            self._call_once(function)

    def _tick(self, function: Function, seconds: float) -> None:
        while not self._wait(seconds):
            self._call_once(function)

    def _call_once(self, function: Function) -> None:
        request_id = str(uuid.uuid4())
        try:
            self._call(function, self._event(function, request_id), request_id)
        except Exception:  # a scheduled call has no caller: the next tick comes all the same
            logger.exception("the scheduled call of %s failed", function.name)

    def _event(self, function: Function, request_id: str) -> dict[str, Any]:
        schedule = f"arn:aws:scheduler:{self._region}:{ACCOUNT}:schedule/default/{name_of(function)}"
        return {
            "version": "0",
            "id": request_id,
            "detail-type": "Scheduled Event",
            "source": "aws.scheduler",
            "account": ACCOUNT,
            "time": rfc3339(self._clock.now())[:19] + "Z",
            "region": self._region,
            "resources": [schedule],
            "detail": "{}",
        }
