"""Who a caller is, to the gateway: everyone alike on a laptop, or whom the authoriser knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, NamedTuple

from baton.domain.clock import Clock, Millis, millis, recent
from infra.local.events import HttpRequest, authorizer_event
from infra.local.routing import Match
from infra.manifest import Function

Vouched = Mapping[str, Any]
"""What handlers are told of a caller, as the authoriser's context."""

EVERYONE: Vouched = {"namespace": "*", "role": "admin"}
"""Whom a gateway that trusts everyone vouches for: whoever asks, for the namespace they name."""

REMEMBERED = 1_000
"""Callers that are remembered at once."""


class Vouching:
    """Trusts everyone who comes."""

    def known(self, request: HttpRequest, match: Match) -> Vouched | None:
        """The context of one request's caller, empty for nobody; None: it must be asked for."""
        return EVERYONE

    def ask(self, request: HttpRequest, match: Match, request_id: str) -> Vouched:
        """The same, which may take its time. Raises what the authoriser raises."""
        return EVERYONE


class _Remembered(NamedTuple):
    at: Millis
    said: Vouched


class Asking(Vouching):
    """Asks the authoriser, and remembers what it said of an `Authorization` for ``seconds``, as API Gateway
    does. Who sends none is nobody, and nobody is asked about. Where there is no room for all who come, there
    is for who is known before there is for strangers."""

    def __init__(
        self, authorizer: Function, call: Callable[..., Any], *, clock: Clock, seconds: float
    ) -> None:
        self._authorizer = authorizer
        self._call = call
        self._clock = clock
        self._lasts = millis(seconds)
        self._lock = Lock()
        self._known: dict[str, _Remembered] = {}

    def known(self, request: HttpRequest, match: Match) -> Vouched | None:
        shown = request.header("authorization")
        if match.open or shown is None:
            return {}
        known = self._known.get(shown)
        if known is None or not recent(known.at, self._clock.now(), self._lasts):
            return None
        return known.said

    def ask(self, request: HttpRequest, match: Match, request_id: str) -> Vouched:
        now = self._clock.now()
        event = authorizer_event(request, match, request_id=request_id, at=now)
        answer = self._call(self._authorizer, event, request_id)
        said: Vouched = answer["context"] if answer["isAuthorized"] else {}
        self._remember(request.header("authorization") or "", _Remembered(now, said))
        return said

    def _remember(self, shown: str, known: _Remembered) -> None:
        with self._lock:
            if len(self._known) >= REMEMBERED:
                self._keep(lambda each: recent(each.at, known.at, self._lasts))
            if len(self._known) >= REMEMBERED and known.said:
                self._keep(lambda each: bool(each.said))
            if len(self._known) < REMEMBERED:
                self._known[shown] = known

    def _keep(self, wanted: Callable[[_Remembered], bool]) -> None:
        self._known = {text: each for text, each in self._known.items() if wanted(each)}
