"""``baton runs …``: find runs, look at them, wait for them, stop, resume and delete them."""

from __future__ import annotations

import itertools
from enum import StrEnum
from typing import Annotated

import typer

from baton_sdk.cli.chain import chain
from baton_sdk.cli.options import ContextRef, RunArgument
from baton_sdk.cli.outage import Outage
from baton_sdk.cli.session import REFUSED, Session, command, take_globals
from baton_sdk.cli.values import moment
from baton_sdk.cli.views import RUN_COLUMNS, outcome, present, run_row, show_detail
from baton_sdk.run import Run

runs = typer.Typer(
    name="runs",
    help="Find runs; show, wait for, cancel, resume and delete one.",
    no_args_is_help=True,
    callback=take_globals,
)


class State(StrEnum):
    """What ``--state`` takes."""

    PENDING = "pending"
    RUNNING = "running"
    SUSPENDED = "suspended"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DEAD = "dead"


def list_runs(
    session: Session,
    workflow: Annotated[
        str | None, typer.Option("--workflow", "-w", metavar="NAME", help="Only of this workflow.")
    ] = None,
    state: Annotated[
        list[State] | None,
        typer.Option(
            "--state",
            "-s",
            metavar="STATE",
            help=f"Only in this state: {', '.join(State)}; may repeat.",
        ),
    ] = None,
    tag: Annotated[str | None, typer.Option("--tag", metavar="TAG", help="Only with this tag.")] = None,
    context_ref: ContextRef = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Created since: a time, or an age like 2h.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Created until: a time, or an age like 30m.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="At most this many.")] = 50,
    everything: Annotated[bool, typer.Option("--all", help="All of them, page after page.")] = False,
) -> None:
    """List runs, newest first.

    \b
    Examples:
      baton runs list --workflow build --state failed --since 24h
      baton runs list --all --json | jq '.runs[].id'
    """
    with session.client() as client:
        found = client.list(
            workflow=workflow,
            states=state or (),
            tag=tag,
            context_ref=context_ref,
            since=moment(since, "--since"),
            until=moment(until, "--until"),
            page_size=100 if everything else min(limit, 100),
        )
        taken = list(found if everything else itertools.islice(found, limit))
    if session.out.as_json:
        session.out.document({"runs": [run.raw for run in taken]})
    elif taken or not session.out.for_person:
        now = present() if session.out.for_person else None
        session.out.table(RUN_COLUMNS, (run_row(run, now) for run in taken))
    else:
        session.out.note("no runs")


def show(session: Session, run_id: RunArgument) -> None:
    """Show a run, its payloads and what hangs on it: its deliveries and the chain it stands in.

    \b
    Examples:
      baton runs show nightly-7
      baton runs show nightly-7 --json | jq .run.output
    """
    with session.client() as client:
        detail = client.get(run_id)
        drawn = chain(client, detail) if session.out.for_person else None
    if session.out.as_json:
        session.out.document(detail.raw)
        return
    show_detail(session.out, detail)
    if drawn is not None:
        session.out.console.print(drawn)


def wait(
    session: Session,
    run_id: RunArgument,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=0, help="Give up after this long.")
    ] = None,
) -> None:
    """Wait for a run's end: exit 0 if it completed, 1 if it ended otherwise or not in time.

    \b
    Example:
      baton runs wait nightly-7 --timeout 3600 && ./publish.sh
    """
    with session.client() as client, session.out.waiting(f"waiting for {run_id}"):
        run = client.wait(run_id, timeout, listener=Outage(session.out.note, "trying again"))
    if session.out.as_json:
        session.out.document({"run": run.raw, "terminal": run.terminal})
    else:
        session.out.console.print(outcome(run))
    if not run.terminal:
        session.out.note(f"still {run.state} after {timeout:g} s")
    if run.state != "completed":
        raise typer.Exit(REFUSED)


def cancel(
    session: Session,
    run_id: RunArgument,
    reason: Annotated[
        str | None, typer.Option("--reason", "-r", metavar="TEXT", help="Why; the driver sees it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Settle it now, whatever its driver does.")] = False,
) -> None:
    """Ask a run's driver to stop (or settle the run, if nobody drives it).

    The wish is durable and goes into the log. A driver that finishes afterwards reports its real outcome.

    \b
    Example:
      baton runs cancel nightly-7 --reason "wrong branch"
    """
    with session.client() as client:
        run = client.cancel(run_id, reason=reason, force=force)
    if session.out.as_json:
        session.out.document({"run": run.raw})
    elif run.terminal:
        session.out.console.print(outcome(run))
    else:
        session.out.console.print(f"asked the driver of {run.id} to stop; it is {run.state} until it has")


def resume(
    session: Session,
    run_id: RunArgument,
    force: Annotated[
        bool, typer.Option("--force", help="Also a run that was not settled resumable.")
    ] = False,
) -> None:
    """Open a settled, resumable run again, under the next attempt.

    An attached run needs a driver then: `baton exec --run RUN -- CMD…`.

    \b
    Example:
      baton runs resume nightly-7 && baton exec --run nightly-7 -- make nightly
    """
    with session.client() as client:
        answer = client.resume(run_id, force=force)
    run = answer.run
    if session.out.as_json:
        session.out.document({"run": run.raw, "resumed": answer.resumed})
    elif answer.resumed:
        session.out.console.print(f"run {run.id} is {run.state} again, attempt {run.attempt}")
    else:
        session.out.note(f"not resumed: {_why_not(run)}")
    if not answer.resumed:
        raise typer.Exit(REFUSED)


def _why_not(run: Run) -> str:
    if run.continued_as is not None:
        return f"it goes on as {run.continued_as}"
    if run.state in {"failed", "cancelled", "dead"} and not run.resumable:
        return "it was not settled resumable (--force)"
    return f"it is {run.state}"


def delete(session: Session, run_id: RunArgument) -> None:
    """Delete a settled run and its log, at once.

    \b
    Example:
      baton runs delete nightly-7
    """
    with session.client() as client:
        client.delete(run_id)
    if session.out.as_json:
        session.out.document({"deleted": run_id})
    else:
        session.out.note(f"deleted {run_id}")


for name, function, in_short in (
    ("list", list_runs, None),
    ("show", show, None),
    ("wait", wait, "Wait for a run's end."),
    ("cancel", cancel, "Ask a run's driver to stop."),
    ("resume", resume, None),
    ("delete", delete, None),
):
    runs.command(name, short_help=in_short)(command(function))
