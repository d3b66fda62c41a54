"""`make bench`: measure, print, and fail where a limit on units or round trips is broken."""

import json
import logging
import os
import sys
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from baton.observability import logger
from tests.bench import coldstarts, cpu, imports, latency, report, sweeping, throughput, units
from tests.bench.house import Tables
from tests.bench.results import Results
from tests.bench.sidebyside import Theatre
from tests.dynamodb_local.launch import serving


class Part(StrEnum):
    """What can be measured alone."""

    UNITS = "units"
    SWEEP = "sweep"
    CPU = "cpu"
    IMPORTS = "imports"
    THROUGHPUT = "throughput"
    LATENCY = "latency"
    COLD_STARTS = "cold-starts"


def main(
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    only: Annotated[list[Part] | None, typer.Option(help="Measure this part; may be repeated.")] = None,
    quick: Annotated[bool, typer.Option(help="Fewer rounds: about a minute.")] = False,
) -> None:
    """Measure what Baton costs on DynamoDB Local.

    Exits 1 when a limit on units or round trips is broken; never for a time, which is the machine's as much
    as ours.
    """
    _forget_accounts()
    _keep_stdout_for_the_report()
    parts = set(only or Part)
    turns = units.TURNS[-1:] if quick else units.TURNS
    results = Results()
    with serving() as endpoint:
        if Part.UNITS in parts:
            _say("counting units and round trips")
            results.units = units.count(Tables(endpoint), taking_turns=turns)
        if Part.SWEEP in parts:
            settled = 500 if quick else 100_000
            _say(f"sweeping among {settled:,} settled runs")
            results.sweeping = sweeping.measure(endpoint, settled)
        if Part.CPU in parts:
            _say("handlers beside the bare calls")
            results.cpu = cpu.measure(Theatre(endpoint), blocks=2 if quick else 9, taking_turns=turns)
        if Part.THROUGHPUT in parts:
            _say("appending and replaying")
            results.throughput = throughput.measure(
                Theatre(endpoint), blocks=1 if quick else 5, taking_turns=turns
            )
        if Part.LATENCY in parts:
            _say("from settling to the subscriber's start")
            results.latency = latency.measure(endpoint, rounds=6 if quick else 50)
        if Part.COLD_STARTS in parts:
            _say("building the packages and booting them")
            booted = coldstarts.HOT if quick else coldstarts.ALL
            results.cold_starts = coldstarts.measure_built(
                endpoint, rounds=2 if quick else 5, functions=booted
            )
    if Part.IMPORTS in parts:
        _say("importing")
        names = imports.HOT if quick else imports.ALL
        results.imports = imports.measure(rounds=3 if quick else 9, functions=names)
    if as_json:
        print(json.dumps(results.as_json(), indent=2))
    else:
        report.show(Console(), results)
    raise typer.Exit(0 if results.held else 1)


def _say(what: str) -> None:
    """Where we are; a line, for what spins takes time that is measured."""
    print(f"{what} ...", file=sys.stderr, flush=True)


def _keep_stdout_for_the_report() -> None:
    if isinstance(handler := logger.registered_handler, logging.StreamHandler):
        handler.setStream(sys.stderr)


def _forget_accounts() -> None:
    """Nothing that a developer has set up may be reached from here."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(
        AWS_ACCESS_KEY_ID="bench", AWS_SECRET_ACCESS_KEY="bench", AWS_EC2_METADATA_DISABLED="true"
    )


if __name__ == "__main__":
    typer.run(main)
