"""Endings delivered again: one run's, or those of a stretch of time."""

from baton import bootstrap
from baton.api import render, response, stretches
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response
from baton.api.routing import Routes
from baton.api.signing import Signatures

runtime = bootstrap.runtime("republisher")
signatures = Signatures(runtime.signing_keys)


@operation("republishRun", runtime)
def of_run(request: Request) -> Response:
    done = runtime.republisher.run(stretches.republish(request), request.run_id)
    return response.json(200, render.republished(done, str))


@operation("republish", runtime)
def of_range(request: Request) -> Response:
    wish, pages = stretches.republish_range(request, signatures)
    done = runtime.republisher.range(wish)
    return response.json(200, render.republished(done, pages.token))


handler = Routes(runtime, of_run, of_range)
