"""The chain a run stands in, as a tree: what started it, what it goes on as, what its ending started."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text
from rich.tree import Tree

from baton_sdk.cli.output import STATE_COLOURS, state
from baton_sdk.cli.views import reason
from baton_sdk.client import Client
from baton_sdk.errors import NotFound
from baton_sdk.graph import ended
from baton_sdk.run import Delivery, Run, RunDetail

ANCESTORS = 20
"""How far up the drawing goes: each is one request, and who goes on as new may have thousands."""


def chain(client: Client, detail: RunDetail) -> Tree | None:
    """The run between what it came from and what came of it; None where it stands alone."""
    run = detail.run
    above = list(_above(client, run))
    (first, how), *rest = [*reversed(above), (_label(run, "bold reverse"), Text())]
    top = tree = Tree(first, guide_style="dim")
    for label, leads_by in rest:
        tree = tree.add(Text.assemble(how, label))
        how = leads_by
    for delivery in detail.deliveries:
        tree.add(_delivered(delivery))
    if run.continued_as is not None:
        tree.add(Text.assemble(("goes on as → ", "cyan"), _found(client, run.continued_as)))
    return top if above or tree.children else None


def _above(client: Client, run: Run) -> Iterator[tuple[Text, Text]]:
    """From the nearest up: who it was, and by what it led to the one below."""
    for _ in range(ANCESTORS):
        if run.continued_from is not None:
            up, how = run.continued_from, Text("goes on as → ", style="cyan")
        elif run.triggered_by is not None and run.triggered_by.run_id is not None:
            up, how = run.triggered_by.run_id, _by(run.triggered_by.event)
        elif run.triggered_by is not None:
            yield Text(run.triggered_by.event or "an event", style="bold cyan"), Text("→ ")
            return
        else:
            return
        try:
            run = client.get(up).run
        except NotFound:
            yield _gone(up), how
            return
        yield _label(run), how
    if run.continued_from is not None or run.triggered_by is not None:
        yield Text("…", style="dim"), Text()


def _by(event: str | None) -> Text:
    settled = ended(event or "")
    how, style = (settled[1], STATE_COLOURS[settled[1]]) if settled else (event or "", "cyan")
    return Text(f"{how} → ", style=style)


def _label(run: Run, style: str = "bold") -> Text:
    return Text.assemble((run.workflow, style), f"  {run.id}  ", state(run.state))


def _found(client: Client, run_id: str) -> Text:
    try:
        return _label(client.get(run_id).run)
    except NotFound:
        return _gone(run_id)


def _gone(run_id: str) -> Text:
    return Text.assemble((run_id, "bold"), ("  gone", "dim"))


def _delivered(delivery: Delivery) -> Text:
    arrow = Text.assemble(_by(delivery.event), (delivery.subscriber, "bold"), "  ")
    if delivery.run_id is not None:
        return Text.assemble(arrow, delivery.run_id, "  ", state(delivery.run_state or "gone"))
    why = f": {reason(delivery.error)}" if delivery.error is not None else ""
    return Text.assemble(arrow, state(delivery.state), why)
