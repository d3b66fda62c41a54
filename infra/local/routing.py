"""Which function answers: the manifest's routes, matched as API Gateway matches them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from infra.manifest import Function, Route

DEFAULT_ROUTE = "$default"


class Match(NamedTuple):
    """A function, the route that led to it, and what stands in the path's parameters, decoded. ``open``: it
    is not asked who comes."""

    function: Function
    route_key: str
    parameters: dict[str, str]
    open: bool


class Router:
    """All routes of some functions, one of which answers what no route matches."""

    def __init__(self, functions: Iterable[Function]) -> None:
        known = list(functions)
        self._default = next(each for each in known if each.default)
        # A literal segment matches better than a parameter: `/v1/runs/x` would win over `/v1/runs/{id}`.
        self._routes = sorted(
            ((route, each) for each in known for route in each.routes), key=lambda pair: _parameters(pair[0])
        )

    def match(self, method: str, raw_path: str) -> Match:
        """The match for a path as it was sent: an encoded slash separates nothing."""
        sent = raw_path.split("/")
        for route, each in self._routes:
            if route.method == method and (found := _match(route.path.split("/"), sent)) is not None:
                return Match(each, route.key, found, route.open)
        return Match(self._default, DEFAULT_ROUTE, {}, open=True)


def _parameters(route: Route) -> list[bool]:
    return [segment.startswith("{") for segment in route.path.split("/")]


def _match(wanted: list[str], sent: list[str]) -> dict[str, str] | None:
    if len(wanted) != len(sent):
        return None
    found: dict[str, str] = {}
    for pattern, segment in zip(wanted, sent, strict=True):
        value = unquote(segment)
        if pattern.startswith("{"):
            if not value:
                return None
            found[pattern[1:-1]] = value
        elif value != pattern:
            return None
    return found
