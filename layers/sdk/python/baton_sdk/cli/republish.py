"""``baton republish``: deliver again what runs have handed off, or should have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from baton_sdk.cli.output import Output
from baton_sdk.cli.session import REFUSED, Session
from baton_sdk.cli.values import moment
from baton_sdk.cli.views import reason
from baton_sdk.client import Client
from baton_sdk.handoff import Republished


def republish(
    session: Session,
    run_id: Annotated[str | None, typer.Argument(metavar="RUN", help="One run's id.")] = None,
    workflow: Annotated[
        str | None,
        typer.Option("--workflow", "-w", metavar="NAME", help="All settled runs of this workflow."),
    ] = None,
    ending: Annotated[
        Literal["completed", "failed"] | None, typer.Option("--ending", help="Only those that ended so.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Settled since: a time, or an age like 24h.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Settled until: a time, or an age like 30m.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", metavar="N", min=1, help="At most this many runs.")
    ] = None,
    subscriber: Annotated[
        str | None, typer.Option("--subscriber", metavar="NAME", help="Only to this subscriber.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count, and change nothing.")] = False,
) -> None:
    """Deliver endings again: of one RUN, or of a workflow's settled runs.

    What a subscriber was started for already is found, not started again, so this may be repeated at any
    time. Exit 1 while something is refused, or busy as another publisher is at it.

    \b
    Examples:
      baton republish nightly-7
      baton republish --workflow build --since 24h --subscriber report --dry-run
      baton republish --workflow build --since 24h --subscriber report
    """
    filters = {
        "ending": ending,
        "since": moment(since, "--since"),
        "until": moment(until, "--until"),
        "limit": limit,
        "subscriber": subscriber,
        "dry_run": dry_run,
    }
    of_many = [value for name, value in filters.items() if name != "subscriber" and value]
    if (run_id is None) == (workflow is None) or (run_id is not None and of_many):
        raise typer.BadParameter("give one RUN, or --workflow and which of its runs", param_hint="RUN")
    total, answered = Republished(), False
    try:
        with session.client() as client, progress(session.out.notes) as show:
            for answer in _answers(client, run_id, workflow, filters):
                total, answered = total.plus(answer), True
                show(total)
    finally:
        # Also of what an error or Ctrl-C cut short: to begin anew is safe, and finds what is done.
        if answered:
            _tell(session.out, total, dry_run=dry_run)
    if not total.complete:
        raise typer.Exit(REFUSED)


def _answers(
    client: Client, run_id: str | None, workflow: str | None, filters: Mapping[str, Any]
) -> Iterator[Republished]:
    if workflow is not None:
        yield from client.republish_all(workflow, **filters)
    elif run_id is not None:
        yield client.republish_run(run_id, subscriber=filters["subscriber"])


def counts(total: Republished) -> Iterator[tuple[str, int]]:
    """The kinds and how many of each."""
    yield "settled runs", total.runs
    yield "created", total.created
    yield "existing", total.existing
    yield "owed again", total.re_owed
    yield "skipped", total.skipped
    yield "refused", len(total.refused)
    yield "busy", len(total.busy)


@contextmanager
def progress(console: Console) -> Iterator[Callable[[Republished], None]]:
    """A bar on a terminal, moved by what is called with the total so far. How many runs there are is not
    known before all of them have been gone over."""
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = (SpinnerColumn(), BarColumn(20), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("republishing", total=None)
        yield lambda total: bar.update(task, description=in_short(total))


def in_short(total: Republished) -> str:
    """The counts on one line, those that are none left out."""
    return ", ".join(f"{count} {kind}" for kind, count in counts(total) if count or kind == "settled runs")


def _tell(out: Output, total: Republished, *, dry_run: bool) -> None:
    if out.as_json:
        out.document(total.as_json())
        return
    rows = [(kind, count) for kind, count in counts(total) if count or kind in {"settled runs", "created"}]
    out.table(
        ("DRY RUN: WOULD BE" if dry_run else "REPUBLISHED", "COUNT"),
        rows if out.for_person else counts(total),
    )
    refusals = [(each.run_id, each.subscriber, reason(each.error)) for each in total.refused]
    if out.for_person and refusals:
        out.table(("REFUSED", "SUBSCRIBER", "WHY"), refusals)
    for run_id, subscriber, why in () if out.for_person else refusals:
        out.note(f"refused: {run_id} to {subscriber}: {why}")
    if total.busy:
        out.note(f"busy, another publisher is at them: {', '.join(total.busy)}; try again in a moment")
    if total.next_token is not None:
        out.note("there are more")
