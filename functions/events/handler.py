"""POST /v1/events/{name}: publish an event of one's own."""

from baton import bootstrap
from baton.api import commands, render, response
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response

runtime = bootstrap.runtime("events")


@operation("publishEvent", runtime)
def handler(request: Request) -> Response:
    posted = runtime.events.publish(commands.publish(request))
    return response.json(202, render.published(posted))
