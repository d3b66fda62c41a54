"""The command that prints the model, as Baton and a stage are set or as one tries them."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Annotated

import typer
from rich.console import Console

from baton.config import Settings
from infra.aws.stage import STAGES, Stage
from infra.model import report
from infra.model.ceilings import ceilings
from infra.model.lives import LIVES, Assumptions
from infra.model.single import singles

WIDTH = 190
TABLES = {"runs_table": "runs", "log_table": "log", "catalog_table": "catalog"}

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def model(
    stage: Annotated[str, typer.Option(help="One of infra/aws/stage.py's.")] = "prod",
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting; requests_per_second, authorizer_seconds or reserved (the sweep's) of the stage; "
            "or what is assumed.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what is used up at which rate of settles, first what breaks first, and what moves it.

    Example: python -m infra.model --set due_shards=64 --set lease_seconds=300
    """
    assumed, settings, deployed = tried(STAGES[stage], given or [])
    found = [(life, ceilings(life, assumed, settings, deployed)) for life in LIVES]
    of_one = singles(assumed, settings)
    if as_json:
        typer.echo(json.dumps(report.document(found, of_one, assumed), indent=2))
    else:
        report.show(Console(highlight=False, width=WIDTH), found, of_one, assumed)


def tried(stage: Stage, given: list[str]) -> tuple[Assumptions, Settings, Stage]:
    """What the model goes by: Baton's own values and the stage's, but for what is given."""
    assumed, settings = Assumptions(), {**TABLES, **stage.settings}
    names = {field.name for field in fields(Assumptions)}
    for each in given:
        name, equals, value = each.partition("=")
        if name in names and equals:
            assumed = replace(assumed, **{name: type(getattr(assumed, name))(value)})
        elif name == "requests_per_second" and equals:
            stage = replace(stage, requests_per_second=int(value))
        elif name == "authorizer_seconds" and equals:
            stage = replace(stage, authorizer_seconds=int(value))
        elif name == "reserved" and equals:
            stage = replace(stage, reserved={**stage.reserved, "sweep": int(value)})
        elif name in Settings.__struct_fields__ and equals:
            settings[name] = value
        else:
            raise typer.BadParameter(
                f"{each}: no such setting, and nothing that is assumed", param_hint="--set"
            )
    env = {f"BATON_{name.upper()}": value for name, value in settings.items()}
    return assumed, Settings.from_env(env), stage
