"""The stack: DynamoDB, functions, gateway and all else that calls them on one laptop, started and drained."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from baton import bootstrap
from baton.bootstrap import Runtime
from baton.config import Settings
from baton.domain.clock import Clock
from baton.domain.roles import Role
from baton.domain.tokens import EVERY_NAMESPACE, Wish
from baton.outbound.invoke import Onward
from infra.local.carriers import Carriers
from infra.local.clock import InterruptibleClock
from infra.local.functions import FOLDER, Functions, Invoker
from infra.local.gateway import Gateway
from infra.local.inflight import InFlight
from infra.local.memory import in_process, lend_credentials
from infra.local.messaging import QueueAt, messaging, real_services
from infra.local.onward import LocalOnward
from infra.local.routing import Router
from infra.local.scheduler import Scheduler
from infra.local.server import PATIENCE_SECONDS, Listener, Server
from infra.local.settings import table_names
from infra.local.tables import create
from infra.local.vouching import Asking, Vouching
from infra.manifest import AUTHORIZER, FUNCTIONS, Function, function

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

FIRST = Wish(namespace=EVERY_NAMESPACE, role=Role.ADMIN, description="the first, made by the stack")
"""The token by which all others are made."""

THREADS = 256
"""Requests served at once: a long poll holds its thread."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to start. ``port`` 0: any free one. Settings without an endpoint: DynamoDB in this process.

    ``auth``: who comes shows a token, the first of which is the stack's ``admin_token``; else everyone is
    trusted. Without ``schedules`` no clock calls functions, without ``signals`` no stream and no queue;
    ``by_hand``: they call when they are told to, by ``Stack.round``. ``around`` may put something between
    those who call functions and the functions.
    """

    settings: Settings
    host: str = "127.0.0.1"
    port: int = 0
    clock: Clock | None = None
    auth: bool = False
    schedules: bool = True
    signals: bool = True
    by_hand: bool = False
    functions: tuple[Function, ...] = FUNCTIONS
    folder: Path = FOLDER
    around: Callable[[Invoker, Runtime], Invoker] = lambda functions, _runtime: functions


class Stack:
    """One local stack, serving from its making until it is stopped.

    Raises OSError when the address is taken, and what DynamoDB or the loading of a handler raises.
    """

    def __init__(self, options: Options) -> None:
        clock = options.clock or InterruptibleClock()
        in_flight = InFlight()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="function")
        self._onward = LocalOnward()
        with ExitStack() as held:
            listener = held.enter_context(closing(Listener(options.host, options.port)))
            settings = options.settings
            if settings.public_url is None:
                settings = replace(settings, public_url=listener.url)
            self.runtime, queues = held.enter_context(_services(settings, clock, self._onward))
            loaded = Functions(options.functions, self.runtime, options.folder)
            functions = options.around(loaded, self.runtime)
            self._onward.bind(functions.call)
            self.admin_token: str | None = None
            vouching = Vouching()
            if options.auth:
                self.admin_token = self.runtime.tokens.create(FIRST, by=None).text
                seconds = settings.authorizer_seconds
                vouching = Asking(function(AUTHORIZER), functions.call, clock=clock, seconds=seconds)
            gateway = Gateway(
                Router(options.functions),
                functions,
                vouching=vouching,
                clock=clock,
                threads=self._threads,
                in_flight=in_flight,
            )
            called = options.functions if options.signals else ()
            self._carriers = Carriers(called, self.runtime, queues, call=functions.call)
            self._server = Server(gateway, in_flight, listener)
            self._held = held.pop_all()
        scheduled = options.functions if options.schedules else ()
        self._scheduler = Scheduler(scheduled, functions.call, clock=clock, region=options.settings.region)
        self._server.start()
        if not options.by_hand:
            self._scheduler.start()
            self._carriers.start()

    @property
    def url(self) -> str:
        """Where it serves."""
        return self._server.url

    def round(self) -> int:
        """Have the clock, the streams and the queues call functions once, in this thread, until what they
        call has ended; how much streams and queues had. Of a stack that is driven by hand."""
        self._scheduler.round()
        return self._carriers.round()

    def stop(self) -> bool:
        """Drain and end; False when something did not end in time, and goes on in its thread."""
        drained = self._server.stop()
        ticked = self._scheduler.stop(PATIENCE_SECONDS)
        carried = self._carriers.stop(PATIENCE_SECONDS)
        # A thread may still be in a call to a DynamoDB that does not answer.
        closing = threading.Thread(target=self._close, name="closing", daemon=True)
        closing.start()
        closing.join(PATIENCE_SECONDS)
        ended = drained and ticked and carried and not closing.is_alive()
        if ended:
            self._held.close()
        return ended

    def _close(self) -> None:
        self._onward.stop()
        self._threads.shutdown()


@contextmanager
def _services(
    settings: Settings, clock: Clock, onward: Onward
) -> Iterator[tuple[Runtime, dict[str, QueueAt]]]:
    """The tables, made where they are not there, the runtime that works on them, and the queues.

    Moto is there also where DynamoDB is not its own: it has the queues and the bus.
    """
    lend_credentials()
    with in_process(real=real_services(settings)):
        settings, queues = messaging(settings)
        runtime = bootstrap.build(settings, clock, onward=onward)
        client = cast("DynamoDBClient", runtime.dynamo.connection.client)
        create(client, table_names(settings))
        yield runtime, queues
