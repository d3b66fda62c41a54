"""The worker: a program's workflows, and how their runs are claimed and performed."""

from __future__ import annotations

import logging
import os
import platform
import re
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from baton_sdk.client import Client
from baton_sdk.errors import Forbidden
from baton_sdk.run import Run
from baton_sdk.transport import USER_AGENT
from baton_sdk.worker.claims import Claims
from baton_sdk.worker.clock import Clock
from baton_sdk.worker.endings import Ending
from baton_sdk.worker.execution import Execution
from baton_sdk.worker.loop import Loop
from baton_sdk.worker.terms import Terms
from baton_sdk.worker.workflows import Subscribes, Workflows, subscriptions
from baton_sdk.workflow import Subscription

LOGGER = logging.getLogger("baton_sdk.worker")

F = TypeVar("F", bound=Callable[..., Any])


class Worker:
    """Performs runs of the workflows that are registered with it.

    worker = Worker()

    @worker.workflow("report", on_completed=["build"])
    def report(ctx: Context, input: dict) -> dict:
        rows = ctx.step("count", count_rows, input["path"])
        return {"rows": rows}

    ``run`` performs what comes, ``concurrency`` runs at once, until a signal; ``run_once`` one run, here and
    now. A run is held for ``lease_seconds`` at a time: that long after a worker's death another one goes on.
    ``drain_seconds`` is what functions have to end when the worker is told to stop. Nothing is asked of the
    service before one of the methods is called; ``client`` is made then, from the environment, unless one is
    given.
    """

    def __init__(
        self,
        *,
        concurrency: int = 10,
        lease_seconds: float = 60.0,
        drain_seconds: float = 25.0,
        worker_id: str | None = None,
        client: Client | None = None,
        clock: Clock | None = None,
        logger: logging.Logger = LOGGER,
    ) -> None:
        self.concurrency = concurrency
        self.drain_seconds = drain_seconds
        self.terms = Terms(
            worker_id=worker_id or _own_id(),
            lease_seconds=lease_seconds,
            clock=clock or Clock(),
            logger=logger,
        )
        self._client = client
        self._workflows = Workflows()
        self._says_subscriptions = True
        self._loop: Loop | None = None
        self._claims: Claims | None = None

    @property
    def worker_id(self) -> str:
        """The name that leases are held under."""
        return self.terms.worker_id

    @property
    def client(self) -> Client:
        """Through which the service is asked."""
        if self._client is None:
            self._client = Client()
        return self._client

    @client.setter
    def client(self, client: Client) -> None:
        self._client = client

    @property
    def workflows(self) -> Sequence[str]:
        """The names of what is registered."""
        return self._workflows.names

    def workflow(
        self,
        name: str,
        *,
        on_completed: Sequence[Subscribes] = (),
        on_failed: Sequence[Subscribes] = (),
        on_event: Sequence[Subscribes] = (),
        subscribes: Sequence[Subscription | Mapping[str, Any]] = (),
    ) -> Callable[[F], F]:
        """Register the decorated function ``f(ctx)`` or ``f(ctx, input)`` under a name; it stays as it is.

        The input comes as its annotation says, if that is a dataclass, a typed dictionary or a pydantic
        model; what it returns, as JSON, is the run's output. It is started when a run of ``on_completed``
        completes, when one of ``on_failed`` fails, is cancelled or dead, and when an event of ``on_event`` is
        published: names, or Subscriptions whose ``event`` is the name, with ``where`` and ``input``. To
        announce these takes an operator's token.
        """
        if not isinstance(name, str):
            raise TypeError('a workflow has a name: @worker.workflow("name")')
        started_by = subscriptions(on_completed, on_failed, on_event, subscribes)

        def register(function: F) -> F:
            self._workflows.add(name, function, started_by)
            return function

        return register

    def run(self, *, signals: bool = True) -> None:
        """Claim and perform until SIGTERM or SIGINT (a second one: at once), or ``stop``. Outages are
        outlasted; raises what will not get better by waiting: InvalidRequest, NotAllowed. ``signals`` are for
        the main thread only."""
        self._loop = Loop(
            self.claims(),
            self.execution,
            self.announce,
            self.terms,
            concurrency=self.concurrency,
            drain_seconds=self.drain_seconds,
        )
        self._loop.run(signals=signals)

    def stop(self) -> None:
        """Have ``run`` end as the first signal does; for any thread, and for handlers of signals."""
        if self._loop is not None:
            self._loop.stop()

    def run_once(self) -> int:
        """Claim one run that is there now, and perform it in this thread: the number performed, 0 or 1."""
        if self._claims is None:
            self._claims = self.claims()
        claimed = self._claims.ask(1, 0)
        for run in claimed.runs:
            self.execution(run, since=claimed.since).perform()
        return len(claimed.runs)

    def execute(self, run: Run) -> Ending:
        """Perform a run that this worker has just claimed, in this thread: how it ended. Raises LookupError
        for a workflow that is not registered."""
        return self.execution(run).perform()

    def execution(self, run: Run, *, since: float | None = None) -> Execution:
        """The attempt of a run that this worker has claimed, not begun yet. ``since``: a moment of the
        clock's monotonic time before the claim. Raises LookupError."""
        function = self._workflows.get(run.workflow)
        begun = self.terms.clock.monotonic() if since is None else since
        return Execution(self.client, run, function, self.terms, since=begun)

    def lambda_handler(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """The handler of a Lambda function that runs are pushed to, directly, by SQS or by EventBridge:
        ``handler = worker.lambda_handler``. See ``baton_sdk.worker.lambda_target``."""
        from baton_sdk.worker.lambda_target import handle  # for who is one

        return handle(self, event, context)

    def elsewhere(self, client: Client, clock: Clock) -> Worker:
        """A worker of the same workflows that asks another service, and has another clock."""
        worker = Worker(
            concurrency=self.concurrency,
            lease_seconds=self.terms.lease_seconds,
            drain_seconds=self.drain_seconds,
            client=client,
            clock=clock,
            logger=self.terms.logger,
        )
        worker._workflows = self._workflows
        return worker

    def claims(self) -> Claims:
        """A sequence of claims for all that is registered."""
        return Claims(self.client, self._workflows, self.terms)

    def announce(self) -> float:
        """Tell the service that this worker is alive and what it performs: for how many seconds it counts.

        What starts its workflows is said with it, also that nothing does: an earlier version may have said
        otherwise. To say that takes an operator's token, so a worker without one leaves it, if nothing does.
        """
        said = {each.name: list(each.subscribes) for each in self._workflows}
        if self._says_subscriptions:
            try:
                return self.client.announce(self.worker_id, said, runtime=RUNTIME)
            except Forbidden:
                if any(said.values()):
                    raise
                self._says_subscriptions = False
        return self.client.announce(self.worker_id, dict.fromkeys(said), runtime=RUNTIME)


RUNTIME = f"python {platform.python_version()} {USER_AGENT}"


def _own_id() -> str:
    """A name that no other worker has, and that tells a person where this one is."""
    host = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname()).lstrip("._-")[:64]
    return f"{host or 'worker'}-{os.getpid()}-{secrets.token_hex(3)}"
