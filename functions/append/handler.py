"""POST /v1/runs/{id}/stream: append to a run's log."""

from baton import bootstrap
from baton.api import appending
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response
from baton.api.signing import Signatures

runtime = bootstrap.runtime("appends")
signatures = Signatures(runtime.signing_keys)


@operation("appendToStream", runtime)
def handler(request: Request) -> Response:
    command = appending.command(runtime, request, signatures)
    return appending.answer(command, runtime.appends.append(command), signatures)
