"""The model's answers: tables for a person, one document for a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from infra.model.ceilings import Ceiling
from infra.model.lives import Assumptions, Life
from infra.model.quotas import QUOTAS
from infra.model.single import Single

RATES = (10, 1000, 10_000)


def show(
    console: Console,
    found: Sequence[tuple[Life, Sequence[Ceiling]]],
    singles: Sequence[Single],
    assumed: Assumptions,
) -> None:
    """All of it."""
    for life, ceilings in found:
        console.print(_of_life(life, ceilings))
    console.print(_of_singles(singles))
    console.print("Assumed: " + ", ".join(f"{name} {value:g}" for name, value in asdict(assumed).items()))
    for quota in QUOTAS:
        console.print(f"{quota.most:,.0f} {quota.what}: {quota.source}", style="dim")


def document(
    found: Sequence[tuple[Life, Sequence[Ceiling]]], singles: Sequence[Single], assumed: Assumptions
) -> dict[str, Any]:
    """The same for a program; ``breaks_at`` is null where nothing breaks."""
    return {
        "assumed": asdict(assumed),
        "lives": {
            life.name: [
                {
                    "where": each.where,
                    "of": each.of,
                    "unit": each.unit,
                    "each": each.each,
                    "most": each.most,
                    "shares": {str(rate): each.share(rate) for rate in RATES},
                    "breaks_at": each.breaks_at if math.isfinite(each.breaks_at) else None,
                    "moved_by": each.moved_by,
                }
                for each in ceilings
            ]
            for life, ceilings in found
        },
        "singles": [each._asdict() for each in singles],
        "quotas": [each._asdict() for each in QUOTAS],
    }


def _of_life(life: Life, ceilings: Sequence[Ceiling]) -> Table:
    title = f"A run {life.name}: what its settles use"
    table = Table(title=title, title_justify="left", box=box.MARKDOWN)
    for column in ("what", "settles of", "each takes"):
        table.add_column(column, no_wrap=True)
    for rate in RATES:
        table.add_column(f"at {rate:,}/s", justify="right")
    table.add_column("breaks at", justify="right")
    table.add_column("moved by", no_wrap=True)
    for each in ceilings:
        breaks = f"{each.breaks_at:,.0f}/s" if math.isfinite(each.breaks_at) else "never"
        shares = [_share(each.share(rate)) for rate in RATES]
        row = (each.where, each.of, f"{each.each:.2g} of {each.most:,.0f} {each.unit}")
        table.add_row(*row, *shares, breaks, each.moved_by)
    return table


def _of_singles(singles: Sequence[Single]) -> Table:
    table = Table(title="What does not follow the settles", title_justify="left", box=box.MARKDOWN)
    table.add_column("at most", justify="right")
    for column in ("of", "because", "moved by"):
        table.add_column(column)
    for each in singles:
        table.add_row(f"{each.most:,.0f}", each.what, each.why, each.moved_by)
    return table


def _share(share: float) -> str:
    colour = "bold red" if share > 1 else "yellow" if share > 0.7 else "green"
    return f"[{colour}]{share:.0%}[/]" if share >= 0.01 else f"[{colour}]< 1%[/]"
