"""What the service answers from here: that it is well, what time it has, whom it lets in, what it owes."""

from __future__ import annotations

import email.utils
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

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

NOBODYS = "Bearer nobody"


class Caller(Protocol):
    """Whom the service is to take us for; ``remedy``: what to do where it does not."""

    @property
    def remedy(self) -> str: ...

    def headers(self, url: str, headers: Mapping[str, str]) -> dict[str, str]:
        """Those of a GET, and what shows who asks."""
        ...


class Signer:
    """An identity of IAM's."""

    remedy = "your identity needs execute-api:Invoke on this API"

    def __init__(self, signs: SigV4Auth) -> None:
        self._signs = signs

    def headers(self, url: str, headers: Mapping[str, str]) -> dict[str, str]:
        request = AWSRequest("GET", url, headers=dict(headers))
        self._signs.add_auth(request)
        return dict(request.headers.items())


class Bearer:
    """Who holds a token."""

    remedy = "BATON_TOKEN is to hold a token of that namespace that is neither revoked nor expired"

    def __init__(self, token: str) -> None:
        self._token = token

    def headers(self, url: str, headers: Mapping[str, str]) -> dict[str, str]:
        return {**headers, "Authorization": f"Bearer {self._token}"}


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


def strangers(http: httpx.Client, url: str) -> Finding:
    """Whether a token of nobody's is asked about, and refused."""
    try:
        answer = http.get(f"{url}/v1/stats", headers={"Authorization": NOBODYS}, timeout=SECONDS)
    except httpx.HTTPError as trouble:
        return unwell("authoriser", str(trouble), "see `reachable`")
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        return well("authoriser", "a token of nobody's is refused")
    if answer.is_success:
        return unwell(
            "authoriser",
            f"a token of nobody's is let in: {answer.status_code}",
            "close it: destroy the stack of the service (its tables stay); then look whom its routes asked",
        )
    return unwell(
        "authoriser",
        f"to a token of nobody's the API answers {answer.status_code}",
        "nobody gets in: read the log of the function authorize, and look at its alarms",
    )


def owed(http: httpx.Client, url: str, namespace: str, caller: Caller) -> Finding:
    """What endings of a namespace are owed to others, by the service's own statistics."""
    check, stats = f"owed, {namespace}", f"{url}/v1/stats"
    try:
        headers = caller.headers(stats, {"Baton-Namespace": namespace})
        answer = http.get(stats, headers=headers, timeout=SECONDS)
    except httpx.HTTPError as trouble:
        return unwell(check, str(trouble), "see `reachable`")
    if answer.status_code != httpx.codes.OK:
        return unwell(
            check,
            f"GET /v1/stats answers {answer.status_code}",
            caller.remedy
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
