"""The results as tables for a terminal."""

from rich.console import Console
from rich.table import Table

from tests.bench import coldstarts, cpu, imports, latency, prices
from tests.bench.coldstarts import ColdStarts
from tests.bench.cpu import Cpu
from tests.bench.imports import Imports
from tests.bench.latency import Latency
from tests.bench.limits import Limits, Row
from tests.bench.results import Results
from tests.bench.sizes import KB
from tests.bench.sweeping import DUE, Sweeping
from tests.bench.throughput import Throughput
from tests.bench.units import Units
from tests.bench.whole import LIMITS, WholeRun

_COLOURS = {"ok": "green", "over": "bold red"}


def show(console: Console, results: Results) -> None:
    """Every part that was measured."""
    console.print(f"Baton bench, {results.at}, {results.machine}")
    console.print(", ".join(f"{name} {number}" for name, number in results.versions.items()), style="dim")
    if results.units is not None:
        _show_units(console, results.units)
    if results.sweeping is not None:
        _show_sweeping(console, results.sweeping)
    if results.cpu is not None:
        _show_cpu(console, results.cpu)
    if results.imports is not None:
        _show_imports(console, results.imports)
    if results.cold_starts is not None:
        _show_cold_starts(console, results.cold_starts)
    if results.throughput is not None:
        _show_throughput(console, results.throughput)
    if results.latency is not None:
        _show_latency(console, results.latency)
    if results.held:
        console.print("\nEvery limit on units and round trips is kept.", style="green")
    else:
        console.print("\nA limit on units or round trips is broken.", style="bold red")


def _show_units(console: Console, units: Units) -> None:
    table = _table(
        "Units and round trips, the most of one operation",
        "operation", "k", "WRU", "RRU", "trips", "calls", "refused", "limit", "",
    )  # fmt: skip
    before, factors = 0, units.transaction_factors
    for row in units.rows:
        if before and row.containers != before:
            table.add_section()
        before = row.containers
        _add_row(table, row)
    console.print(table)
    console.print(
        "k: containers that take turns. Trips: calls that wait for each other; calls made together count as "
        f"one. Of a transaction DynamoDB Local reports {factors.table:g} times the AWS price for the table "
        f"and {factors.index:g} times for an index, and of two items that take the same "
        f"{factors.equal_items:g} (just measured by bare ones): both are corrected, item by item. A refused "
        "write is answered without units: + is the least that AWS asks for it. A read that finds nothing, "
        "which DynamoDB Local gives away, counts as the least read.",
        style="dim",
    )
    _show_whole(console, units.whole)


def _show_whole(console: Console, runs: list[WholeRun]) -> None:
    table = _table(
        "A whole run: start, 20 events of 1 KB in 4 batches, finish, hand-off to one; its purge later",
        "run", "k", "WRU", "RRU", "trips", "calls", "refused", "limit", "", "$ per million",
    )  # fmt: skip
    for run in runs:
        _add_row(table, run.row, f"{run.dollars_per_million.total:.2f}")
        _add_row(table, run.purge, "in it")
    console.print(table)
    for run in runs[: len(LIMITS)]:
        cost = run.dollars_per_million
        console.print(
            f"{run.row.operation}, dollars for a million: writes {cost.writes:.2f} + reads {cost.reads:.2f} "
            f"+ purge of the log {cost.purge:.2f} + {prices.DAYS_KEPT} days of {run.kept_bytes / KB:.1f} KB "
            f"{cost.storage:.2f} + {run.requests} HTTP API requests {cost.http:.2f} + {run.invocations} "
            f"Lambda invocations {cost.functions:.2f}",
            style="dim",
        )
    console.print(
        "Arithmetic, not a bill: list prices of us-east-1 (AWS's price pages: DynamoDB on demand "
        f"{prices.USD_PER_MILLION_WRU}/{prices.USD_PER_MILLION_RRU} per million write/read units, HTTP API "
        f"{prices.USD_PER_MILLION_HTTP_REQUESTS:.2f} and Lambda {prices.USD_PER_MILLION_INVOCATIONS:.2f} per "
        f"million requests, arm64 {prices.USD_PER_GB_SECOND} per GB-second, storage "
        f"{prices.USD_PER_GB_MONTH} and its point-in-time recovery {prices.USD_PER_GB_MONTH_RECOVERABLE:.2f} "
        f"per GB-month), assuming {prices.ASSUMED_SECONDS * 1000:g} ms at {prices.ASSUMED_GB:g} GB for an "
        "invocation. The subscriber's start is in it, what it does then is not; nor are readers, the "
        "catalog's reads, CloudWatch, and what one might switch on: events on a bus, an authoriser.",
        style="dim",
    )


def _show_sweeping(console: Console, found: Sweeping) -> None:
    table = _table(
        f"A sweep of {DUE} due runs, alone and among {found.settled:,} settled ones",
        "operation", "k", "WRU", "RRU", "trips", "calls", "refused", "limit", "",
    )  # fmt: skip
    for row in found.rows:
        _add_row(table, row)
    console.print(table)
    console.print(f"Units and calls among the others: {found.ratio:.2f} times those alone.", style="dim")


