"""A run's log as a person reads it: what Baton and the driver said, the output between folded together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.text import Text
from rich.tree import Tree

from baton_sdk.cli.output import compact, state
from baton_sdk.cli.views import event_text
from baton_sdk.log import Event
from baton_sdk.run import Run

_OUTPUT = frozenset({"stdout", "stderr"})


def timeline(run: Run, events: Sequence[Event]) -> Tree:
    """The run, its attempts, and in each what happened when."""
    head = Text.assemble(("run ", "dim"), (run.id, "bold"), "  ", state(run.state), f"  {len(events)} events")
    tree = Tree(head, guide_style="dim")
    began = events[0].ts
    for attempt, said in itertools.groupby(events, key=lambda event: event.attempt):
        branch = tree.add(Text(f"attempt {attempt}", style="bold"))
        for kind, group in itertools.groupby(said, key=_kind):
            entries = list(group)
            if kind in _OUTPUT:
                branch.add(_line((entries[0].ts - began).total_seconds(), _folded(kind, entries)))
                continue
            for entry in entries:
                text = Text.assemble((f"{entry.type:<10}", "bold cyan"), " ", _said(entry))
                branch.add(_line((entry.ts - began).total_seconds(), text))
    return tree


def _kind(event: Event) -> str:
    return event.type if event.type in _OUTPUT else "said"


def _folded(kind: str, entries: Sequence[Event]) -> Text:
    took = (entries[-1].ts - entries[0].ts).total_seconds()
    span = f"{entries[0].seq}..{entries[-1].seq}"
    last = event_text(entries[-1]).plain
    return Text(f"{kind:<10} {len(entries)} lines in {took:.1f} s, events {span}; last: {last}")


def _said(event: Event) -> Text:
    return event_text(event) if event.type in {"start", "end"} else Text(compact(event.data))


def _line(since: float, text: Text) -> Text:
    line = Text.assemble((f"{since:+7.2f}s  ", "dim"), text)
    line.no_wrap, line.overflow = True, "ellipsis"
    return line
