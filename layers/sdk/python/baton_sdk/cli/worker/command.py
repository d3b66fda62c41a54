"""The command line of ``baton worker``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from baton_sdk.cli.session import Session
from baton_sdk.cli.worker.find import PARAMETER, find
from baton_sdk.errors import InvalidRequest
from baton_sdk.retry import DEFAULT
from baton_sdk.worker.terms import LEAST_LEASE_SECONDS, MOST_LEASE_SECONDS

if TYPE_CHECKING:
    from baton_sdk.worker.worker import Worker


def worker(
    session: Session,
    module: Annotated[
        str, typer.Argument(metavar="MODULE", help="Where the Worker is: MODULE or MODULE:NAME.")
    ],
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", "-c", metavar="N", min=1, help="So many runs at once.")
    ] = None,
    lease_seconds: Annotated[
        float | None,
        typer.Option(
            "--lease-seconds",
            metavar="SECONDS",
            min=LEAST_LEASE_SECONDS,
            max=MOST_LEASE_SECONDS,
            help="How long a run waits for another worker when this one has died. At least 10, unless the "
            "deployment allows shorter ones.",
        ),
    ] = None,
    drain_seconds: Annotated[
        float | None,
        typer.Option("--drain-seconds", metavar="SECONDS", min=0, help="What runs have to end on SIGTERM."),
    ] = None,
    worker_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The worker's name. Default: host, pid, chance.")
    ] = None,
) -> None:
    """Claim and perform runs of the workflows that MODULE registers, until Ctrl-C or SIGTERM.

    Those under way then have --drain-seconds to end; what has not is given back to the queue, and another
    worker goes on from what is recorded. A second Ctrl-C gives all of it back at once. What is not given here
    is as the module has it.

    A driver's token is enough, unless functions say what starts them (on_completed, on_failed, on_event): to
    announce that takes an operator's. With a driver's leave it out here, and have an operator register it by
    `baton workflows apply`.

    \b
    Examples:
      baton worker app
      baton worker jobs.app:worker --concurrency 4 --json
    \b
    What app.py may say:
      from baton_sdk import Context, Worker

    \b
      worker = Worker()

    \b
      @worker.workflow("report", on_completed=["build"])
      def report(ctx: Context, input: dict) -> dict:
          rows = ctx.step("count", count_rows, input)  # recorded: never done twice
          ctx.sleep(3600)                              # holds no worker meanwhile
          return {"rows": rows}
    """
    from baton_sdk.cli.worker.lines import shown  # every other verb starts sooner
    from baton_sdk.worker.worker import Worker

    found = find(module, Worker)
    if not found.workflows:
        raise typer.BadParameter(
            f"the Worker of {module} has no workflows: @worker.workflow(…) registers one",
            param_hint=PARAMETER,
        )
    _set(found, concurrency, lease_seconds, drain_seconds, worker_id)
    options = session.options
    if options.url or options.token or options.namespace:
        found.client = session.client(retry=DEFAULT)
    with found.client, shown(session.out, found.terms.logger):
        _tell(session, found)
        with _refusals_named(found):
            found.run()
        if session.out.as_json:
            session.out.line({"type": "stopped", "worker_id": found.worker_id})
        else:
            session.out.note("stopped")


def _set(
    worker: Worker,
    concurrency: int | None,
    lease_seconds: float | None,
    drain_seconds: float | None,
    worker_id: str | None,
) -> None:
    worker.concurrency = worker.concurrency if concurrency is None else concurrency
    worker.drain_seconds = worker.drain_seconds if drain_seconds is None else drain_seconds
    terms: dict[str, Any] = {"lease_seconds": lease_seconds, "worker_id": worker_id}
    given = {name: value for name, value in terms.items() if value is not None}
    try:
        worker.terms = replace(worker.terms, **given)
    except ValueError as error:  # of the two, --lease-seconds has its range above
        raise typer.BadParameter(str(error), param_hint="--id") from None


@contextmanager
def _refusals_named(worker: Worker) -> Iterator[None]:
    """A lease that this service does not take, told by the name that it has here."""
    try:
        yield
    except InvalidRequest as error:
        said = [each.msg for each in error.errors if each.loc[-1:] == ("lease_seconds",)]
        if not said:
            raise
        raise InvalidRequest(
            f"--lease-seconds {worker.terms.lease_seconds:g} (lease_seconds of the Worker): {said[0]}",
            status=error.status,
            request_id=error.request_id,
        ) from error


def _tell(session: Session, worker: Worker) -> None:
    url = worker.client.address.url
    if session.out.as_json:
        serving = {"worker_id": worker.worker_id, "workflows": list(worker.workflows), "url": url}
        session.out.line({"type": "serving", **serving, "concurrency": worker.concurrency})
    else:
        session.out.note(
            f"{worker.worker_id} serves {', '.join(worker.workflows)} of {url}, {worker.concurrency} runs at "
            "once; Ctrl-C lets them end"
        )
