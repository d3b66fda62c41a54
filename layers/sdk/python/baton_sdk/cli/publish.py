"""``baton publish``: an event of one's own."""

from __future__ import annotations

from typing import Annotated

import typer

from baton_sdk.cli.session import Session
from baton_sdk.cli.values import PAYLOAD_HELP, json_value


def publish(
    session: Session,
    event: Annotated[str, typer.Argument(metavar="EVENT", help="The event's name.")],
    payload: Annotated[
        str | None, typer.Option("--payload", "-p", metavar="JSON", help=f"What it says: {PAYLOAD_HELP}")
    ] = None,
    event_id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="The event's id: the same id starts nothing twice."),
    ] = None,
) -> None:
    """Publish an event: start the workflows that subscribe to it, wake the runs that wait for it.

    One that reaches nobody is kept for 24 hours, for the next run that waits for it.

    \b
    Examples:
      baton publish order.paid --payload '{"order": 7}' --id order-7-paid
      jq .build release.json | baton publish release --payload -
    """
    said = json_value(payload, "--payload")
    with session.client() as client:
        done = client.publish_event(event, said, id=event_id)
    if session.out.as_json:
        session.out.document(done.raw)
        return
    session.out.table(("STARTED", "RUN"), [(each.subscriber, each.run_id) for each in done.started])
    woken = f", {done.woken} woken" if done.woken else ""
    kept = "; kept for the next run that waits for it" if done.kept else ""
    # So far: a batching subscriber's run starts when its window ends.
    session.out.note(f"event {done.event_id} is published: {len(done.started)} started so far{woken}{kept}")
