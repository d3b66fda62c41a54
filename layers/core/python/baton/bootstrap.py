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
from baton.outbound.bus import Bus
from baton.outbound.invoke import Onward, SelfInvocation
from baton.outbound.timers import Timers
from baton.services.announcing import Announcer
from baton.services.appends import Appends
from baton.services.catalog import Catalog
from baton.services.changes import Changes
from baton.services.coalescing import Coalescer
from baton.services.context import Context
from baton.services.control import Control
from baton.services.delivering import Deliverer
from baton.services.details import Details
from baton.services.endings import Endings
from baton.services.events import Events
from baton.services.finishes import Finishes
from baton.services.heal import Heal
from baton.services.lookup import Lookup
from baton.services.performing import Performer
from baton.services.publishing import Publisher
from baton.services.rehearsing import rehearsing
from baton.services.republish import Republisher
from baton.services.retention import Retention
from baton.services.runs import Runs
from baton.services.runtime import Runtime
from baton.services.starts import Starts
from baton.services.stats import Statistics
from baton.services.streams import Streams
from baton.services.surroundings import Views
from baton.services.sweep import Sweep
from baton.services.waits import Waits
from baton.services.workflows import Workflows
from baton.store.catalog import CatalogStore
from baton.store.due import DueStore
from baton.store.dynamo import Dynamo
from baton.store.events import EventStore
from baton.store.log import LogStore
from baton.store.rows import Shards
from baton.store.runs import RunStore
from baton.store.waiters import WaiterStore
from baton.store.windows import WindowStore

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
    shards = Shards(settings.due_shards, settings.settled_shards)
    context = Context(
        settings=settings,
        clock=clock,
        dynamo=dynamo,
        runs=RunStore(dynamo, settings.runs_table, shards=shards),
        due=DueStore(dynamo, settings.runs_table, shards=shards),
        log=LogStore(dynamo, settings.log_table),
        catalog=CatalogStore(dynamo, settings.catalog_table),
        windows=WindowStore(dynamo, settings.runs_table, due_shards=settings.due_shards),
        waiters=WaiterStore(dynamo, settings.runs_table),
        events=EventStore(
            dynamo,
            settings.runs_table,
            due_shards=settings.due_shards,
            retention_seconds=settings.retention_seconds,
        ),
        entropy=secrets.token_bytes if seed is None else rng.randbytes,
        jitter=rng.random,
        bus=Bus(settings.events_bus, region=settings.region, sleep=clock.sleep, jitter=rng.random),
        timers=Timers(settings.timers_queue_url, region=settings.region, clock=clock),
        onward=onward,
    )
    lookup = Lookup(context)
    details = Details(context, lookup)
    catalog = Catalog(context)
    performer = Performer(context, lookup, catalog)
    coalescer = Coalescer(context)
    announcer = Announcer(context.bus)
    deliverer = Deliverer(context, catalog, coalescer)
    waits = Waits(context, lookup, performer, details)
    publisher = Publisher(context, catalog, details, deliverer, announcer, waits)
    rehearsal = rehearsing(context, catalog, details)
    endings = Endings(context)
    events = Events(context, catalog, deliverer, waits)
    retention = Retention(context)
    return Runtime(
        settings=settings,
        clock=clock,
        dynamo=dynamo,
        starts=Starts(context, lookup, details, catalog),
        appends=Appends(context, lookup),
        streams=Streams(context, lookup),
        finishes=Finishes(context, lookup, performer, details),
        control=Control(context, lookup, performer, details),
        runs=Runs(context, lookup, performer, details),
        views=Views(context, lookup, details, catalog),
        sweep=Sweep(
            context,
            performer=performer,
            publisher=publisher,
            coalescer=coalescer,
            waits=waits,
            events=events,
            retention=retention,
        ),
        heal=Heal(context, catalog, endings, publisher),
        republisher=Republisher(context, catalog, endings, publisher, rehearsal),
        statistics=Statistics(context, catalog),
        catalog=catalog,
        workflows=Workflows(context, catalog),
        coalescer=coalescer,
        waits=waits,
        events=events,
        announcer=announcer,
        publisher=publisher,
        changes=Changes(publisher, announcer, retention),
    )


_current: Runtime | None = None


def runtime() -> Runtime:
    """This container's runtime: the one installed, else one built from the environment, once, its connection
    ready."""
    global _current
    if _current is None:
        settings, name = Settings.from_env(), os.environ.get("AWS_LAMBDA_FUNCTION_NAME")
        onward = None if name is None else SelfInvocation(name, region=settings.region)
        _current = build(settings, onward=onward)
        _current.dynamo.connect()
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
