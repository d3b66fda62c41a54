"""Check after check of a deployed stack; one that can't be made is a finding like any other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import httpx
from botocore.auth import SigV4Auth
from botocore.exceptions import BotoCoreError, ClientError

from baton.domain.clock import Clock
from infra.aws.doctor import backlog, service, switches
from infra.aws.doctor.admins import admins
from infra.aws.doctor.deployed import ALARM, MAPPING, SCHEDULE, Deployed, deployed, settings_of
from infra.aws.doctor.finding import Finding, unwell, well
from infra.outputs import API_URL, PARKED_QUEUE_URL

RIGHTS = "the rights that it takes stand in infra/README.md, under doctor"


class Session(Protocol):
    """What is needed of boto3's."""

    region_name: str

    def client(self, service_name: str) -> Any: ...

    def get_credentials(self) -> Any: ...


def examine(
    session: Session, http: httpx.Client, clock: Clock, *, stack: str, namespace: str, token: str | None
) -> Iterator[Finding]:
    """All checks of the stack of that name; what it owes is asked for one namespace, by who holds ``token``
    where callers are known by tokens."""
    try:
        found = deployed(session.client("cloudformation"), stack)
    except (BotoCoreError, ClientError) as trouble:
        yield unwell(
            "stack",
            f"{stack}: {trouble}",
            "--stack, --region and --profile say which one; `npx aws-cdk list` has the names",
        )
        return
    yield _standing(found)
    yield from _service(session, http, clock, found, namespace, token)
    yield from _looked("due", lambda: _kept(session, clock, found))
    yield from _looked("parked", lambda: [_parked(session, found)])
    yield from _looked("alarms", lambda: switches.alarms(session.client("cloudwatch"), found.of(ALARM)))
    yield from _looked("sources", lambda: switches.mappings(session.client("lambda"), found.of(MAPPING)))
    yield from _looked(
        "schedules", lambda: switches.schedules(session.client("scheduler"), found.of(SCHEDULE))
    )


def _standing(stack: Deployed) -> Finding:
    if stack.status.endswith("_COMPLETE") and "ROLLBACK" not in stack.status:
        return well("stack", f"{stack.name} is {stack.status}")
    return unwell(
        "stack",
        f"{stack.name} is {stack.status}",
        "while it is IN_PROGRESS wait; else the events of the stack say what failed: mend that, deploy again",
    )


def _service(
    session: Session, http: httpx.Client, clock: Clock, stack: Deployed, namespace: str, token: str | None
) -> Iterator[Finding]:
    url = stack.outputs.get(API_URL, "").rstrip("/")
    if not url:
        yield _lacks(stack, API_URL)
        return
    yield from service.health(http, url, clock)
    if not stack.asks_for_tokens:
        caller: service.Caller = service.Signer(
            SigV4Auth(session.get_credentials(), "execute-api", session.region_name)
        )
    else:
        yield service.strangers(http, url)
        if token is None:
            yield well("owed", "not asked: BATON_TOKEN holds no token; a viewer's is enough")
            return
        caller = service.Bearer(token)
    yield from _looked("owed", lambda: [service.owed(http, url, namespace, caller)])


def _kept(session: Session, clock: Clock, stack: Deployed) -> Iterator[Finding]:
    try:
        settings = settings_of(session.client("lambda"), stack)
    except LookupError as trouble:
        yield unwell("due", str(trouble), "deploy the stack again")
        return
    dynamodb, now = session.client("dynamodb"), clock.now()
    yield backlog.due(dynamodb, settings, now)
    if stack.asks_for_tokens:
        yield from _looked("admins", lambda: [admins(dynamodb, settings.catalog_table, now)])


def _parked(session: Session, stack: Deployed) -> Finding:
    url = stack.outputs.get(PARKED_QUEUE_URL)
    return _lacks(stack, PARKED_QUEUE_URL) if url is None else backlog.parked(session.client("sqs"), url)


def _lacks(stack: Deployed, output: str) -> Finding:
    return unwell("outputs", f"{stack.name} has no {output}", "it is no stack of Baton, or one half deployed")


def _looked(check: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """What a look finds; that one may not look, or can't, is a finding too."""
    try:
        yield from look()
    except (BotoCoreError, ClientError) as trouble:
        yield unwell(check, str(trouble), RIGHTS)