def _add_row(table: Table, row: Row, *more: str) -> None:
    refused = f"{row.refused} (+{row.unreported_wru:g})" if row.refused else ""
    why = f" {', '.join(row.broken)}" if row.broken else ""
    table.add_row(
        row.operation,
        str(row.containers),
        f"{row.wru:g}",
        f"{row.rru:g}",
        str(row.trips),
        str(row.calls),
        refused,
        _limits(row.limits),
        _verdict(row.verdict) + why,
        *more,
    )


def _limits(limits: Limits) -> str:
    named = {
        "WRU": limits.wru,
        "RRU": limits.rru,
        "trips": limits.trips,
        "reads": limits.reads,
        "calls": limits.calls,
    }
    return ", ".join(f"{name} {limit:g}" for name, limit in named.items() if limit is not None)


def _show_cpu(console: Console, rows: list[Cpu]) -> None:
    table = _table(
        f"Processor time of a request (limit: {cpu.LIMIT:g} times the bare boto3 calls in it)",
        "operation", "function", "k", "calls", "handler µs", "bare µs", "ratio", "",
    )  # fmt: skip
    for row in rows:
        table.add_row(
            row.operation,
            row.function,
            str(row.containers),
            f"{row.calls:g}",
            f"{row.handler_us:.0f}",
            f"{row.bare_us:.0f}",
            f"{row.ratio:.2f}",
            _verdict(row.verdict),
        )
    console.print(table)


def _show_cold_starts(console: Console, found: ColdStarts) -> None:
    table = _table(
        f"Cold start to first answer on Python {found.python} (limit for {', '.join(coldstarts.HOT)}: "
        f"{coldstarts.HOT_LIMIT:g} times the processor time of a bare boto3 client)",
        "function", "wall ms", "cpu ms", "ratio", "",
    )  # fmt: skip
    table.add_row("bare handler", f"{found.bare_wall_ms:.0f}", f"{found.bare_cpu_ms:.0f}", "1.00", "")
    for row in found.functions:
        table.add_row(
            row.function, f"{row.wall_ms:.0f}", f"{row.cpu_ms:.0f}", f"{row.ratio:.2f}", _verdict(row.verdict)
        )
    console.print(table)
    console.print(
        "What `make packages` builds, in Lambda's runtime client on this machine; the first answer takes the "
        "function's requests to DynamoDB Local, too.",
        style="dim",
    )


def _show_imports(console: Console, found: Imports) -> None:
    table = _table(
        f"Cold import (limit for {', '.join(imports.HOT)}: {imports.HOT_LIMIT:g} times a bare boto3 client)",
        "function", "wall ms", "cpu ms", "ratio", "",
    )  # fmt: skip
    table.add_row(
        "import boto3, a client", f"{found.bare_wall_ms:.0f}", f"{found.bare_cpu_ms:.0f}", "1.00", ""
    )
    for row in found.functions:
        table.add_row(
            row.function, f"{row.wall_ms:.0f}", f"{row.cpu_ms:.0f}", f"{row.ratio:.2f}", _verdict(row.verdict)
        )
    console.print(table)
    steps = ", ".join(f"{name} {taken:.0f}" for name, taken in found.breakdown_ms.items())
    console.print(
        f"Processor ms that each adds to {imports.HOT[0]}, in this order (it does without the last): {steps}",
        style="dim",
    )


def _show_throughput(console: Console, rows: list[Throughput]) -> None:
    table = _table(
        "Throughput of one driver or reader on this machine, and time beside the bare calls",
        "operation", "k", "events/s", "MB/s", "ratio",
    )  # fmt: skip
    for row in rows:
        table.add_row(
            row.operation,
            str(row.containers),
            f"{row.events_per_second:.0f}",
            f"{row.megabytes_per_second:.2f}",
            f"{row.ratio:.2f}",
        )
    console.print(table)


def _show_latency(console: Console, rows: list[Latency]) -> None:
    table = _table(
        "From a run's settling to its subscriber's start on the local stack "
        f"(limit: {latency.LIMIT:g} times the bare calls between)",
        "DynamoDB", "calls", "started ms", "publisher asks ms", "bare ms", "ratio", "",
    )  # fmt: skip
    for row in rows:
        table.add_row(
            row.dynamodb,
            f"{row.calls:g}",
            f"{row.started_ms:.1f}",
            f"{row.begun_ms:.1f}",
            f"{row.bare_ms:.1f}",
            f"{row.ratio:.2f}",
            _verdict(row.verdict),
        )
    console.print(table)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        text = column in ("operation", "run", "function", "DynamoDB", "limit", "")
        table.add_column(column, justify="left" if text else "right", no_wrap=column in ("operation", "run"))
    return table


def _verdict(word: str) -> str:
    return f"[{_COLOURS[word]}]{word}[/]" if word else ""
