"""Asked by the gateway who a caller is, before it calls any other function."""

from typing import Any

from baton import bootstrap
from baton.api import authorizing
from baton.observability import note

runtime = bootstrap.runtime("tokens")


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    began = runtime.clock.now()
    answer = authorizing.authorize(runtime, event)
    known = bool(answer["context"])
    note("authorize", runtime.clock.now() - began, **{"successes" if known else "refusals": 1})
    return answer
