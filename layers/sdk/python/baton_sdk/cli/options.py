"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from baton_sdk.cli.values import PAYLOAD_HELP

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")]
Input = Annotated[
    str | None, typer.Option("--input", "-i", metavar="JSON", help=f"The input: {PAYLOAD_HELP}")
]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="KEY", help="Idempotency key: the same key starts one run, however often."),
]
RunId = Annotated[str | None, typer.Option("--run-id", metavar="ID", help="The id the run is to have.")]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag to find it by; up to 16.")
]
ContextRef = Annotated[
    str | None, typer.Option("--context-ref", metavar="REF", help="What the run belongs to, in your words.")
]
InactivityTimeout = Annotated[
    float | None,
    typer.Option(
        "--inactivity-timeout",
        metavar="SECONDS",
        help="Fail the run after this long without an event; 0 is never. Attached runs: 24 h.",
    ),
]
Attempt = Annotated[
    int | None,
    typer.Option("--attempt", metavar="N", help="Your fence: refused if another driver has taken over."),
]
