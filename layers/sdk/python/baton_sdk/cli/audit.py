"""``baton audit``: who did what, beside what the runs' own logs tell."""

from __future__ import annotations

import itertools
from typing import Annotated

import typer

from baton_sdk.cli.session import Session
from baton_sdk.cli.tokens import Everywhere
from baton_sdk.cli.views import present, when
from baton_sdk.tokens import EVERY_NAMESPACE

COLUMNS = ("AT", "WHAT", "WHICH", "BY")


def audit(
    session: Session,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="At most this many.")] = 50,
    everything: Annotated[bool, typer.Option("--all", help="All of it, page after page.")] = False,
    everywhere: Everywhere = False,
) -> None:
    """List who did what, the newest first: tokens made and revoked, workflows put and deleted, runs deleted
    and republished. It takes an admin's token.

    BY is the id of a token. Who started, cancelled or resumed a run is told by its log: `baton tail RUN`.
    Where everyone is trusted nobody is known, and nothing is kept.

    \b
    Examples:
      baton audit
      baton audit --all --json | jq '.audit[] | select(.action == "token.created")'
    """
    with session.client() as client:
        found = client.audit.list(
            namespace=EVERY_NAMESPACE if everywhere else None,
            page_size=100 if everything else min(limit, 100),
        )
        taken = list(found if everything else itertools.islice(found, limit))
    if session.out.as_json:
        session.out.document({"audit": [done.raw for done in taken]})
    elif taken or not session.out.for_person:
        now = present() if session.out.for_person else None
        rows = ((when(done.at, now), done.action, done.subject, done.by) for done in taken)
        session.out.table(COLUMNS, rows)
    else:
        session.out.note("nothing")
