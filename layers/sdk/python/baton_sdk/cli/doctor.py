"""``baton doctor``: does it work from here, and if not, what is in the way."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.text import Text

from baton_sdk.cli.deployment import Deployment, Profile, Region, Stack, examine_deployed
from baton_sdk.cli.output import remedy
from baton_sdk.cli.session import REFUSED, Session
from baton_sdk.cli.views import when
from baton_sdk.client import Client
from baton_sdk.errors import BatonError, NotAllowed
from baton_sdk.handoff import Owing
from baton_sdk.retry import RetryPolicy
from baton_sdk.tokens import EVERY_NAMESPACE

SKEW_SECONDS = 5.0
OVERDUE_SECONDS = 180.0
"""By then the sweep has been at it twice."""
OWING_COLUMNS = ("RUN", "WORKFLOW", "ATTEMPT", "EVENT", "OWED TO", "FOR", "WHY")
CONTRACT = "1"
_ONE_TRY = RetryPolicy(attempts=1)


@dataclass(frozen=True)
class Verdict:
    """One check: passed, and what was found."""

    check: str
    ok: bool
    found: str
    owing: tuple[Owing, ...] = ()


def doctor(
    session: Session,
    write: Annotated[
        bool, typer.Option("--write", help="Also start, write, finish and delete a run of workflow doctor.")
    ] = False,
    aws: Annotated[
        bool, typer.Option("--aws", help="Examine a deployed stack instead, by what AWS says of it.")
    ] = False,
    stack: Stack = None,
    region: Region = None,
    profile: Profile = None,
) -> None:
    """Check the way to the service: reachable, healthy, clocks, token, contract, and what is owed: to whom,
    for how long, and why. With --write also a run's whole life.

    That something is owed for a moment is how a hand-off works; after three minutes it is a failed check.

    With --aws: a stack in your account, by its outputs: what waits there and for how long, what was put
    aside, alarms, and whether everything that runs by itself is switched on.

    \b
    Examples:
      baton doctor
      baton doctor --url https://baton.example.com --write
      baton doctor --aws --stack baton-prod-service --region eu-central-1
    """
    deployment = Deployment(stack, region, profile)
    if aws and not write:
        examine_deployed(session, deployment)
    elif aws or any(deployment):
        wrong = "--write is for a service" if aws else "--stack, --region and --profile are for --aws"
        raise typer.BadParameter(wrong)
    verdicts = []
    with session.client(retry=_ONE_TRY, timeout=10.0) as client:
        for verdict in examine(client, write=write):
            verdicts.append(verdict)
            if not session.out.as_json:
                mark = ("ok    ", "green") if verdict.ok else ("FAILED", "bold red")
                session.out.console.print(Text.assemble(mark, f"  {verdict.check:<14} {verdict.found}"))
                if verdict.owing:
                    session.out.table(OWING_COLUMNS, owing_rows(verdict.owing))
    passed = all(verdict.ok for verdict in verdicts)
    if session.out.as_json:
        checks = [{"check": each.check, "ok": each.ok, "found": each.found} for each in verdicts]
        owing = [each.raw for verdict in verdicts for each in verdict.owing]
        session.out.document({"url": client.address.url, "ok": passed, "checks": checks, "owing": owing})
    if not passed:
        raise typer.Exit(REFUSED)


def examine(client: Client, *, write: bool, clock: Callable[[], float] = time.time) -> Iterator[Verdict]:
    """Check after check; those that need a reachable service, and a caller it knows, follow when there is."""
    reachable = _try("reachable", lambda: _health(client))
    yield reachable
    if not reachable.ok:
        return
    yield _clocks(client, clock)
    authorised = _try("authorisation", lambda: _authorised(client))
    yield authorised
    if not authorised.ok:
        return
    yield _try("contract", lambda: _contract(client))
    yield _owed(client)
    if write:
        yield _try("a run's life", lambda: _round_trip(client))


def _try(check: str, look: Callable[[], str]) -> Verdict:
    try:
        return Verdict(check, True, look())
    except NotAllowed as error:
        return Verdict(check, False, f"{error}; {remedy(error)}")
    except BatonError as error:
        return Verdict(check, False, str(error))


def _health(client: Client) -> str:
    began = time.monotonic()
    status = client.health().get("status")
    took = (time.monotonic() - began) * 1000
    if status != "ok":
        raise BatonError(f"{client.address.url} answers, but says it is {status!r}")
    return f"{client.address.url} is ok, {took:.0f} ms"


def _clocks(client: Client, clock: Callable[[], float]) -> Verdict:
    told = client.date()
    if told is None:
        return Verdict("clock", True, "the service does not tell its time")
    # A Date has no fractions, and a server may tell the same one for a second: on average it is one old.
    skew = clock() - email.utils.parsedate_to_datetime(told).timestamp() - 1
    found = f"this machine is {abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}"
    return Verdict("clock", abs(skew) <= SKEW_SECONDS, found if abs(skew) >= 2 else "as the service's")


def _authorised(client: Client) -> str:
    who = client.whoami()
    found = f"{who.role} of namespace {who.namespace}"
    token = who.token
    if token is None:
        return f"{found}, without a token" if who.by is None else f"{found}, as {who.by}"
    facts = [found, f"by token {token.id}"]
    if token.namespace == EVERY_NAMESPACE:
        facts.append("good in every namespace")
    if token.workflows is not None:
        facts.append(f"drives {', '.join(token.workflows)}")
    if token.expires_at is not None:
        facts.append(f"expires {when(token.expires_at)}")
    return ", ".join(facts)


def _contract(client: Client) -> str:
    info = client.openapi().get("info")
    version = str(info.get("version", "")) if isinstance(info, dict) else ""
    if version.split(".")[0] != CONTRACT:
        raise BatonError(f"the service speaks contract {version or 'unknown'}, this client {CONTRACT}")
    return f"version {version}"


def _owed(client: Client) -> Verdict:
    try:
        stats = client.stats()
    except BatonError as error:
        return Verdict("hand-off", False, str(error))
    if not stats.owed:
        return Verdict("hand-off", True, "nothing is owed")
    oldest = stats.oldest_owed_seconds or 0.0
    more = "" if stats.complete else ", and there may be more"
    late = oldest > OVERDUE_SECONDS
    why = ": no publisher and no sweep has got it done" if late else ""
    found = f"{stats.owed} owed, the oldest for {age(oldest)}{more}{why}"
    return Verdict("hand-off", not late, found, stats.owing)


def owing_rows(owing: Sequence[Owing], clock: Callable[[], float] = time.time) -> Iterator[tuple[Any, ...]]:
    """What is owed, in a list."""
    for each in owing:
        to = ", ".join(each.subscribers)
        since = None if each.since is None else age(clock() - each.since.timestamp())
        yield each.run_id, each.workflow, each.attempt, each.event, to, since, each.why


def age(seconds: float) -> str:
    """How long ago, in the largest unit that it has two of."""
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _round_trip(client: Client) -> str:
    began = time.monotonic()
    run = client.start("doctor", mode="attached", inactivity_timeout_seconds=60).run
    sent = {"text": "ü €", "numbers": [0.1, -0.0, 2**53 + 1], "empty": ""}
    with client.writer(run.id, attempt=run.attempt) as writer:
        writer.emit("doctor", sent)
    client.finish(run.id, "completed", attempt=run.attempt)
    events = list(client.follow(run.id))
    if [event.type for event in events] != ["start", "doctor", "end"]:
        raise BatonError(f"the log of {run.id} is not what was written: {[event.type for event in events]}")
    if repr(events[1].data) != repr(dict(sorted(sent.items()))) and events[1].data != sent:
        raise BatonError(f"the log gave back {events[1].data!r} for {sent!r}")
    found = f"started, wrote, finished and read run {run.id} in {(time.monotonic() - began) * 1000:.0f} ms"
    try:
        client.delete(run.id)
    except NotAllowed:
        return f"{found}; it stays, deleting needs an operator"
    return found
