"""``baton start``: start a run, once."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from baton_sdk.cli.options import ContextRef, InactivityTimeout, Input, Key, RunId, Tags
from baton_sdk.cli.output import state
from baton_sdk.cli.session import REFUSED, Session
from baton_sdk.cli.values import instant, json_value
from baton_sdk.cli.views import outcome, show_run

ATTACHED = (
    "attached: whoever started it drives it (baton exec, finish); `--mode queued` leaves it to a worker"
)
"""Said of a run whose workflow nobody is known to perform, and of which nobody said what it is to be."""


def start(
    session: Session,
    workflow: Annotated[str, typer.Argument(metavar="WORKFLOW", help="The workflow's name.")],
    input_: Input = None,
    key: Key = None,
    run_id: RunId = None,
    tag: Tags = None,
    context_ref: ContextRef = None,
    agent_id: Annotated[
        str | None, typer.Option("--agent-id", metavar="ID", help="Who asks, in your words.")
    ] = None,
    mode: Annotated[
        Literal["attached", "queued"] | None,
        typer.Option("--mode", help="Who drives it: you (attached), or a worker (queued)."),
    ] = None,
    inactivity_timeout: InactivityTimeout = None,
    max_attempts: Annotated[int | None, typer.Option("--max-attempts", metavar="N", help="1 to 100.")] = None,
    available_at: Annotated[
        str | None, typer.Option("--available-at", metavar="TIME", help="Not before this time (queued runs).")
    ] = None,
    priority: Annotated[
        int | None, typer.Option("--priority", metavar="N", help="0 to 9, higher first.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for its end; exit 1 unless it completed.")
    ] = False,
) -> None:
    """Start a run of WORKFLOW.

    A run of a workflow that is registered, or that a worker has announced, is queued for it; another one is
    attached: yours to drive. With --key the same command sent twice starts one run and shows it both times.

    \b
    Examples:
      baton start build --input '{"commit": "4f1c"}'
      baton start nightly --key nightly-2026-11-29 --input @params.json
      echo '[1, 2]' | baton start sum --input - --json
    """
    payload = json_value(input_, "--input")
    with session.client() as client:
        started = client.start(
            workflow,
            input=payload,
            run_id=run_id,
            context_ref=context_ref,
            agent_id=agent_id,
            tags=tag or (),
            mode=mode,
            inactivity_timeout_seconds=inactivity_timeout,
            max_attempts=max_attempts,
            available_at=instant(available_at, "--available-at"),
            priority=priority,
            idempotency_key=key,
        )
        run = started.run
        if not started.started:
            session.out.note(f"this key had started it before: it is {run.state} now")
        if mode is None and run.mode == "attached" and not run.terminal and not session.out.as_json:
            session.out.note(ATTACHED)
        if wait and not run.terminal:
            with session.out.waiting(f"waiting for {run.id}"):
                run = client.wait(run.id)
    if session.out.as_json:
        session.out.document({"run": run.raw, "started": started.started})
    elif wait:
        session.out.console.print(outcome(run))
    elif session.out.for_person:
        show_run(session.out, run)
    else:
        session.out.table((), [(run.id, state(run.state))])
    if wait and run.state != "completed":
        raise typer.Exit(REFUSED)
