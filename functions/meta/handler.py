"""Health, the OpenAPI document, and an answer for every path and method that is nobody's."""

from baton import bootstrap
from baton.api import answers, openapi, response
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response
from baton.api.routing import Routes

runtime = bootstrap.runtime()
document = openapi.document()


@operation("health", runtime)
def health(_request: Request) -> Response:
    return response.json(200, answers.Health())


@operation("openapi", runtime)
def described(request: Request) -> Response:
    return response.tagged(request, document)


handler = Routes(runtime, health, described)
