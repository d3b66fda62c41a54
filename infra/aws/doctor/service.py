"""What the service answers from here: that it is well, what time it has, and what it owes."""

from __future__ import annotations

import email.utils
from collections.abc import Iterator
from typing import Any

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from baton.domain.clock import Clock, Millis
from infra.aws.doctor.finding import Finding, age, unwell, well

SKEW_SECONDS = 5.0
OVERDUE_SECONDS = 180.0
"""By then the sweep has been at it twice."""
SECONDS = 10.0
"""How long an answer may take: a cold start is well within it."""


def health(http: httpx.Client, url: str, clock: Clock) -> Iterator[Finding]:
    """Whether it is reachable and well, and whether its clock and ours agree."""
    began = clock.now()
    try:
        answer = http.get(f"{url}/v1/health", timeout=SECONDS)
    except httpx.HTTPError as trouble:
        yield unwell(
            "reachable",
            f"{url}: {trouble}",
            "look whether the API's stage is deployed and this network may reach it; then the alarms below",
        )
        return
    now = clock.now()
    if answer.status_code == httpx.codes.OK and _document(answer).get("status") == "ok":
        yield well("reachable", f"{url} is ok, {now - began} ms")
    else:
        yield unwell(
            "reachable",
            f"{url} answers {answer.status_code}: {answer.text[:200]}",
            "read the log of the function meta",
        )
    yield _clock(answer.headers.get("date"), now)


def owed(http: httpx.Client, url: str, namespace: str, signer: SigV4Auth) -> Finding:
    """What endings of a namespace are owed to others, by the service's own statistics."""
    request = AWSRequest("GET", f"{url}/v1/stats", headers={"Baton-Namespace": namespace})
    signer.add_auth(request)
    check = f"owed, {namespace}"
    try:
        answer = http.get(f"{url}/v1/stats", headers=dict(request.headers.items()), timeout=SECONDS)
    except httpx.HTTPError as trouble:
        return unwell(check, str(trouble), "see `reachable`")
    if answer.status_code != httpx.codes.OK:
        return unwell(
            check,
            f"GET /v1/stats answers {answer.status_code}",
            "your identity needs execute-api:Invoke on this API"
            if answer.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN)
            else "read the log of the function meta",
        )
    said = _document(answer)
    count, oldest = said.get("owed", 0), said.get("oldest_owed_seconds") or 0.0
    if not count:
        return well(check, "nothing is owed")
    found = f"{count} owed, the oldest for {age(oldest)}"
    if oldest <= OVERDUE_SECONDS:
        return well(check, found)
    why = sorted({str(each.get("why")) for each in said.get("owing", ())})
    return unwell(
        check,
        f"{found}: {'; '.join(why)}",
        "GET /v1/stats names the runs; read the logs of publish and sweep, then `baton republish`",
    )


def _clock(told: str | None, now: Millis) -> Finding:
    if told is None:
        return well("clock", "the service does not tell its time")
    # A Date has no fractions: on average it is half a second old.
    skew = now / 1000 - email.utils.parsedate_to_datetime(told).timestamp() - 0.5
    if abs(skew) <= SKEW_SECONDS:
        return well("clock", "as the service's")
    found = f"this machine is {age(abs(skew))} {'ahead' if skew > 0 else 'behind'}"
    return unwell("clock", found, "set this machine's clock by NTP: signatures and leases go by it")


def _document(answer: httpx.Response) -> dict[str, Any]:
    try:
        said = answer.json()
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
