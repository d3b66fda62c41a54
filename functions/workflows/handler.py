"""Workflows: registered, listed, seen with their links, deleted; and who starts whom."""

from baton import bootstrap
from baton.api import answers, catalog_commands, catalog_render, models, response
from baton.api.edge import operation
from baton.api.request import Request
from baton.api.response import Response
from baton.api.routing import Routes
from baton.api.signing import Signatures

runtime = bootstrap.runtime("workflows")
signatures = Signatures(runtime.signing_keys)


@operation("listWorkflows", runtime)
def list_(request: Request) -> Response:
    query = request.query(models.PageQuery)
    pages = signatures.pages(request.namespace, "listWorkflows")
    page = runtime.workflows.list(request.namespace, limit=query.limit, after=pages.after(query.next_token))
    return response.json(200, catalog_render.page(page, pages.token))


@operation("putWorkflow", runtime)
def put(request: Request) -> Response:
    done = runtime.workflows.put(catalog_commands.register(request), by=request.caller.by)
    answer = answers.Registered(catalog_render.workflow(done.workflow))
    return response.json(201 if done.created else 200, answer)


@operation("getWorkflow", runtime)
def get(request: Request) -> Response:
    found = runtime.workflows.get(request.namespace, catalog_commands.workflow(request))
    return response.json(200, catalog_render.detail(found))


@operation("deleteWorkflow", runtime)
def delete(request: Request) -> Response:
    runtime.workflows.delete(request.namespace, catalog_commands.workflow(request), by=request.caller.by)
    return Response(status=204)


@operation("graph", runtime)
def graph(request: Request) -> Response:
    return response.json(200, catalog_render.graph(runtime.workflows.graph(request.namespace)))


handler = Routes(runtime, list_, put, get, delete, graph)
