"""Runs as others see them: one, many, awaited, deleted."""

from baton import bootstrap
from baton.api import answers, models, render, response, stretches
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response
from baton.api.routing import Routes
from baton.api.signing import Signatures

runtime = bootstrap.runtime("runs", "views")
signatures = Signatures(runtime.signing_keys)


@operation("getRun", runtime)
def get(request: Request) -> Response:
    around = runtime.views.load(request.namespace, request.run_id)
    return response.tagged(request, render.detail(around))


@operation("listRuns", runtime)
def list_(request: Request) -> Response:
    query = request.query(models.RunsQuery)
    wanted = stretches.filter_of(query)
    pages = signatures.pages(request.namespace, "listRuns", stretches.filter_digest(wanted))
    page = runtime.runs.list(
        request.namespace, wanted, limit=query.limit, after=pages.after(query.next_token)
    )
    return response.json(200, render.page(page, pages.token))


@operation("waitForRun", runtime)
def wait(request: Request) -> Response:
    seconds = request.seconds(request.query(models.WaitQuery).timeout_seconds)
    detail = runtime.runs.wait(request.namespace, request.run_id, seconds)
    return response.json(200, answers.Waited(render.run(detail), detail.run.state.terminal))


@operation("deleteRun", runtime)
def delete(request: Request) -> Response:
    runtime.runs.delete(request.namespace, request.run_id, by=request.caller.by)
    return Response(status=204)


handler = Routes(runtime, get, list_, wait, delete)
