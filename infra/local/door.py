"""Who may come in: this machine's own programs and pages, and no one's page of elsewhere.

A browser on this machine can be made to send requests here by any site it visits, also under a name that
resolves to loopback. So the `Host` must be loopback's own, and an `Origin` must be this very server.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from baton.api import problems
from baton.errors import BatonError, Forbidden
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


def check(request: HttpRequest) -> None:
    """Raise Forbidden unless the request may come in."""
    hosts = [value for name, value in request.headers if name == "host"]
    if len(hosts) != 1 or not is_loopback(_hostname(hosts[0])):
        raise Forbidden("the local stack answers only to the names of this machine's loopback")
    for name, value in request.headers:
        if name == "origin" and value.lower() != f"http://{hosts[0].lower()}":
            raise Forbidden("the local stack answers no page of another origin")


def answer_to(error: BatonError, request_id: str) -> HttpAnswer:
    """A refusal of the gateway's own, as the functions would utter it."""
    said = problems.problem(error, None)
    common = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Request-Id": request_id}
    headers = [(name.lower(), value) for name, value in {**said.headers, **common}.items()]
    return HttpAnswer(said.status, headers, said.whole())


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
