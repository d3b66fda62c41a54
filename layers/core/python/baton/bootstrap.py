"""Wires one container: settings, clock, stores, services. Built once at import of a handler, or handed in."""

# ruff: noqa: E402 - the collector rests before anything is imported
from __future__ import annotations

import gc

gc.disable()  # imports make no garbage, and looking for it would take a tenth of a cold start

import os
import random
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager

from baton.config import Settings
from baton.domain.clock import Clock, Millis
from baton.outbound.invoke import Onward, SelfInvocation
from baton.services.context import Context
from baton.services.runtime import Runtime
from baton.store.dynamo import Dynamo

__all__ = ["Runtime", "SystemClock", "build", "install", "installed", "runtime"]


class SystemClock:
    """The wall clock."""

    def now(self) -> Millis:
        """The machine's time."""
        return time.time_ns() // 1_000_000  # noqa: TID251 - this is the clock

    def sleep(self, seconds: float) -> None:
        """Block this thread."""
        time.sleep(seconds)  # noqa: TID251 - this is the clock


def build(
    settings: Settings,
    clock: Clock | None = None,
    *,
    seed: int | None = None,
    onward: Onward | None = None,
) -> Runtime:
    """A container of its own: with no memory of any other's. ``seed`` makes its chances repeatable;
    ``onward`` takes on what an invocation leaves."""
    clock = clock or SystemClock()
    rng = random.Random(seed)
    dynamo = Dynamo(region=settings.region, endpoint_url=settings.endpoint_url, sleep=clock.sleep, rng=rng)
    context = Context(
        settings=settings,
        clock=clock,
        dynamo=dynamo,
        entropy=secrets.token_bytes if seed is None else rng.randbytes,
        jitter=rng.random,
        onward=onward,
    )
    return Runtime(context)


_current: Runtime | None = None


def runtime(*needed: str) -> Runtime:
    """This container's runtime: the one installed, else one built from the environment, once, its connection
    ready, and the services made that are ``needed``: left to a request they take that one's time."""
    global _current
    if _current is None:
        settings, name = Settings.from_env(), os.environ.get("AWS_LAMBDA_FUNCTION_NAME")
        onward = None if name is None else SelfInvocation(name, region=settings.region)
        _current = build(settings, onward=onward)
        _current.dynamo.connect()
    for name in needed:
        getattr(_current, name)
    return _current


def install(given: Runtime | None) -> None:
    """Hand a runtime in (None: take it back)."""
    global _current
    _current = given


@contextmanager
def installed(given: Runtime) -> Iterator[Runtime]:
    """Hand a runtime in for a while: handlers loaded meanwhile keep it."""
    before = _current
    install(given)
    try:
        yield given
    finally:
        install(before)


gc.freeze()  # what was imported stays: no later collection looks at it again
gc.enable()
