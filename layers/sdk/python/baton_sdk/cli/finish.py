"""``baton finish``: settle a run one drives."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from baton_sdk.cli.options import Attempt, RunArgument
from baton_sdk.cli.session import REFUSED, Session
from baton_sdk.cli.values import PAYLOAD_HELP, json_value
from baton_sdk.cli.views import outcome, present, when
from baton_sdk.errors import InFlight
from baton_sdk.run import Run

# Input spellings of the contract and the state each is stored as.
_STORED = {"succeeded": "completed", "canceled": "cancelled"}


def finish(
    session: Session,
    run_id: RunArgument,
    status: Annotated[
        Literal["completed", "succeeded", "failed", "cancelled", "canceled"],
        typer.Option("--status", help="How it ended; succeeded is completed, canceled is cancelled."),
    ] = "completed",
    output: Annotated[
        str | None, typer.Option("--output", metavar="JSON", help=f"The output: {PAYLOAD_HELP}")
    ] = None,
    error: Annotated[str | None, typer.Option("--error", metavar="TEXT", help="What went wrong.")] = None,
    code: Annotated[int | None, typer.Option("--code", metavar="N", help="An exit code.")] = None,
    signal: Annotated[
        str | None, typer.Option("--signal", metavar="NAME", help="A signal, like SIGTERM.")
    ] = None,
    resumable: Annotated[
        bool, typer.Option("--resumable", help="It may be resumed (not with completed).")
    ] = False,
    session_ref: Annotated[
        str | None,
        typer.Option("--session-ref", metavar="REF", help="Where the driver left off, in its words."),
    ] = None,
    attempt: Attempt = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="Idempotency key of this very finish.")
    ] = None,
) -> None:
    """Settle a run. It settles once: if another outcome stands, that one is shown and the exit code is 1.

    A run that a worker holds is that worker's to settle: unless you say --attempt, it is left to it.

    \b
    Examples:
      baton finish nightly-7 --output '{"artifact": "s3://…"}'
      baton finish nightly-7 --status failed --error "out of disk" --resumable
    """
    payload = json_value(output, "--output")
    with session.client() as client:
        if attempt is None:
            run = client.get(run_id).run
            _check_not_held(run)
            attempt = run.attempt
        answer = client.finish(
            run_id,
            status,
            output=payload,
            error=error,
            code=code,
            signal=signal,
            resumable=resumable or None,
            session_ref=session_ref,
            attempt=attempt,
            idempotency_key=key,
        )
    if session.out.as_json:
        session.out.document({"run": answer.run.raw, "finished": answer.finished})
    else:
        if not answer.finished:
            session.out.note("it had been settled before")
        session.out.console.print(outcome(answer.run))
    if not answer.finished and answer.run.state != _STORED.get(status, status):
        raise typer.Exit(REFUSED)


def _check_not_held(run: Run) -> None:
    """Raise InFlight for a run under a lease that is not over."""
    lease = run.lease
    if lease is None or (lease.expires_at is not None and lease.expires_at <= present()):
        return
    raise InFlight(
        f"run {run.id} is held by worker {lease.worker_id} until {when(lease.expires_at)}: to finish it all "
        f"the same, say --attempt {run.attempt}",
        run=run,
    )
