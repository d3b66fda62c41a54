"""How runs and events look to a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.text import Text

from baton_sdk.cli.output import Output, compact, state
from baton_sdk.log import Event
from baton_sdk.run import Delivery, Run, RunDetail

RUN_COLUMNS = ("ID", "WORKFLOW", "STATE", "ATTEMPT", "CREATED", "ENDED", "TAGS")
_DAY = timedelta(days=1)
_CLOCKS_APART = timedelta(minutes=1)

_TYPE_COLOURS = {"stdout": "", "stderr": "yellow", "cancel": "dark_orange", "error": "red"}
_OUTCOME = ("code", "signal", "error", "output")


def run_row(run: Run, now: datetime | None = None) -> tuple[Any, ...]:
    """A run in a list; ``now`` makes its times short."""
    times = (when(run.created_at, now), when(run.ended_at, now))
    return (run.id, run.workflow, state(run.state), run.attempt, *times, ",".join(run.tags))


def show_run(out: Output, run: Run, more: Iterable[tuple[str, Any]] = ()) -> None:
    """A run alone, and what ``more`` is known of it."""
    out.facts(
        (
            ("id", run.id),
            ("workflow", run.workflow),
            ("state", state(run.state)),
            ("attempt", run.attempt),
            ("mode", run.mode),
            ("driven by", "whoever started it" if _attached(run) else None),
            ("created", when(run.created_at)),
            ("available", when(run.available_at) if run.state == "pending" else None),
            ("ended", when(run.ended_at)),
            ("input", _payload(run.input)),
            ("output", _payload(run.output)),
            ("error", _payload(run.error)),
            ("code", run.code),
            ("signal", run.signal),
            ("resumable", "yes" if run.resumable else None),
            ("session_ref", run.session_ref),
            ("tags", ", ".join(run.tags)),
            ("context_ref", run.context_ref),
            ("agent_id", run.agent_id),
            ("cancel requested", _cancel(run)),
            ("lease", f"{run.lease.worker_id} until {when(run.lease.expires_at)}" if run.lease else None),
            ("triggered by", run.triggered_by.run_id if run.triggered_by else None),
            ("continued from", run.continued_from),
            ("continued as", run.continued_as),
            ("inactivity timeout", seconds(run.inactivity_timeout_seconds)),
            ("next offset", run.next_offset),
            *more,
        )
    )


def show_detail(out: Output, detail: RunDetail) -> None:
    """A run with what hangs on it."""
    more = [("came back", _came_back(detail)), ("subscribers", ", ".join(detail.subscribers))]
    show_run(out, detail.run, more)
    if detail.waits_for:
        rows = [(w.kind, when(w.until) or w.run_id or w.event, _state(w.run_state)) for w in detail.waits_for]
        out.table(("WAITS FOR", "WHAT", "STATE"), rows)
    if detail.awaited_by:
        out.table(("AWAITED BY", "STATE"), [(w.run_id, _state(w.run_state)) for w in detail.awaited_by])
    if detail.deliveries:
        columns = ("SUBSCRIBER", "EVENT", "ATTEMPT", "DELIVERY", "RUN", "STATE", "AT", "WHY")
        out.table(columns, map(delivery_row, detail.deliveries))


def delivery_row(delivery: Delivery) -> tuple[Any, ...]:
    """What became of one subscriber, in a list."""
    return (
        delivery.subscriber,
        delivery.event,
        delivery.attempt,
        state(delivery.state),
        delivery.run_id,
        _state(delivery.run_state),
        when(delivery.at),
        None if delivery.error is None else reason(delivery.error),
    )


def reason(error: Any) -> str:
    """Why something failed, as a sentence: an error's message where it has one."""
    said = error.get("message") if isinstance(error, Mapping) else error
    return said if isinstance(said, str) else compact(error, 200)


def outcome(run: Run) -> Text:
    """How a run ended, on one line."""
    said = [
        f"{name} {compact(getattr(run, name), 200)}" for name in _OUTCOME if getattr(run, name) is not None
    ]
    said += [] if run.continued_as is None else [f"continued as {run.continued_as}"]
    return Text.assemble("run ", (run.id, "bold"), " ", state(run.state), *((", " + part) for part in said))


def event_text(event: Event) -> Text:
    """What an event says, without its time and type."""
    data = event.data
    if isinstance(data, dict) and isinstance(data.get("line"), str):
        # A command's own colours come through; what else it may send to a terminal does not.
        return Text.from_ansi(data["line"])
    if event.type == "start" and isinstance(data, dict):
        given = data.get("input")
        said = "" if given is None else f" {compact(given, 200)}"
        return Text(f"{data.get('workflow')}{said}{_by(data)}", style="bold")
    if event.type == "end" and isinstance(data, dict):
        parts = [f", {name} {compact(data[name], 200)}" for name in _OUTCOME if data.get(name) is not None]
        return Text.assemble(state(str(data.get("status"))), *parts, _by(data))
    return Text("" if data is None else compact(data))


def _by(data: Mapping[str, Any]) -> str:
    """Who did it, where that is known."""
    return f", by {data['by']}" if data.get("by") is not None else ""


def event_line(event: Event, began: datetime | None) -> Text:
    """An event on one line, its time counted from ``began``."""
    since = "" if began is None else f"{(event.ts - began).total_seconds():+8.2f}s"
    style = _TYPE_COLOURS.get(event.type, "bold cyan")
    head = Text.assemble((since, "dim"), "  ", (f"{event.type:<9}", style), " ")
    return head + event_text(event)


def when(moment: datetime | None, now: datetime | None = None) -> str | None:
    """A time as a person reads it: local, to the second; of the day before ``now`` without its date, which
    what is yet to come always has."""
    if moment is None:
        return None
    recent = now is not None and -_CLOCKS_APART < now - moment < _DAY
    return moment.astimezone().strftime("%H:%M:%S" if recent else "%Y-%m-%d %H:%M:%S")


def present() -> datetime:
    """Now, for short times."""
    return datetime.now(UTC)


def _state(name: str | None) -> Text | None:
    return None if name is None else state(name)


def _cancel(run: Run) -> str | None:
    if run.cancel_requested is None:
        return None
    return f"{when(run.cancel_requested.at)} {run.cancel_requested.reason or ''}".rstrip()


def _attached(run: Run) -> bool:
    """Whether the run is at work without anybody to be seen."""
    return run.state == "running" and run.mode == "attached" and run.lease is None


def _came_back(detail: RunDetail) -> str | None:
    """Why nobody drives a run that somebody drove."""
    last = detail.released
    if last is None or detail.run.state != "pending":
        return None
    why = "given back" if last.error is None else reason(last.error)
    return f"from {last.worker_id}, attempt {last.attempt}: {why}"


def _payload(value: Any) -> str | None:
    return None if value is None else compact(value, 2000)


def seconds(value: float | None) -> str | None:
    """A duration that 0 makes endless."""
    return None if value is None else ("never" if value == 0 else f"{value:g} s")
