"""GET and HEAD /v1/runs/{id}/stream: read a run's log, at once or live."""

from baton import bootstrap
from baton.api import reading
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response
from baton.api.routing import Routes

runtime = bootstrap.runtime("streams")


@operation("readStream", runtime)
def read(request: Request) -> Response:
    return reading.read(runtime, request)


@operation("headStream", runtime)
def head(request: Request) -> Response:
    return reading.head(runtime, request)


handler = Routes(runtime, read, head)
stream = handler.stream
