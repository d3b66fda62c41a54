"""Who may come in: this machine's own programs and pages, and no one's page of elsewhere.

A browser on this machine can be made to send requests here by any site it visits, also under a name that
resolves to loopback. So the `Host` must be loopback's own, and an `Origin` must be this very server.
"""

from __future__ import annotations

import ipaddress
from http import HTTPStatus
from urllib.parse import urlsplit

import msgspec

from infra.local.events import HttpAnswer, HttpRequest

MAX_BODY = 10 * 1024 * 1024
"""API Gateway's own limit on a request."""


def is_loopback(host: str) -> bool:
    """Whether a name or address can only be this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refusal(request: HttpRequest) -> str | None:
    """Why a request may not come in, or None."""
    hosts = [value for name, value in request.headers if name == "host"]
    if len(hosts) != 1 or not is_loopback(_hostname(hosts[0])):
        return "the local stack answers only to the names of this machine's loopback"
    for name, value in request.headers:
        if name == "origin" and value.lower() != f"http://{hosts[0].lower()}":
            return "the local stack answers no page of another origin"
    return None


def problem(
    status: HTTPStatus, slug: str, detail: str, request_id: str, *, retry_after: int | None = None
) -> HttpAnswer:
    """An answer of the gateway's own, in the form that the functions' refusals have."""
    body = {
        "type": f"urn:baton:{slug}",
        "title": status.phrase,
        "status": int(status),
        "detail": detail,
        "retryable": retry_after is not None,
    }
    headers = [
        ("content-type", "application/problem+json"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-request-id", request_id),
    ]
    if retry_after is not None:
        headers.append(("retry-after", str(retry_after)))
    return HttpAnswer(int(status), headers, msgspec.json.encode(body))


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
