"""Health, the OpenAPI document, what is owed and due, and an answer for each path and method that is
nobody's."""

from baton import bootstrap
from baton.api import answers, openapi, render, response
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response
from baton.api.routing import Routes

runtime = bootstrap.runtime("statistics")
document = openapi.document()


@operation("health", runtime)
def health(_request: Request) -> Response:
    return response.json(200, answers.Health())


@operation("openapi", runtime)
def described(request: Request) -> Response:
    return response.tagged(request, document)


@operation("stats", runtime)
def stats(request: Request) -> Response:
    return response.json(200, render.stats(runtime.statistics.read(request.namespace)))


handler = Routes(runtime, health, described, stats)
